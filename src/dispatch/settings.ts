// The settings that dispatched tasks have, and what they are where nobody set them. Pure.
import type { DailyQuota } from "./quota.ts";

/** The settings that tasks have, as in a person's settings. */
export interface TaskSettings {
  /** How many tasks run at once; further ones wait. Default 4. */
  readonly maxConcurrentTasks: number;
  /** Characters of all earlier turns that a task is told. Default 80,000. */
  readonly taskHistoryChars: number;
  /** Characters of one earlier turn among them. Default 6,000. */
  readonly taskHistoryTurnChars: number;
  /** Characters of the text beside an attachment. Default 30,000. */
  readonly taskExtractChars: number;
  /** What tasks may use in a day; null (default) is no limit. */
  readonly taskQuota: DailyQuota | null;
  /** Program and first arguments of the runner `cli`; empty (default) is the Pi that runs the session. */
  readonly taskRunnerCommand: readonly string[];
}

export const DEFAULT_TASK_SETTINGS: TaskSettings = {
  maxConcurrentTasks: 4,
  taskHistoryChars: 80_000,
  taskHistoryTurnChars: 6_000,
  taskExtractChars: 30_000,
  taskQuota: null,
  taskRunnerCommand: [],
};
