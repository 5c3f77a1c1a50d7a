// Which entry of the branch each of the host's messages is a copy of: the host leaves some out. Pure.
import { blocksOf, isTextBlock, type LogEntry, type LogMessage } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";

/** How far a message looks ahead for its entry: the host leaves failed responses out of its messages. */
const LOOKAHEAD_ROWS = 32;

function sameContent(a: unknown, b: unknown): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  const left = blocksOf(a);
  const right = blocksOf(b);
  return left.length === right.length && sameBlock(left[0], right[0]);
}

function sameBlock(a: unknown, b: unknown): boolean {
  // A text may be long.
  if (isTextBlock(a) && isTextBlock(b)) return a.text === b.text;
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Whether a message is the host's copy of an entry. Times of custom messages differ, so their content decides. */
export function isCopyOf(message: LogMessage, entry: LogEntry): boolean {
  switch (message.role) {
    case "custom": {
      const original = entry.type === "message" ? entry.message : entry;
      return original?.customType === message.customType && sameContent(original?.content, message.content);
    }
    case "branchSummary":
      return entry.type === "branch_summary" && entry.summary === message.summary;
    case "compactionSummary":
      return entry.type === "compaction" && entry.summary === message.summary;
    default: {
      const original = entry.message;
      return (
        original?.role === message.role &&
        original.timestamp === message.timestamp &&
        original.toolCallId === message.toolCallId
      );
    }
  }
}

/** Rows a message of this kind may stand for, however far away. */
function rowKey(role: string | undefined, timestamp: unknown, toolCallId: unknown): string {
  return `${role}|${String(timestamp)}|${String(toolCallId)}`;
}

function keyOfEntry(entry: LogEntry): string {
  if (entry.type !== "message") return entry.type;
  return rowKey(entry.message?.role, entry.message?.timestamp, entry.message?.toolCallId);
}

const ENTRY_TYPES: Readonly<Record<string, string>> = {
  custom: "custom_message",
  branchSummary: "branch_summary",
  compactionSummary: "compaction",
};

function keyOfMessage(message: LogMessage): string {
  return ENTRY_TYPES[message.role] ?? rowKey(message.role, message.timestamp, message.toolCallId);
}

/** Walks rows in step with messages; a row without a message is passed over, a message without a row gets none. */
export class Alignment {
  readonly #rows: readonly Row[];
  #next = 0;
  /** Positions by key, made only when messages and rows have drifted further apart than a look ahead. */
  #positions: Map<string, number[]> | undefined;

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  rowOf(message: LogMessage): Row | undefined {
    const end = Math.min(this.#rows.length, this.#next + LOOKAHEAD_ROWS);
    for (let at = this.#next; at < end; at++) if (this.#isAt(at, message)) return this.#take(at);
    if (end === this.#rows.length) return undefined;
    const far = this.#positionsOf(message).find((at) => at >= end && this.#isAt(at, message));
    return far === undefined ? undefined : this.#take(far);
  }

  #isAt(at: number, message: LogMessage): boolean {
    return isCopyOf(message, (this.#rows[at] as Row).entry);
  }

  #take(at: number): Row | undefined {
    this.#next = at + 1;
    return this.#rows[at];
  }

  #positionsOf(message: LogMessage): readonly number[] {
    if (!this.#positions) {
      this.#positions = new Map();
      for (const [at, row] of this.#rows.entries()) {
        const key = keyOfEntry(row.entry);
        const known = this.#positions.get(key);
        if (known) known.push(at);
        else this.#positions.set(key, [at]);
      }
    }
    return this.#positions.get(keyOfMessage(message)) ?? [];
  }
}

/** Whether the newest message that should have an entry has none yet. */
export function newestIsMissing(messages: readonly LogMessage[], branch: BranchIndex): boolean {
  // Messages that other extensions put in have no entry and never get one.
  const newest = messages.findLast(({ role }) => role === "user" || role === "toolResult" || role === "assistant");
  if (!newest || newest.role === "assistant") return false;
  const rows = branch.rows;
  for (let i = rows.length - 1; i >= Math.max(0, rows.length - LOOKAHEAD_ROWS); i--)
    if (isCopyOf(newest, (rows[i] as Row).entry)) return false;
  return true;
}
