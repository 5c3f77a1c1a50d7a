// Why a run is stopped, and how long things may take. Pure.

/** Why a run is stopped. */
export type StopReason =
  | { readonly type: "cancelled" }
  /** The process that runs it ends. */
  | { readonly type: "closed" }
  /** Nothing was heard of the child for so long. */
  | { readonly type: "silent"; readonly ms: number };

/** How long a task's run may take to react, in milliseconds. */
export interface RunLimits {
  /** Milliseconds that a runner is waited for after it was told to end; default 15,000. */
  readonly stopLimitMs: number;
  /** A run without any event for so many milliseconds is stopped; default 1,800,000 (30 minutes). */
  readonly silenceLimitMs: number;
  /** Milliseconds between two writes of a running task's steps; default 1,000. */
  readonly saveEveryMs: number;
}

export const RUN_LIMITS: RunLimits = { stopLimitMs: 15_000, silenceLimitMs: 30 * 60_000, saveEveryMs: 1_000 };
