// The copy of the messages that goes to the model: everything before the current window is cut, the stored bootstrap
// takes its place, and recoverable messages carry their item ids. Pure; the log and the originals stay untouched.
import { blocksOf, type LogEntry, type LogMessage } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import {
  BOOTSTRAP_MESSAGE,
  controlOf,
  IDENTITY_MESSAGE,
  isOwnCustomType,
  type Opener,
  type OpenerDetails,
  openerOfMessage,
} from "../log/marks.ts";
import { copiedBootstrapText } from "../prompts.ts";
import { pairCalls } from "./pairing.ts";

/** How far a message looks ahead for its entry: the host leaves failed responses out of its messages. */
const LOOKAHEAD_ROWS = 32;

/** Which id each message of the current window was sent with. Decided once per message, then kept. */
export interface SentIds {
  readonly windowId: string;
  readonly keys: readonly string[];
  readonly ids: readonly (string | undefined)[];
}

export interface RequestInput {
  readonly messages: readonly LogMessage[];
  readonly branch: BranchIndex;
  /** Stands first in a window that has no bootstrap, with the time when the session was made. */
  readonly identity: { readonly text: string; readonly timestamp: number };
  readonly sent: SentIds | undefined;
  /** Control messages that were taken back, by request. */
  readonly cancelled: ReadonlySet<string>;
}

export interface RequestOutput {
  readonly messages: readonly LogMessage[];
  readonly sent: SentIds;
}

/** Where the current window starts in the host's messages, and in the branch's rows. */
interface Cut {
  readonly lead: LogMessage;
  readonly windowId: string;
  readonly firstMessage: number;
  readonly rows: readonly Row[];
}

function leadMessage(customType: string, content: string, timestamp: number): LogMessage {
  return { role: "custom", customType, content, display: false, timestamp };
}

/** The stored bootstrap; one that was copied from another session with its branch names that one's agent and task. */
function bootstrapMessage({ bootstrap, bootstrapTimestamp }: OpenerDetails, { identity }: RequestInput): LogMessage {
  const isCopied = bootstrapTimestamp < identity.timestamp;
  const content = isCopied ? `${bootstrap}\n\n${copiedBootstrapText(identity.text)}` : bootstrap;
  return leadMessage(BOOTSTRAP_MESSAGE, content, bootstrapTimestamp);
}

function sameOpener(a: Opener, b: Opener | undefined): boolean {
  if (a.type === "foreign_compaction" || b === undefined || b.type === "foreign_compaction") return false;
  return a.details.number === b.details.number && a.details.bootstrapTimestamp === b.details.bootstrapTimestamp;
}

/** The newest opener among the messages, unless the branch says that it is an older window's. */
function openerInMessages(
  messages: readonly LogMessage[],
  branch: BranchIndex,
): { at: number; opener: Opener & { details: OpenerDetails }; known: boolean } | undefined {
  for (let at = messages.length - 1; at >= 0; at--) {
    const opener = openerOfMessage(messages[at] as LogMessage);
    if (!opener || opener.type === "foreign_compaction") continue;
    if (sameOpener(opener, branch.current.opener)) return { at, opener, known: true };
    const isOlder = branch.windows.some((window) => sameOpener(opener, window.opener));
    // Its entry may come late, but never on a branch without its call.
    const isElsewhere = opener.type === "tool_result" && !branch.newestBatch.has(opener.toolCallId);
    return isOlder || isElsewhere ? undefined : { at, opener, known: false };
  }
  return undefined;
}

/** The rows that the host's messages stand for, by its latest compaction: the entry, what it kept, and what came after. */
function hostRows(branch: BranchIndex): readonly Row[] {
  const compaction = branch.lastCompaction;
  if (!compaction) return branch.rows;
  const { rowsBefore, entry } = compaction;
  const own = branch.row(entry.id);
  const keptId = entry.firstKeptEntryId;
  const kept = typeof keptId === "string" ? firstRowAt(branch, keptId, rowsBefore) : rowsBefore;
  const after = branch.rows.slice(rowsBefore + (own ? 1 : 0));
  return [...(own ? [own] : []), ...branch.rows.slice(kept, rowsBefore), ...after];
}

/** The row of an entry, or the end when the host keeps nothing. */
function firstRowAt(branch: BranchIndex, entryId: string, end: number): number {
  for (let i = end - 1; i >= 0; i--) if (branch.rows[i]?.entry.id === entryId) return i;
  return end;
}

function endOfBatch(messages: readonly LogMessage[], at: number): number {
  let end = at + 1;
  while (messages[end]?.role === "toolResult") end++;
  return end;
}

/**
 * Where the current window starts in messages that do not show its opener: behind the host's summary, which is the
 * bootstrap once more, and behind everything that stands for a row of an older window.
 */
function endOfOlderWindows(messages: readonly LogMessage[], branch: BranchIndex): number {
  const { current, lastCompaction } = branch;
  const isOurs = lastCompaction?.consolidates === current.id || lastCompaction?.entry.id === current.openerEntryId;
  if (messages[0]?.role === "compactionSummary" && isOurs) return 1;
  const alignment = new Alignment(hostRows(branch));
  let end = 0;
  messages.forEach((message, at) => {
    const row = alignment.rowOf(message);
    if (row && (row.window < current.number || row.entry.id === current.openerEntryId)) end = at + 1;
  });
  return end;
}

