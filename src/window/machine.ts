// The window machine: what happens next. Pure: no clock, no I/O, no host types. The durable half of its state is the
// fold of the log's facts, so replaying a branch gives what living through it gave; the transient half is what only
// this process can know. Longer than other files because the closed lists of events and effects, each explained, stay
// beside the decisions on them.
import type { BranchIndex } from "../log/branch.ts";
import type { OpenerCause } from "../log/marks.ts";
import type { BudgetLevel } from "./budget.ts";
import { CURSOR_AT_START, factsSince, type IsOwnNote, type LogFact } from "./facts.ts";
import { type Fence, foldLog, INITIAL_LOG, type LogState, UNNOTED_IN_A_ROW_MAX } from "./log-state.ts";

/** A manual compaction that waits for its checkpoint. */
export interface Manual {
  readonly requestId: string;
  /** Without a compaction the saved checkpoint opens the window itself. */
  readonly opensByWrite: boolean;
  readonly phase: "awaiting" | "saved" | "compacting";
  /** Its message has been in a request. */
  readonly delivered: boolean;
  /** Requests that have held it. */
  readonly requests: number;
}

/** What the tries to save a checkpoint have failed of since it was asked for: always of the storage, or of other things too. */
export type FailedTries = "none" | "storage" | "other";

/** An opening that a tool has answered for, until its result opens the window. */
export interface PromisedOpening {
  readonly toolCallId: string;
  readonly cause: OpenerCause;
}

/** What only this process knows. */
export interface LiveState {
  /** A request of this window has gone out. */
  readonly requestSent: boolean;
  /** The one write a fence has let through, until it ends. */
  readonly claim: string | undefined;
  /** Messages handed to the host's queue that are not on the branch yet. */
  readonly queued: readonly Queued[];
  /** A cancelled compaction asks for the fallback at the next check, or for the reminder where none was given. */
  readonly fallbackWanted: boolean;
  readonly manual: Manual | undefined;
  readonly failedTries: FailedTries;
  readonly promised: PromisedOpening | undefined;
  /** Requests of this window whose write of an own note another extension's hook has blocked. */
  readonly blocked: number;
}

export type QueuedKind = "reminder" | "fallback";

/** A steer goes into the running loop; `nextTurn` rides along with the next prompt and costs no request. */
export type Delivery = "steer" | "nextTurn";

export interface Queued {
  readonly kind: QueuedKind;
  readonly via: Delivery;
}

export interface WindowState {
  readonly log: LogState;
  readonly live: LiveState;
}

/** Why the host compacts. */
export type CompactionCause = "manual" | "threshold" | "overflow";

/** What happens beside the log. */
export type LiveEvent =
  /** A request is about to be built: what must not go on any longer ends here. */
  | {
      readonly type: "request_due";
      readonly fenceMaxRequests: number;
      /** The session has a tool that can save a checkpoint. */
      readonly canWrite: boolean;
    }
  | { readonly type: "request_sent"; readonly delivered: readonly string[] }
  | {
      readonly type: "tool_called";
      readonly toolCallId: string;
      readonly ownNoteWrite: boolean;
      /** It writes nothing but blanks. */
      readonly blank: boolean;
      /** The session has a tool that can save a checkpoint. */
      readonly canWrite: boolean;
      readonly opensWindow: boolean;
      /** Called by another tool: its result stands nowhere on the log. */
      readonly nested: boolean;
      readonly batchIsClosed: boolean;
    }
  | { readonly type: "tool_failed"; readonly toolCallId: string }
  | { readonly type: "note_saved"; readonly toolCallId: string }
  | { readonly type: "note_failed"; readonly toolCallId: string; readonly ofStorage: boolean }
  /** A write of an own note was called, but another extension's hook blocked it. */
  | { readonly type: "write_blocked" }
  | { readonly type: "new_context_called"; readonly toolCallId: string; readonly batchIsClosed: boolean }
  /** The result that should have opened a window is written and does not; the window is meant all the same, or nothing is. */
  | { readonly type: "promise_broken"; readonly isMeant: boolean }
  | {
      readonly type: "budget_checked";
      readonly level: BudgetLevel;
      /** The hard trigger's value when it is reached. */
      readonly hardTriggerTokens: number | undefined;
      readonly via: Delivery;
    }
  /** `aborted`: the person stopped the run. */
  | { readonly type: "settled"; readonly aborted: boolean }
  | { readonly type: "overflow_settled" }
  | {
      readonly type: "compaction_started";
      readonly reason: CompactionCause;
      /** Windows are on in this session. */
      readonly enabled: boolean;
      /** The session has a tool that can save a checkpoint. */
      readonly canWrite: boolean;
      /** It is a consolidation that this package asked for. */
      readonly isOurs: boolean;
      /** The newest response is a whole answer. */
      readonly isFinished: boolean;
      /** The newest request failed in a window that is full: too long, in whatever words. */
      readonly isRefused: boolean;
      readonly unconsolidatedWindows: number;
      readonly requestId: string;
    }
  | { readonly type: "manual_compacting" }
  | { readonly type: "manual_ended" }
  | { readonly type: "checkpoint_asked"; readonly requestId: string }
  /** A person wants the next window although this one's checkpoint cannot be had. */
  | { readonly type: "left_without_note" };

