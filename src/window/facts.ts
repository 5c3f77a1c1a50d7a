// From the branch to facts: what each new item of the log means for windows, in order. Pure.
import { blocksOf, isToolCallBlock, type LogMessage, type ToolCallBlock } from "../host/entries.ts";
import type { BranchIndex, PlacedMark, Row } from "../log/branch.ts";
import { type ControlKind, controlOf, isNoteWriteTool, type Opener, type OpenerCause } from "../log/marks.ts";

/** What one step of the log means for windows. */
export type LogFact =
  | {
      readonly type: "window_opened";
      readonly number: number;
      readonly by: Opener["type"];
      readonly cause: OpenerCause | undefined;
    }
  | {
      readonly type: "control_arrived";
      readonly kind: ControlKind;
      readonly requestId: string;
      readonly hardTriggerTokens: number | undefined;
    }
  | { readonly type: "control_cancelled"; readonly requestId: string }
  | { readonly type: "checkpoint_saved"; readonly requestId: string }
  | { readonly type: "user_spoke" }
  | { readonly type: "worked" }
  /** `usedTokens` is undefined when the response reports no usage; a failed response answers nothing. */
  | { readonly type: "model_answered"; readonly failed: boolean; readonly usedTokens: number | undefined }
  | {
      readonly type: "note_write_ended";
      readonly saved: boolean;
      readonly toolCallId: string | undefined;
    };

function isFailure(message: LogMessage | undefined): boolean {
  const isCutToNothing = message?.stopReason === "length" && blocksOf(message.content).length === 0;
  return isCutToNothing || message?.stopReason === "error" || message?.stopReason === "aborted";
}

type Usage = Readonly<Partial<Record<"input" | "output" | "cacheRead" | "cacheWrite" | "totalTokens", unknown>>>;

/** What a response reports of its usage, in tokens; undefined when it reports none. */
export function reportedTokens(message: LogMessage | undefined): number | undefined {
  const usage = message?.usage as Usage | null | undefined;
  const total = figure(usage?.totalTokens) || partsOf(usage);
  return total > 0 ? total : undefined;
}

