// The footer line: the window and how much of it is left. Pure.

import { counted } from "../figures.ts";
import type { Phase } from "../window/phase.ts";

export interface StatusFacts {
  readonly windowId: string;
  readonly phase: Phase;
  /** Tokens; undefined or null is not known. */
  readonly contextWindow: number | undefined;
  readonly usedTokens: number | null;
  /** Whether nothing runs: then a requested checkpoint waits for the next message. */
  readonly isIdle: boolean;
  /** It opened without a note of what was done before. */
  readonly isWithoutNote: boolean;
  /** Why windows have stepped aside, in a few words. */
  readonly aside: string | undefined;
  /** Another process has the session open too. */
  readonly isOpenElsewhere: boolean;
  /** What it leaves is removed when it ends, because a person asked for it. */
  readonly goesAtEnd: boolean;
  /** Child agents that have not ended. */
  readonly children: number;
  /** Tasks that run here, or wait. */
  readonly tasks: number;
  /** What the content is; undefined for ordinary content. */
  readonly category: string | undefined;
}

function usageText({ phase, usedTokens, contextWindow, isIdle }: StatusFacts): string | undefined {
  switch (phase) {
    case "checkpoint_required":
      return isIdle ? "checkpoint due" : "checkpoint…";
    case "rolling_over":
      return "new window…";
    default: {
      if (usedTokens === null || contextWindow === undefined || contextWindow <= 0) return undefined;
      const share = Math.max(0, 1 - usedTokens / contextWindow);
      return `${Math.floor(share * 100)} % left`;
    }
  }
}

function windowParts(facts: StatusFacts): readonly (string | undefined)[] {
  const { windowId, phase, children, isWithoutNote, aside } = facts;
  if (phase === "disabled") return [aside && `windows off: ${aside}`];
  const agents = children === 0 ? undefined : counted(children, "agent");
  return [windowId, usageText(facts), isWithoutNote ? "opened without a note" : undefined, agents];
}

/** Undefined when there is nothing to say: no windows are kept while switched off, and ordinary content needs no mention. */
export function statusText(facts: StatusFacts): string | undefined {
  const { category, isOpenElsewhere, goesAtEnd, tasks } = facts;
  const elsewhere = isOpenElsewhere ? "open in another Pi too" : undefined;
  const removed = goesAtEnd ? "removed at its end" : undefined;
  const running = tasks === 0 ? undefined : `${counted(tasks, "task")} running`;
  const parts = [...windowParts(facts), running, category, elsewhere, removed].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(" · ");
}

/** The progress of long work, and how to stop it. */
export function progressText(label: string, done: number, total: number): string {
  const share = total <= 0 ? 1 : Math.min(1, done / total);
  return `${label}: ${Math.floor(share * 100)} % (Esc stops it)`;
}