export type WindowEvent = LogFact | LiveEvent;

export type ToolRefusal = "window_closed" | "fence" | "blank" | "claim_taken" | "checkpoint_saved" | "nested";

/** What loop.ts and compactions.ts have to carry out. */
export type Effect =
  | { readonly type: "allow_tool" }
  | { readonly type: "refuse_tool"; readonly because: ToolRefusal }
  | { readonly type: "open_window"; readonly cause: OpenerCause }
  | { readonly type: "mark_checkpoint"; readonly requestId: string }
  | { readonly type: "answer_nothing_to_leave" }
  /** A person asked for the next window in vain: a checkpoint is being saved already, or this window holds nothing. */
  | { readonly type: "answer_not_opened"; readonly because: "under_way" | "nothing_to_leave" }
  | { readonly type: "refuse_new_context"; readonly because: "window_closed" }
  | { readonly type: "refuse_new_context"; readonly because: "write_failed"; readonly toolCallId: string | undefined }
  | ({ readonly type: "send_control"; readonly hardTriggerTokens: number | undefined } & Queued)
  | { readonly type: "run_checkpoint"; readonly requestId: string }
  /** The model has not saved the checkpoint that a person asked for. */
  | { readonly type: "end_checkpoint_turn"; readonly storageIsBroken: boolean }
  /** Notes cannot be stored, or are never saved: no window can help. */
  | { readonly type: "step_aside"; readonly because: "storage" | "unsaved" }
  /** No tool can answer the fence: it is taken back. */
  | { readonly type: "rest_fence"; readonly requestId: string; readonly because: "no_tools" | "blocked" }
  | { readonly type: "consolidate" }
  /** `reason`: what the compaction is taken for; a finished answer makes an overflow a threshold. */
  | { readonly type: "cancel_compaction"; readonly reason: CompactionCause }
  /** Windows have no say in this compaction. */
  | { readonly type: "leave_to_host" }
  /** A request does not fit and another window would not help: what the host makes of it stands. */
  | { readonly type: "leave_overflow" };

export interface Step {
  readonly state: WindowState;
  /** The one thing to do now. */
  readonly effect: Effect | undefined;
}

export const INITIAL_LIVE: LiveState = {
  requestSent: false,
  claim: undefined,
  queued: [],
  fallbackWanted: false,
  manual: undefined,
  failedTries: "none",
  promised: undefined,
  blocked: 0,
};

/** So many requests of a window may have their write blocked by others before it is no longer asked for. */
const BLOCKED_WRITES_MAX = 2;

/** Others have blocked the checkpoint of this window so often that it is no longer asked for. */
export function isCheckpointBlocked({ live }: WindowState): boolean {
  return live.blocked >= BLOCKED_WRITES_MAX;
}

export const INITIAL_STATE: WindowState = { log: INITIAL_LOG, live: INITIAL_LIVE };

/** The fence in force: the log's, or that of a manual compaction whose turn the host does not write down. */
export function fenceOf({ log, live }: WindowState): Fence | undefined {
  if (log.fence) return log.fence;
  const { manual } = live;
  return manual?.phase === "awaiting" && manual.delivered
    ? { kind: "manual_checkpoint", requestId: manual.requestId, requests: manual.requests }
    : undefined;
}

/** What a fact of the log settles for this process. */
function foldLive(live: LiveState, fact: LogFact): LiveState {
  switch (fact.type) {
    case "window_opened":
      return { ...INITIAL_LIVE, manual: live.manual };
    case "control_arrived": {
      const isFallback = fact.kind === "fallback";
      return {
        ...live,
        queued: live.queued.filter(({ kind }) => kind !== fact.kind),
        fallbackWanted: live.fallbackWanted && !isFallback,
        failedTries: isFallback || fact.kind === "manual_checkpoint" ? "none" : live.failedTries,
      };
    }
    case "control_cancelled":
    case "checkpoint_saved":
      return { ...live, failedTries: "none" };
    case "model_answered":
      return live.requestSent ? live : { ...live, requestSent: true };
    default:
      return live;
  }
}

