// The copy of the messages that goes to the model: everything before the current window is cut, the stored bootstrap
// takes its place, and recoverable messages carry their item ids. Pure; the log and the originals stay untouched.
import { blocksOf, type LogMessage } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import {
  BOOTSTRAP_MESSAGE,
  IDENTITY_MESSAGE,
  isOwnCustomType,
  type Opener,
  type OpenerDetails,
  openerOfMessage,
} from "../log/marks.ts";
import { copiedBootstrapText } from "../prompts.ts";
import { Alignment } from "./alignment.ts";
import { ControlFilter } from "./controls.ts";
import { pairCalls } from "./pairing.ts";

/** Which id each message of the current window was sent with. Decided once per message, then kept. */
export interface SentIds {
  readonly windowId: string;
  readonly keys: readonly string[];
  readonly ids: readonly (string | undefined)[];
}

export interface RequestInput {
  readonly messages: readonly LogMessage[];
  readonly branch: BranchIndex;
  /** The first message of a window that has no bootstrap, with the time when the session was made. */
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
 * bootstrap once more, and behind every message that is a row of an older window.
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
