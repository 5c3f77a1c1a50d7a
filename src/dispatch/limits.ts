// Why a run is stopped, and how long things may take. Pure.

/** Why a run is stopped. */
export type StopReason =
  | { readonly type: "cancelled" }
  /** The process that runs it ends. */
  | { readonly type: "closed" }
  /** Nothing was heard of the child for so long. */
  | { readonly type: "silent"; readonly ms: number };

export interface RunLimits {
  /** After a stop, the runner is waited for so long. */
  readonly stopLimitMs: number;
  /** A run without any event for so long is stopped. */
  readonly silenceLimitMs: number;
  /** Between two writes of a running task's steps. */
  readonly saveEveryMs: number;
}

export const RUN_LIMITS: RunLimits = { stopLimitMs: 15_000, silenceLimitMs: 30 * 60_000, saveEveryMs: 1_000 };