type Live<T extends LiveEvent["type"]> = Extract<LiveEvent, { type: T }>;

const stay = (state: WindowState, effect?: Effect): Step => ({ state, effect });
const live = (state: WindowState, change: Partial<LiveState>, effect?: Effect): Step => ({
  state: { ...state, live: { ...state.live, ...change } },
  effect,
});

function onToolCalled(state: WindowState, event: Live<"tool_called">): Step {
  const refuse = (because: ToolRefusal) => stay(state, { type: "refuse_tool", because });
  const { promised, manual } = state.live;
  if (event.batchIsClosed || promised?.cause === "new_context") return refuse("window_closed");
  if (state.log.batchHasCheckpoint || promised) return refuse("checkpoint_saved");
  const fence = fenceOf(state);
  if (event.nested && (event.opensWindow || (fence && event.ownNoteWrite))) return refuse("nested");
  if (!fence) return stay(state, { type: "allow_tool" });
  if (!event.canWrite && !manual) return restFence(state, fence, "no_tools");
  if (!event.ownNoteWrite) return refuse("fence");
  if (event.blank) return refuse("blank");
  if (state.live.claim !== undefined) return refuse("claim_taken");
  return live(state, { claim: event.toolCallId }, { type: "allow_tool" });
}

/** The log takes the fence back; it comes again when a tool can answer it. */
function restFence(state: WindowState, { requestId }: Fence, because: "no_tools" | "blocked"): Step {
  return live(state, { claim: undefined }, { type: "rest_fence", requestId, because });
}

function onWriteBlocked(before: WindowState): Step {
  const blocked = Math.min(before.live.blocked + 1, BLOCKED_WRITES_MAX);
  const state: WindowState = { ...before, live: { ...before.live, claim: undefined, blocked } };
  const fence = fenceOf(state);
  if (!fence || !isCheckpointBlocked(state)) return stay(state);
  return state.live.manual
    ? stay(state, { type: "end_checkpoint_turn", storageIsBroken: false })
    : restFence(state, fence, "blocked");
}

function onNoteFailed(state: WindowState, event: Live<"note_failed">): Step {
  if (state.live.claim !== event.toolCallId) return stay(state);
  const isStorage = event.ofStorage && state.live.failedTries !== "other";
  return live(state, { claim: undefined, failedTries: isStorage ? "storage" : "other" });
}

/** The bound of a fence: here, because nothing leaves by another way, no sequence of events makes one more request. */
function onRequestDue(state: WindowState, event: Live<"request_due">): Step {
  const { manual, promised } = state.live;
  // A fence that no tool can answer has no bound: it is taken back with the next call.
  if (!event.canWrite && !manual) return stay(state);
  const isSpent = ({ requests }: { readonly requests: number }) => requests >= event.fenceMaxRequests;
  const isBroken = state.live.failedTries === "storage";
  if (manual?.phase === "awaiting")
    return isSpent(manual) ? stay(state, { type: "end_checkpoint_turn", storageIsBroken: isBroken }) : stay(state);
  const { fence } = state.log;
  if (!fence || promised || manual || !isSpent(fence)) return stay(state);
  if (isBroken) return stay(state, { type: "step_aside", because: "storage" });
  if (state.log.unnoted >= UNNOTED_IN_A_ROW_MAX) return stay(state, { type: "step_aside", because: "unsaved" });
  return stay(state, { type: "open_window", cause: "without_note" });
}

function onPromiseBroken(state: WindowState, { isMeant }: Live<"promise_broken">): Step {
  const { promised } = state.live;
  if (!promised) return stay(state);
  return live(state, { promised: undefined }, isMeant ? { type: "open_window", cause: promised.cause } : undefined);
}

function onNoteSaved(before: WindowState, event: Live<"note_saved">): Step {
  const state: WindowState = { ...before, live: { ...before.live, blocked: 0 } };
  const fence = fenceOf(state);
  if (!fence || state.live.claim !== event.toolCallId) return stay(state);
  const open = (change: Partial<LiveState>, cause: OpenerCause) =>
    live(state, { ...change, promised: { toolCallId: event.toolCallId, cause } }, { type: "open_window", cause });
  const { manual } = state.live;
  const answersManual = manual && (fence.kind === "fallback" || manual.requestId === fence.requestId);
  const saved = answersManual ? { manual: { ...manual, phase: "saved" } as const } : {};
  if (fence.kind === "fallback") return open(saved, "checkpoint");
  if (answersManual && manual.opensByWrite) return open(saved, "context_new");
  return live(state, saved, { type: "mark_checkpoint", requestId: fence.requestId });
}