function figure(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function partsOf(usage: Usage | null | undefined): number {
  return figure(usage?.input) + figure(usage?.output) + figure(usage?.cacheRead) + figure(usage?.cacheWrite);
}

function onlyOpensWindows({ head: { calls } }: Row): boolean {
  return calls.length > 0 && calls.every((call) => call.name === "new_context");
}

/** Called with each fact: a long branch has hundreds of thousands, so no list is made of them. */
type OnFact = (fact: LogFact) => void;

/** What most rows say, made once. */
const WORKED: LogFact = { type: "worked" };
const SPOKEN: LogFact = { type: "user_spoke" };

function userFacts({ entry, head, window }: Row, onFact: OnFact): void {
  if (head.fromUser) {
    onFact(SPOKEN);
    onFact(WORKED);
    return;
  }
  const control = controlOf(entry.type === "message" ? (entry.message ?? {}) : entry);
  if (control && control.windowId === `w${window}`) {
    const { kind, requestId, hardTriggerTokens } = control;
    onFact({ type: "control_arrived", kind, requestId, hardTriggerTokens });
  } else if (!head.internal && entry.type !== "compaction") onFact(WORKED);
}

function answerFacts(row: Row, onFact: OnFact): void {
  const { message } = row.entry;
  const failed = isFailure(message);
  if (!failed && !onlyOpensWindows(row)) onFact(WORKED);
  onFact({ type: "model_answered", failed, usedTokens: failed ? undefined : reportedTokens(message) });
}

/** Whether a path names one of the agent's own notes. */
export type IsOwnNote = (path: unknown) => boolean;

/** Where the agent is not known: a path that names an agent names another one. */
export const NO_ABSOLUTE_PATH: IsOwnNote = () => false;

export interface PlacedCall extends ToolCallBlock {
  /** The response that makes the call. */
  readonly message: LogMessage | undefined;
}

function callIn({ head, entry }: Row, toolCallId: string): PlacedCall | undefined {
  if (head.role !== "assistant" || head.calls.length === 0) return undefined;
  const call = blocksOf(entry.message?.content).find((block) => isToolCallBlock(block) && block.id === toolCallId);
  return call === undefined ? undefined : { ...(call as ToolCallBlock), message: entry.message };
}

/** A call of the current window. */
export function callOf({ rows, current }: BranchIndex, toolCallId: string): PlacedCall | undefined {
  for (let i = rows.length - 1; i >= current.firstRow; i--) {
    const call = callIn(rows[i] as Row, toolCallId);
    if (call) return call;
  }
  return undefined;
}

/** The call that the result in row `at` answers, in the newest response before it. */
function answeredCall(rows: readonly Row[], at: number): PlacedCall | undefined {
  for (let i = at - 1; i >= 0; i--)
    if (rows[i]?.head.role === "assistant") return callIn(rows[i] as Row, rows[at]?.head.toolCallId ?? "");
  return undefined;
}

/** Another agent's note loses nothing of one's own when its write fails; a path that is none at all does. */
function isOthersNote(path: unknown, isOwnNote: IsOwnNote): boolean {
  return typeof path === "string" && path.startsWith("/") && !isOwnNote(path);
}

function resultFacts(rows: readonly Row[], at: number, isOwnNote: IsOwnNote, onFact: OnFact): void {
  const row = rows[at] as Row;
  const name = row.head.calls[0]?.name ?? "";
  if (name === "new_context") return;
  onFact(WORKED);
  if (!isNoteWriteTool(name)) return;
  const path = (answeredCall(rows, at)?.arguments as { path?: unknown } | null | undefined)?.path;
  if (isOthersNote(path, isOwnNote)) return;
  const saved = row.entry.message?.isError !== true;
  onFact({ type: "note_write_ended", saved, toolCallId: row.head.toolCallId });
}

function rowFacts(rows: readonly Row[], at: number, isOwnNote: IsOwnNote, onFact: OnFact): void {
  const row = rows[at] as Row;
  switch (row.head.role) {
    case "user":
      userFacts(row, onFact);
      break;
    case "assistant":
      answerFacts(row, onFact);
      break;
    case "tool":
      resultFacts(rows, at, isOwnNote, onFact);
  }
}

/** How far facts of a branch have been read. */
export interface FactCursor {
  readonly rows: number;
  readonly windows: number;
  readonly requestMarks: number;
}

export const CURSOR_AT_START: FactCursor = { rows: 0, windows: 1, requestMarks: 0 };

function wasCancelled(marks: readonly PlacedMark[], requestId: string): boolean {
  return marks.some(({ mark }) => mark.type === "cancelled" && mark.requestId === requestId);
}

/** Hands over the facts a branch has gained since the cursor, in order; returns the cursor behind them. */
export function readFacts(branch: BranchIndex, cursor: FactCursor, isOwnNote: IsOwnNote, each: OnFact): FactCursor {
  let { windows, requestMarks } = cursor;
  const openUpTo = (number: number) => {
    for (; windows < number; windows++) {
      const opener = branch.windows[windows]?.opener;
      const cause = opener && "details" in opener ? opener.details.cause : undefined;
      each({ type: "window_opened", number: windows + 1, by: opener?.type ?? "foreign_compaction", cause });
    }
  };
  const marksUpTo = (rows: number) => {
    for (let next = branch.requestMarks[requestMarks]; next && next.rowsBefore <= rows; ) {
      const { type, requestId } = next.mark;
      each({ type: type === "cancelled" ? "control_cancelled" : "checkpoint_saved", requestId });
      next = branch.requestMarks[++requestMarks];
    }
  };
  const onFact: OnFact = (fact) => {
    // A message that was queued when its request was cancelled comes after the mark, and asks for nothing.
    const isTakenBack =
      fact.type === "control_arrived" && wasCancelled(branch.requestMarks.slice(0, requestMarks), fact.requestId);
    if (!isTakenBack) each(fact);
  };
  const { rows } = branch;
  for (let i = cursor.rows; i < rows.length; i++) {
    marksUpTo(i);
    const { window } = rows[i] as Row;
    openUpTo(window);
    // A late result of the batch that closed the previous window says nothing of this one.
    if (window !== windows) continue;
    rowFacts(rows, i, isOwnNote, onFact);
  }
  openUpTo(branch.windows.length);
  marksUpTo(rows.length);
  return { rows: rows.length, windows, requestMarks };
}

/** The same, as a list. */
export function factsSince(
  branch: BranchIndex,
  before: FactCursor,
  isOwnNote: IsOwnNote = NO_ABSOLUTE_PATH,
): { facts: readonly LogFact[]; cursor: FactCursor } {
  const facts: LogFact[] = [];
  const cursor = readFacts(branch, before, isOwnNote, (fact) => facts.push(fact));
  return { facts, cursor };
}

/** What the host still holds of closed windows, because no compaction has dropped it yet. */
export interface Unconsolidated {
  readonly windows: number;
  readonly messages: number;
}

export function unconsolidated(branch: BranchIndex): Unconsolidated {
  const { current, lastCompaction, windows } = branch;
  const heldFrom = windows.findLast(
    ({ id, openerEntryId }) => id === lastCompaction?.consolidates || openerEntryId === lastCompaction?.entry.id,
  );
  const first = heldFrom ?? (windows[0] as typeof current);
  return { windows: current.number - first.number, messages: current.firstRow - first.firstRow };
}
