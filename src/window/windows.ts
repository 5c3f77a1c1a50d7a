// The windows of one session: its running loop and its compactions, over one live window and one watch of the budget.
import { type CompactionParts, WindowCompactions } from "./compactions.ts";
import { type EffectParts, WindowEffects } from "./effects.ts";
import type { LiveWindow } from "./live.ts";
import { type LoopParts, WindowLoop } from "./loop.ts";
import { isCheckpointBlocked } from "./machine.ts";
import { BudgetWatch, type BudgetWatchParts } from "./watch.ts";

export type WindowParts = EffectParts & LoopParts & CompactionParts & Omit<BudgetWatchParts, "send">;

export interface SessionWindows {
  readonly loop: WindowLoop;
  readonly compactions: WindowCompactions;
  readonly watch: BudgetWatch;
}

export function sessionWindows(live: LiveWindow, parts: WindowParts): SessionWindows {
  const canCheckpoint = () => parts.canCheckpoint() && !isCheckpointBlocked(live.state);
  const watch = new BudgetWatch(live, { ...parts, canCheckpoint });
  const effects = new WindowEffects(live, parts);
  const loop = new WindowLoop(live, effects, watch, parts);
  return { loop, watch, compactions: new WindowCompactions(live, effects, loop, parts) };
}