function onNewContext(state: WindowState, event: Live<"new_context_called">): Step {
  const { failedWrite, hasWork } = state.log;
  if (event.batchIsClosed) return stay(state, { type: "refuse_new_context", because: "window_closed" });
  if (failedWrite)
    return stay(state, {
      type: "refuse_new_context",
      because: "write_failed",
      toolCallId: failedWrite.toolCallId,
    });
  if (!hasWork) return stay(state, { type: "answer_nothing_to_leave" });
  const promised = { toolCallId: event.toolCallId, cause: "new_context" } as const;
  return live(state, { promised }, { type: "open_window", cause: "new_context" });
}

/**
 * At most one reminder and one fallback per window, none under a fence or while one is queued. A steer does not wait
 * for what rides along with a later prompt.
 */
function onBudget(state: WindowState, event: Live<"budget_checked">): Step {
  const { log } = state;
  const { queued, fallbackWanted, manual, promised } = state.live;
  const isQueued = (kind: QueuedKind) =>
    queued.some((one) => one.kind === kind && (one.via === "steer" || event.via === "nextTurn"));
  if (fenceOf(state) || manual || log.fallbackGiven || !log.hasWork || isQueued("fallback")) return stay(state);
  if (promised || isCheckpointBlocked(state)) return stay(state);
  const hard = log.hardFiredAt === undefined ? event.hardTriggerTokens : undefined;
  const send = (kind: QueuedKind, hardTriggerTokens: number | undefined) => {
    const one: Queued = { kind, via: event.via };
    const change = { queued: [...queued, one], fallbackWanted: false };
    return live(state, change, { type: "send_control", ...one, hardTriggerTokens });
  };
  const isClosing = event.level === "fallback" || hard !== undefined;
  // The host's own threshold may lie far above the fallback's, as in a small window: the reminder comes first there too.
  if (isClosing || (fallbackWanted && log.reminded)) return send("fallback", hard);
  const isCalledFor = event.level === "reminder" || fallbackWanted;
  const remind = isCalledFor && !log.reminded && !isQueued("reminder");
  return remind ? send("reminder", undefined) : live(state, { fallbackWanted: false });
}

/** Switched off, the host compacts by itself; what it holds of closed windows is only dropped, never summarized again. */
function onCompactionWhileOff(state: WindowState, event: Live<"compaction_started">): Step {
  const isDrop = event.isOurs || (event.reason === "threshold" && event.unconsolidatedWindows > 0);
  return stay(state, { type: isDrop ? "consolidate" : "leave_to_host" });
}

/** What a compaction is taken for, whatever the host calls it. */
function meantBy({ reason, isFinished, isRefused }: Live<"compaction_started">): CompactionCause {
  if (reason === "threshold" && isRefused) return "overflow";
  // A finished answer needs no other attempt, however much it used.
  return reason === "overflow" && isFinished ? "threshold" : reason;
}

function onCompaction(before: WindowState, event: Live<"compaction_started">): Step {
  if (!event.enabled) return onCompactionWhileOff(before, event);
  const isOld = event.unconsolidatedWindows > 0;
  if (event.isOurs) return stay(before, { type: "consolidate" });
  if (!event.canWrite || isCheckpointBlocked(before))
    return stay(before, { type: isOld ? "consolidate" : "leave_to_host" });
  const reason = meantBy(event);
  const cancel = { type: "cancel_compaction", reason } as const;
  const { manual } = before.live;
  // A nested attempt while a manual one waits is refused; one that was compacting is over when the next one starts.
  if (manual && manual.phase !== "compacting") return stay(before, cancel);
  const state: WindowState = { ...before, live: { ...before.live, manual: undefined } };
  const { log } = state;
  switch (reason) {
    case "overflow":
      return onOverflow(state);
    case "manual":
      if (!log.hasWork) return stay(state, isOld ? { type: "consolidate" } : cancel);
      if (log.checkpoint !== undefined) return stay(state, { type: "open_window", cause: "manual_compact" });
      return startCheckpoint(state, event.requestId, false);
    case "threshold":
      if (isOld) return stay(state, { type: "consolidate" });
      return fenceOf(state) || log.fallbackGiven || !log.hasWork
        ? stay(state, cancel)
        : live(state, { fallbackWanted: true }, cancel);
  }
}

