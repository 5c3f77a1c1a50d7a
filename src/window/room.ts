// Whether a model's window has room for work once the fixed part of each request and a new window's bootstrap are in it.
// Without that room each window would be full with its first request, so windows step aside. Pure.

import { grouped } from "../figures.ts";
import { blocksOf } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import type { AsideReason } from "./aside.ts";
import { type BudgetSettings, thresholds } from "./budget.ts";
import { textTokens } from "./token-estimate.ts";
import { estimatedTokens, isAnswer, reportedInput, rowTokens } from "./usage.ts";

/** The most that a bootstrap with full lists takes; bench/tokens.ts measures it. */
export const BOOTSTRAP_MAX_TOKENS = 4_000;
/** Less than this between two changes of window is no room for work: about one read of a file, and its answer. */
export const WORK_MIN_TOKENS = 4_000;
/** Pi's own prompt and tools, and the definitions and guidance of this package: what every request holds at least. */
export const FIXED_MIN_TOKENS = 4_000;

/** The share of a window behind which its checkpoint is enforced, and what the host keeps free; in tokens. */
export interface RoomLimits {
  readonly reserveTokens: number;
  readonly settings: BudgetSettings;
}

/** Tokens for work in a new window before its checkpoint is enforced; negative when it starts behind that line. */
export function roomForWork(
  contextWindow: number,
  fixedTokens: number,
  { reserveTokens, settings }: RoomLimits,
): number {
  const { fallback } = thresholds(contextWindow, reserveTokens, settings);
  return contextWindow - fallback - fixedTokens - BOOTSTRAP_MAX_TOKENS;
}

export function hasRoom(contextWindow: number, fixedTokens: number, limits: RoomLimits): boolean {
  return roomForWork(contextWindow, fixedTokens, limits) >= WORK_MIN_TOKENS;
}

/** The smallest window, in tokens, that has room beside so large a fixed part. Room never shrinks as a window grows. */
export function leastWindow(fixedTokens: number, limits: RoomLimits): number {
  let small = 0;
  let large = 1;
  while (!hasRoom(large, fixedTokens, limits)) large *= 2;
  while (large - small > 1) {
    const middle = Math.floor((small + large) / 2);
    if (hasRoom(middle, fixedTokens, limits)) large = middle;
    else small = middle;
  }
  return large;
}

/**
 * An estimate of what every request holds beside its messages. A session's start, each run and its first request ask for it;
 * it is counted again only where it has changed.
 */
export class PromptTokens {
  #counted = { systemPrompt: "", tools: "", tokens: 0 };

  of(systemPrompt: string, infos: readonly object[]): number {
    const tools = JSON.stringify(infos);
    const known = this.#counted;
    if (known.systemPrompt !== systemPrompt || known.tools !== tools)
      this.#counted = { systemPrompt, tools, tokens: Math.ceil(textTokens(systemPrompt) + textTokens(tools)) };
    return this.#counted.tokens;
  }
}

/**
 * The fixed part as the provider counted it: what the first answer of a window reported of its input, less that window's
 * messages. Undefined in a session's first window, where the host may hold more than the branch says, and where the first
 * answer reports nothing.
 */
export function measuredFixedTokens({ rows, current }: BranchIndex): number | undefined {
  const { opener } = current;
  if (!opener || !("details" in opener)) return undefined;
  let messages = estimatedTokens(blocksOf(opener.details.bootstrap));
  for (let i = current.firstRow; i < rows.length; i++) {
    const row = rows[i] as Row;
    const reported = reportedInput(row);
    if (reported !== undefined) return Math.max(0, reported - messages);
    if (isAnswer(row)) return undefined;
    messages += rowTokens(row);
  }
  return undefined;
}

/** An estimate as people read it: none that says more than it knows. */
function roundedUp(tokens: number, step: number): string {
  return grouped(Math.ceil(tokens / step) * step);
}

/** Why windows are off with this model. */
export function noRoomReason(contextWindow: number, fixedTokens: number, limits: RoomLimits): AsideReason {
  const fixed = `up to ${roundedUp(fixedTokens, 100)} tokens of every request are fixed (prompt, tools, guidance)`;
  const least = roundedUp(leastWindow(fixedTokens, limits), 1_000);
  return {
    short: "model too small",
    because: `${fixed}, and this model's window of ${grouped(contextWindow)} leaves too little room for work beside them`,
    wayBack: `With a model whose window holds at least ${least} tokens, windows come back by themselves.`,
    ofModel: true,
  };
}
