// The settings that dispatched tasks have, and what they are where nobody set them. Pure.
import type { DailyQuota } from "./quota.ts";

/** The settings that tasks have. */
export interface TaskSettings {
  readonly maxConcurrentTasks: number;
  /** Characters of all earlier turns that a task is told. */
  readonly taskHistoryChars: number;
  readonly taskHistoryTurnChars: number;
  /** Characters of the text beside an attachment. */
  readonly taskExtractChars: number;
  readonly taskQuota: DailyQuota | null;
  /** Program and first arguments of the CLI runner; empty is the Pi that runs us. */
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