/** How many windows overflows may open without a word of the person: whatever overflows each of them goes on for ever. */
export const OVERFLOWS_IN_A_ROW_MAX = 3;

/** An overflow opens a window, unless nothing was answered since the last one or there were too many in a row. */
function onOverflow(state: WindowState): Step {
  const { overflows, answered } = state.log;
  const isLoop = (overflows > 0 && !answered) || overflows >= OVERFLOWS_IN_A_ROW_MAX;
  return stay(state, isLoop ? { type: "leave_overflow" } : { type: "open_window", cause: "overflow" });
}

function startCheckpoint(state: WindowState, requestId: string, opensByWrite: boolean): Step {
  const manual: Manual = { requestId, opensByWrite, phase: "awaiting", delivered: false, requests: 0 };
  return live(state, { manual }, { type: "run_checkpoint", requestId });
}

/** Why a person's wish for the next window comes to nothing; undefined when it does not. */
function byHand(state: WindowState): Step | undefined {
  const none = (because: "under_way" | "nothing_to_leave") => stay(state, { type: "answer_not_opened", because });
  if (state.live.manual) return none("under_way");
  return state.log.hasWork ? undefined : none("nothing_to_leave");
}

function onRequestSent(state: WindowState, event: Live<"request_sent">): Step {
  const { manual } = state.live;
  const delivered =
    manual && event.delivered.includes(manual.requestId)
      ? { manual: { ...manual, delivered: true, requests: manual.requests + (manual.phase === "awaiting" ? 1 : 0) } }
      : {};
  // The batch of any claimed write is over.
  return live(state, { requestSent: true, claim: undefined, ...delivered });
}

function onLive(state: WindowState, event: LiveEvent): Step {
  switch (event.type) {
    case "request_due":
      return onRequestDue(state, event);
    case "request_sent":
      return onRequestSent(state, event);
    case "tool_called":
      return onToolCalled(state, event);
    case "tool_failed":
      return state.live.claim === event.toolCallId ? live(state, { claim: undefined }) : stay(state);
    case "note_saved":
      return onNoteSaved(state, event);
    case "note_failed":
      return onNoteFailed(state, event);
    case "write_blocked":
      return onWriteBlocked(state);
    case "promise_broken":
      return onPromiseBroken(state, event);
    case "new_context_called":
      return onNewContext(state, event);
    case "budget_checked":
      return onBudget(state, event);
    case "settled": {
      // A steer that is not on the branch by now was taken back, so it is offered again.
      const change = { claim: undefined, queued: state.live.queued.filter(({ via }) => via === "nextTurn") };
      // A model that could not save its note has given up: the person is not left behind a fence that nothing can open.
      const isGivenUp = !event.aborted && !state.live.manual && state.live.failedTries === "storage";
      return live(state, change, state.log.fence && isGivenUp ? { type: "step_aside", because: "storage" } : undefined);
    }
    case "overflow_settled":
      return onOverflow(state);
    case "compaction_started":
      return onCompaction(state, event);
    case "manual_compacting": {
      const { manual } = state.live;
      return manual ? live(state, { manual: { ...manual, phase: "compacting" }, claim: undefined }) : stay(state);
    }
    case "manual_ended":
      return live(state, { manual: undefined, claim: undefined });
    case "checkpoint_asked":
      return byHand(state) ?? startCheckpoint(state, event.requestId, true);
    case "left_without_note":
      return byHand(state) ?? stay(state, { type: "open_window", cause: "without_note" });
  }
}

function isLogFact(event: WindowEvent): event is LogFact {
  switch (event.type) {
    case "window_opened":
    case "control_arrived":
    case "control_cancelled":
    case "checkpoint_saved":
    case "user_spoke":
    case "worked":
    case "model_answered":
    case "note_write_ended":
      return true;
    default:
      return false;
  }
}

export function step(state: WindowState, event: WindowEvent): Step {
  if (!isLogFact(event)) return onLive(state, event);
  const log = foldLog(state.log, event);
  const live = foldLive(state.live, event);
  return stay(log === state.log && live === state.live ? state : { log, live });
}

/** The state that a whole branch says, to a process that knows nothing else. */
export function replay(branch: BranchIndex, isOwnNote?: IsOwnNote): WindowState {
  return factsSince(branch, CURSOR_AT_START, isOwnNote).facts.reduce(
    (state, fact) => step(state, fact).state,
    INITIAL_STATE,
  );
}
