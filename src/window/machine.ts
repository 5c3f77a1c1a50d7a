// The window machine: what a branch says of its current window, and what is decided from it. Pure: no clock, no I/O,
// no host types. Durable state is the fold of the log's facts, so replaying a branch gives the state that living
// through it gave.
import { blocksOf, isToolCallBlock } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import { isNoteWriteTool } from "../log/marks.ts";

/** What one step of the log means for windows. */
export type LogFact =
  | { readonly type: "window_opened"; readonly number: number; readonly byCompaction: boolean }
  | { readonly type: "consolidated" }
  | { readonly type: "worked" }
  | { readonly type: "model_answered"; readonly usageKnown: boolean }
  | { readonly type: "note_write_ended"; readonly saved: boolean; readonly toolCallId: string | undefined };

/** What happens beside the log. */
export type LiveEvent =
  | { readonly type: "request_sent" }
  | { readonly type: "tool_called"; readonly batchIsClosed: boolean }
  | { readonly type: "new_context_called" }
  | { readonly type: "host_compaction_started"; readonly byPerson: boolean };

export type WindowEvent = LogFact | LiveEvent;

/** What the shell has to carry out. */
export type Effect =
  | { readonly type: "allow_tool" }
  | { readonly type: "refuse_tool"; readonly because: "window_closed" }
  | { readonly type: "open_window" }
  | { readonly type: "answer_nothing_to_leave" }
  | { readonly type: "refuse_new_context"; readonly because: "write_failed"; readonly toolCallId: string | undefined }
  | { readonly type: "consolidate" }
  | { readonly type: "cancel_compaction" };

export interface WindowState {
  readonly number: number;
  /** The window holds something besides its bootstrap, control messages and calls of new_context. */
  readonly hasWork: boolean;
  /** A response of this window has reported its usage, so the host's figure is this window's. */
  readonly usageKnown: boolean;
  /** A request of this window has gone out. */
  readonly requestSent: boolean;
  /** The call of the latest own note write, when it failed in this window. */
  readonly failedWrite: { readonly toolCallId: string | undefined } | undefined;
  /** An opener that is not a compaction, and no host compaction since: the host still holds the old windows. */
  readonly unconsolidated: boolean;
}

export const INITIAL_STATE: WindowState = {
  number: 1,
  hasWork: false,
  usageKnown: false,
  requestSent: false,
  failedWrite: undefined,
  unconsolidated: false,
};

export interface Step {
  readonly state: WindowState;
  readonly effects: readonly Effect[];
}

/**
 * A window with work in it is left for the next one. Without work, or when an automatic compaction goes by the figures
 * of an older window, all there is to shorten is what the host still holds of the old ones.
 */
function onHostCompaction(state: WindowState, byPerson: boolean): Effect {
  const isStale = state.unconsolidated && !state.usageKnown && !byPerson;
  if (state.hasWork && !isStale) return { type: "open_window" };
  return state.unconsolidated ? { type: "consolidate" } : { type: "cancel_compaction" };
}

function onNewContext(state: WindowState): Effect {
  if (state.failedWrite)
    return { type: "refuse_new_context", because: "write_failed", toolCallId: state.failedWrite.toolCallId };
  return state.hasWork ? { type: "open_window" } : { type: "answer_nothing_to_leave" };
}

export function step(state: WindowState, event: WindowEvent): Step {
  const only = (next: WindowState): Step => ({ state: next, effects: [] });
  const decide = (effect: Effect): Step => ({ state, effects: [effect] });
  switch (event.type) {
    case "window_opened":
      return only({ ...INITIAL_STATE, number: event.number, unconsolidated: !event.byCompaction });
    case "consolidated":
      return only({ ...state, unconsolidated: false });
    case "worked":
      return only({ ...state, hasWork: true });
    case "model_answered":
      return only({ ...state, requestSent: true, usageKnown: state.usageKnown || event.usageKnown });
    case "note_write_ended":
      return only({ ...state, hasWork: true, failedWrite: event.saved ? undefined : { toolCallId: event.toolCallId } });
    case "request_sent":
      return only({ ...state, requestSent: true });
    case "tool_called":
      return decide(event.batchIsClosed ? { type: "refuse_tool", because: "window_closed" } : { type: "allow_tool" });
    case "new_context_called":
      return decide(onNewContext(state));
    case "host_compaction_started":
      return decide(onHostCompaction(state, event.byPerson));
  }
}

function usageIsKnown(row: Row): boolean {
  const message = row.entry.message;
  if (message?.stopReason === "error" || message?.stopReason === "aborted") return false;
  const usage = message?.usage as { totalTokens?: unknown; input?: unknown; output?: unknown } | null | undefined;
  const figures = [usage?.totalTokens, usage?.input, usage?.output];
  return figures.some((figure) => typeof figure === "number" && figure > 0);
}

function onlyOpensWindows(row: Row): boolean {
  const calls = blocksOf(row.entry.message?.content).filter(isToolCallBlock);
  return calls.length > 0 && calls.every((call) => call.name === "new_context");
}

/** The facts of one item of the window it belongs to. */
export function factsOfRow(row: Row): readonly LogFact[] {
  const { head, entry } = row;
  switch (head.role) {
    case "user": {
      const isMachinery = head.internal || entry.type === "compaction";
      return isMachinery ? [] : [{ type: "worked" }];
    }
    case "assistant": {
      const answered: LogFact = { type: "model_answered", usageKnown: usageIsKnown(row) };
      return onlyOpensWindows(row) ? [answered] : [{ type: "worked" }, answered];
    }
    case "tool": {
      const name = head.calls[0]?.name ?? "";
      if (name === "new_context") return [];
      if (isNoteWriteTool(name))
        return [{ type: "note_write_ended", saved: entry.message?.isError !== true, toolCallId: head.toolCallId }];
      return [{ type: "worked" }];
    }
    default:
      return [];
  }
}

/** Where a reader of facts stands on a branch. */
export interface FactCursor {
  readonly rows: number;
  readonly windows: number;
  readonly compactionId: string | undefined;
}

export const CURSOR_AT_START: FactCursor = { rows: 0, windows: 1, compactionId: undefined };

/** The facts a branch has gained since the cursor, in order, and the cursor behind them. */
export function factsSince(branch: BranchIndex, cursor: FactCursor): { facts: readonly LogFact[]; cursor: FactCursor } {
  const facts: LogFact[] = [];
  let windows = cursor.windows;
  const openUpTo = (number: number) => {
    while (windows < number) {
      const opener = branch.windows[windows]?.opener?.type;
      windows++;
      facts.push({
        type: "window_opened",
        number: windows,
        byCompaction: opener === "compaction" || opener === "foreign_compaction",
      });
    }
  };
  for (let i = cursor.rows; i < branch.rows.length; i++) {
    const row = branch.rows[i] as Row;
    openUpTo(row.window);
    // A late result of the batch that closed the previous window says nothing of this one.
    if (row.window === windows) facts.push(...factsOfRow(row));
  }
  openUpTo(branch.windows.length);
  const compaction = branch.lastCompaction;
  if (compaction?.consolidates !== undefined && compaction.entry.id !== cursor.compactionId) {
    if (compaction.consolidates === branch.current.id) facts.push({ type: "consolidated" });
  }
  return { facts, cursor: { rows: branch.rows.length, windows, compactionId: compaction?.entry.id } };
}

/** The durable state that a whole branch says. */
export function replay(branch: BranchIndex): WindowState {
  return factsSince(branch, CURSOR_AT_START).facts.reduce((state, fact) => step(state, fact).state, INITIAL_STATE);
}
