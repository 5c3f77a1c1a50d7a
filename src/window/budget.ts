// The figures of a window's budget. Pure; unknown is null, never zero.
import type { WindowState } from "./machine.ts";

export interface HostFigures {
  /** Tokens the host counts; null when it does not know. */
  readonly tokens: number | null;
  /** The model's context window, in tokens. */
  readonly contextWindow: number;
}

export interface BudgetFigures {
  readonly used_tokens: number | null;
  readonly remaining_tokens: number | null;
  readonly remaining_to_hard_trigger: number | null;
}

/** Right after a change the host still counts the old window: its figure is used once this window has its own. */
export function budgetFigures(
  host: HostFigures | undefined,
  state: WindowState,
  hardRolloverUsedTokens: number,
): BudgetFigures {
  const isOfThisWindow = state.usageKnown || state.number === 1;
  const used = isOfThisWindow ? (host?.tokens ?? null) : null;
  if (used === null || host === undefined)
    return { used_tokens: null, remaining_tokens: null, remaining_to_hard_trigger: null };
  return {
    used_tokens: used,
    remaining_tokens: Math.max(0, host.contextWindow - used),
    remaining_to_hard_trigger: hardRolloverUsedTokens === 0 ? null : Math.max(0, hardRolloverUsedTokens - used),
  };
}

export type Phase = "disabled" | "ready" | "reminded" | "checkpoint_required" | "rollover_pending" | "rolling_over";

/** The phase as tools, status line and coordination name it. */
export function phaseOf(state: WindowState, enabled: boolean): Phase {
  if (!enabled) return "disabled";
  return state.number > 1 && !state.requestSent ? "rollover_pending" : "ready";
}
