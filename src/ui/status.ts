// The line that says where the window stands, in the host's footer. Pure.
import type { Phase } from "../window/phase.ts";
import { counted } from "../words.ts";

export interface StatusFacts {
  readonly windowId: string;
  readonly phase: Phase;
  /** Tokens; undefined or null is not known. */
  readonly contextWindow: number | undefined;
  readonly usedTokens: number | null;
  /** Child agents that have not ended. */
  readonly children: number;
  /** What the content is; undefined for ordinary content. */
  readonly category: string | undefined;
}

function standing({ phase, usedTokens, contextWindow }: StatusFacts): string | undefined {
  switch (phase) {
    case "checkpoint_required":
      return "checkpoint…";
    case "rolling_over":
      return "new window…";
    default: {
      if (usedTokens === null || contextWindow === undefined || contextWindow <= 0) return undefined;
      const share = Math.max(0, 1 - usedTokens / contextWindow);
      return `${Math.floor(share * 100)} % left`;
    }
  }
}

/** Undefined when there is nothing to say: switched off, no windows are kept, and ordinary content needs no word. */
export function statusText(facts: StatusFacts): string | undefined {
  const { windowId, phase, children, category } = facts;
  if (phase === "disabled") return category;
  const agents = children === 0 ? undefined : counted(children, "agent");
  return [windowId, standing(facts), agents, category].filter((part) => part !== undefined).join(" · ");
}

/** How far long work is, and how to stop it. */
export function progressText(label: string, done: number, total: number): string {
  const share = total <= 0 ? 1 : Math.min(1, done / total);
  return `${label}: ${Math.floor(share * 100)} % (Esc stops it)`;
}
