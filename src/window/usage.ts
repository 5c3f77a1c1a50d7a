// How many tokens a window uses, read from the log: what the newest response reported, and an estimate of what came
// after it. No host call, so it costs the same in a long session; a figure of an older window never counts.
import { blocksOf, isImageBlock, isTextBlock, isToolCallBlock } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import { reportedTokens } from "./facts.ts";
import type { LogState } from "./log-state.ts";
import { textTokens } from "./token-estimate.ts";

const TOKENS_PER_IMAGE = 1_200;

export function estimatedTokens(content: unknown): number {
  let tokens = 0;
  for (const block of blocksOf(content)) {
    if (isTextBlock(block)) tokens += textTokens(block.text);
    else if (isImageBlock(block)) tokens += TOKENS_PER_IMAGE;
    else if (isToolCallBlock(block)) tokens += textTokens(JSON.stringify(block.arguments ?? null));
  }
  return Math.ceil(tokens);
}

export function rowTokens({ entry }: Row): number {
  return estimatedTokens(entry.message?.content ?? entry.content ?? entry.summary);
}

/** An estimate of what the host holds: everything since its latest compaction. No more is added up than `enough`. */
export function heldTokens(branch: BranchIndex, enough = Number.POSITIVE_INFINITY): number {
  let tokens = 0;
  const oldest = branch.lastCompaction?.rowsBefore ?? 0;
  for (let i = branch.rows.length - 1; i >= oldest && tokens <= enough; i--) tokens += rowTokens(branch.rows[i] as Row);
  return tokens;
}

/** An answer that did not fail. */
export function isAnswer({ head, entry }: Row): boolean {
  const stopReason = entry.message?.stopReason;
  return head.role === "assistant" && stopReason !== "error" && stopReason !== "aborted";
}

/** What an answer reports of its usage, in tokens. */
function reportOf(row: Row): number | undefined {
  return isAnswer(row) ? reportedTokens(row.entry.message) : undefined;
}

/** What an answer reports of the request that it answers, in tokens: without what it wrote itself. */
export function reportedInput(row: Row): number | undefined {
  const reported = reportOf(row);
  const usage = row.entry.message?.usage as { readonly output?: unknown } | null | undefined;
  const output = typeof usage?.output === "number" ? usage.output : 0;
  return reported === undefined ? undefined : Math.max(0, reported - output);
}

export class UsageMeter {
  /** The estimate of a window whose provider reports nothing, as far as it has been added up. */
  #sum = { window: "", rows: 0, tokens: 0 };

  /**
   * Tokens used in the current window; null right after a change, when nothing of it has been answered yet. Where answers
   * report nothing, what every request holds beside its messages is a part of the estimate.
   */
  used(branch: BranchIndex, log: LogState, fixedTokens: number): number | null {
    if (!log.usageKnown && log.answered) return fixedTokens + this.#estimate(branch);
    if (!log.usageKnown) return log.number === 1 ? this.#estimate(branch) : null;
    const { rows, current } = branch;
    let since = 0;
    for (let i = rows.length - 1; i >= current.firstRow; i--) {
      const row = rows[i] as Row;
      const reported = reportOf(row);
      if (reported !== undefined) return reported + since;
      since += rowTokens(row);
    }
    return null;
  }

  /** The same, and an estimate where it is unknown: usage of a refused request is never reported. */
  estimated(branch: BranchIndex, log: LogState, fixedTokens: number): number {
    return this.used(branch, log, fixedTokens) ?? fixedTokens + this.#estimate(branch);
  }

  #estimate(branch: BranchIndex): number {
    const { rows, current } = branch;
    const key = `${current.id} ${current.openerEntryId}`;
    if (this.#sum.window !== key || this.#sum.rows > rows.length) {
      const lead = current.opener && "details" in current.opener ? current.opener.details.bootstrap : "";
      this.#sum = { window: key, rows: current.firstRow, tokens: estimatedTokens(lead) };
    }
    for (; this.#sum.rows < rows.length; this.#sum.rows++) this.#sum.tokens += rowTokens(rows[this.#sum.rows] as Row);
    return this.#sum.tokens;
  }
}
