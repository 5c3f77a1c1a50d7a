// The durable half of the window machine: what a branch says of its current window, as a fold of the log's facts. Pure.
import type { OpenerCause } from "../log/marks.ts";
import type { LogFact } from "./facts.ts";

/** From the moment its message is on the branch until its checkpoint is saved. */
export interface Fence {
  readonly kind: "fallback" | "manual_checkpoint";
  readonly requestId: string;
  /** Requests that were answered under it since a person last spoke: what it has cost without a saved checkpoint. */
  readonly requests: number;
}

/** What the branch says. */
export interface LogState {
  readonly number: number;
  readonly cause: OpenerCause | undefined;
  /** The window holds something besides its bootstrap, control messages and calls of new_context. */
  readonly hasWork: boolean;
  /** Windows in a row that overflows have opened since the person last spoke, up to this one. */
  readonly overflows: number;
  /** Windows in a row, up to this one, that opened because the model saved nothing under a fence. */
  readonly unnoted: number;
  /** A response of this window did not fail. */
  readonly answered: boolean;
  /** A response of this window reported its usage, so the host's figure is this window's. */
  readonly usageKnown: boolean;
  /** The call of the latest own note write, when it failed in this window. */
  readonly failedWrite: { readonly toolCallId: string | undefined } | undefined;
  readonly reminded: boolean;
  readonly fallbackGiven: boolean;
  readonly fence: Fence | undefined;
  /** The newest response's batch holds a saved checkpoint: what comes after it in the batch is too late. */
  readonly batchHasCheckpoint: boolean;
  /** A checkpoint saved for a manual compaction that has not used it yet. */
  readonly checkpoint: string | undefined;
  /** The hard trigger's value that has fired and not been undercut since; survives windows. */
  readonly hardFiredAt: number | undefined;
}

/** How many windows in a row may open because nothing was saved in the last: a model that saves nothing would do so forever. */
export const UNNOTED_IN_A_ROW_MAX = 3;

export const INITIAL_LOG: LogState = {
  number: 1,
  cause: undefined,
  hasWork: false,
  overflows: 0,
  unnoted: 0,
  answered: false,
  usageKnown: false,
  failedWrite: undefined,
  reminded: false,
  fallbackGiven: false,
  fence: undefined,
  batchHasCheckpoint: false,
  checkpoint: undefined,
  hardFiredAt: undefined,
};

/** The hard trigger fires again only after use fell below this share of it. */
const HARD_REARM_SHARE = 0.9;

function onControl(log: LogState, fact: LogFact & { type: "control_arrived" }): LogState {
  switch (fact.kind) {
    case "reminder":
      return { ...log, reminded: true };
    case "fallback": {
      // Once per window: a second one of the same window is only repeated words.
      if (log.fallbackGiven) return log;
      const fence: Fence = { kind: "fallback", requestId: fact.requestId, requests: 0 };
      return { ...log, fallbackGiven: true, fence, hardFiredAt: fact.hardTriggerTokens ?? log.hardFiredAt };
    }
    case "manual_checkpoint":
      if (log.fence?.kind === "fallback") return log;
      return {
        ...log,
        fence: { kind: "manual_checkpoint", requestId: fact.requestId, requests: 0 },
        checkpoint: undefined,
      };
    case "continuation":
      return log;
  }
}

function onAnswer(log: LogState, fact: LogFact & { type: "model_answered" }): LogState {
  if (fact.failed) return log.batchHasCheckpoint ? { ...log, batchHasCheckpoint: false } : log;
  const { usedTokens } = fact;
  const isBelow =
    usedTokens !== undefined && log.hardFiredAt !== undefined && usedTokens < log.hardFiredAt * HARD_REARM_SHARE;
  const usageKnown = log.usageKnown || usedTokens !== undefined;
  // Most answers say nothing new: a long branch is folded without a copy for each of them.
  const saysNothingNew = log.answered && !log.batchHasCheckpoint && log.fence === undefined && !isBelow;
  if (saysNothingNew && log.usageKnown === usageKnown) return log;
  return {
    ...log,
    answered: true,
    batchHasCheckpoint: false,
    fence: log.fence && { ...log.fence, requests: log.fence.requests + 1 },
    usageKnown,
    hardFiredAt: isBelow ? undefined : log.hardFiredAt,
  };
}

function onUserSpoke(log: LogState): LogState {
  if (log.overflows === 0 && log.checkpoint === undefined && log.fence === undefined) return log;
  return { ...log, overflows: 0, checkpoint: undefined, fence: log.fence && { ...log.fence, requests: 0 } };
}

/** A fallback that was taken back was never given: it may come again. */
function withoutFence(log: LogState, { kind }: Fence): LogState {
  const fallback = kind === "fallback" ? { fallbackGiven: false, hardFiredAt: undefined } : {};
  return { ...log, ...fallback, fence: undefined };
}

/** A compaction that is not ours is no progress: what overflowed before it may overflow after it. */
function overflowsIn({ overflows }: LogState, { cause }: LogFact & { type: "window_opened" }): number {
  if (cause === undefined) return overflows;
  return cause === "overflow" ? overflows + 1 : 0;
}

/** A window that opened otherwise is no saved note, except those that a note or the model's own word opens. */
function unnotedIn({ unnoted, fence }: LogState, { cause }: LogFact & { type: "window_opened" }): number {
  if (cause === "without_note") return fence ? Math.min(unnoted + 1, UNNOTED_IN_A_ROW_MAX) : unnoted;
  return cause === undefined || cause === "overflow" ? unnoted : 0;
}

/** One more fact of the log. */
export function foldLog(log: LogState, fact: LogFact): LogState {
  switch (fact.type) {
    case "window_opened":
      return {
        ...INITIAL_LOG,
        number: fact.number,
        cause: fact.cause,
        overflows: overflowsIn(log, fact),
        unnoted: unnotedIn(log, fact),
        hardFiredAt: log.hardFiredAt,
      };
    case "control_arrived":
      return onControl(log, fact);
    case "control_cancelled":
      return log.fence?.requestId === fact.requestId ? withoutFence(log, log.fence) : log;
    case "checkpoint_saved":
      return {
        ...log,
        fence: log.fence?.requestId === fact.requestId ? undefined : log.fence,
        batchHasCheckpoint: true,
        checkpoint: fact.requestId,
      };
    case "user_spoke":
      return onUserSpoke(log);
    case "worked":
      return log.hasWork ? log : { ...log, hasWork: true };
    case "model_answered":
      return onAnswer(log, fact);
    case "note_write_ended":
      return fact.saved
        ? { ...log, failedWrite: undefined, unnoted: 0 }
        : { ...log, failedWrite: { toolCallId: fact.toolCallId } };
  }
}