function cutOf(input: RequestInput): Cut {
  const { messages, branch, identity } = input;
  const { current } = branch;
  const found = openerInMessages(messages, branch);
  if (found) {
    const { at, opener, known } = found;
    return {
      lead: bootstrapMessage(opener.details, input),
      windowId: opener.details.opens,
      firstMessage: opener.type === "tool_result" ? endOfBatch(messages, at) : at + 1,
      // An opener the branch does not hold yet: nothing after it has an entry either.
      rows: known ? branch.rows.slice(current.firstRow + (opener.type === "message" ? 1 : 0)) : [],
    };
  }
  if (current.opener && current.opener.type !== "foreign_compaction") {
    const opensItself = current.opener.type !== "tool_result";
    return {
      lead: bootstrapMessage(current.opener.details, input),
      windowId: current.id,
      firstMessage: endOfOlderWindows(messages, branch),
      rows: branch.rows.slice(current.firstRow + (opensItself ? 1 : 0)),
    };
  }
  return {
    lead: leadMessage(IDENTITY_MESSAGE, identity.text, identity.timestamp),
    windowId: current.id,
    firstMessage: 0,
    rows: hostRows(branch),
  };
}

function sameContent(a: unknown, b: unknown): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  const left = blocksOf(a);
  const right = blocksOf(b);
  return left.length === right.length && JSON.stringify(left[0]) === JSON.stringify(right[0]);
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
class Alignment {
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

function withId(message: LogMessage, id: string): LogMessage {
  const mark = `[id: ${id}]`;
  switch (message.role) {
    case "bashExecution":
      return { ...message, output: message.output === "" ? mark : `${mark}\n${message.output}` };
    case "branchSummary":
    case "compactionSummary":
      return { ...message, summary: `${mark}\n${message.summary}` };
    default:
      return { ...message, content: [{ type: "text", text: mark }, ...blocksOf(message.content)] };
  }
}

function keyOf(message: LogMessage): string {
  return `${message.role}|${message.timestamp ?? ""}|${message.toolCallId ?? message.customType ?? ""}`;
}

/** Decides which of our own messages a request still shows, and what goes with those that it does not. */
class ControlFilter {
  readonly #windowId: string;
  readonly #cancelled: ReadonlySet<string>;
  readonly #shown = new Set<string>();
  #answersNothing = false;

  constructor(windowId: string, cancelled: ReadonlySet<string>) {
    this.#windowId = windowId;
    this.#cancelled = cancelled;
  }

  /**
   * A turn asked for by a message that was taken back goes with it where it would stand directly behind another answer.
   * `behind` is the role of the newest message that is shown.
   */
  shows(message: LogMessage, behind: string | undefined): boolean {
    if (message.role === "assistant" || message.role === "toolResult") return !this.#answersNothing;
    this.#answersNothing = behind === "assistant" && this.#isTakenBack(message);
    return this.#showsRequest(message);
  }

  #isTakenBack(message: LogMessage): boolean {
    const control = controlOf(message);
    return control?.kind === "manual_checkpoint" && this.#cancelled.has(control.requestId);
  }

  /** Not of another window, not taken back, and not the second reminder or fallback of its window. */
  #showsRequest(message: LogMessage): boolean {
    if (message.role !== "custom" || !isOwnCustomType(message.customType)) return true;
    const control = controlOf(message);
    if (control?.windowId !== this.#windowId || this.#cancelled.has(control.requestId)) return false;
    if (control.kind !== "reminder" && control.kind !== "fallback") return true;
    const isRepeated = this.#shown.has(control.kind);
    this.#shown.add(control.kind);
    return !isRepeated;
  }
}

/** The messages of the next request. */
export function projectRequest(input: RequestInput): RequestOutput {
  const cut = cutOf(input);
  const oldestShown = input.branch.current.opener?.type === "foreign_compaction" ? input.branch.current.number - 1 : 0;
  const alignment = new Alignment(cut.rows);
  const controls = new ControlFilter(cut.windowId, input.cancelled);
  const earlier = input.sent?.windowId === cut.windowId ? input.sent : undefined;
  let followsEarlier = earlier !== undefined;
  const leading = input.messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  // Where a host shows its own leading messages they stay first.
  const messages: LogMessage[] = [...input.messages.slice(0, Math.max(0, leading)), cut.lead];
  const keys: string[] = [];
  const ids: (string | undefined)[] = [];
  for (let i = cut.firstMessage; i < input.messages.length; i++) {
    const message = input.messages[i] as LogMessage;
    if (i < leading) continue;
    const row = alignment.rowOf(message);
    if (!controls.shows(message, messages.at(-1)?.role) || (row && row.window < oldestShown)) continue;
    const key = keyOf(message);
    const at = keys.length;
    followsEarlier &&= at < (earlier?.keys.length ?? 0) && earlier?.keys[at] === key;
    const id = followsEarlier ? earlier?.ids[at] : idFor(message, row);
    keys.push(key);
    ids.push(id);
    messages.push(id === undefined ? message : withId(message, id));
  }
  return { messages: pairCalls(messages), sent: { windowId: cut.windowId, keys, ids } };
}

function idFor(message: LogMessage, row: Row | undefined): string | undefined {
  if (message.role === "assistant" || isOwnCustomType(message.customType)) return undefined;
  return row?.head.id;
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
