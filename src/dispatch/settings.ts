// The settings and limits of dispatched tasks, with their defaults. Pure.
import type { DailyQuota } from "./quota.ts";

/** The settings of tasks, by the names of a person's settings. */
export interface TaskSettings {
  /** How many tasks run at once; further ones wait. Default 4. */
  readonly maxConcurrentTasks: number;
  /** Characters of all earlier turns in a task's prompt. Default 80,000. */
  readonly taskHistoryChars: number;
  /** Characters of one earlier turn among them. Default 6,000. */
  readonly taskHistoryTurnChars: number;
  /** Characters of an attachment's extracted text. Default 30,000. */
  readonly taskExtractChars: number;
  /** What tasks may use in a day; null (default) is no limit. */
  readonly taskQuota: DailyQuota | null;
  /** Program and first arguments of the runner `cli`; empty (default) is the Pi that runs the session. */
  readonly taskRunnerCommand: readonly string[];
  /** The program that confines tasks (`bwrap`, `ssh`, `docker`, `podman`), and more arguments for it; empty (default) for none. */
  readonly taskSandbox: readonly string[];
}

export const DEFAULT_TASK_SETTINGS: TaskSettings = {
  maxConcurrentTasks: 4,
  taskHistoryChars: 80_000,
  taskHistoryTurnChars: 6_000,
  taskExtractChars: 30_000,
  taskQuota: null,
  taskRunnerCommand: [],
  taskSandbox: [],
};

/** Time limits of a task's run, in milliseconds. */
export interface RunLimits {
  /** Milliseconds that a runner gets to end after it was told to; default 15,000. */
  readonly stopLimitMs: number;
  /** A run without any event for so many milliseconds is stopped; default 1,800,000 (30 minutes). */
  readonly silenceLimitMs: number;
  /** Milliseconds between two writes of a running task's steps; default 1,000. */
  readonly saveEveryMs: number;
}

export const RUN_LIMITS: RunLimits = { stopLimitMs: 15_000, silenceLimitMs: 30 * 60_000, saveEveryMs: 1_000 };
