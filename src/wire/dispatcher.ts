// The dispatcher as launchers make it: its children load this package's own extension.
import { openDispatcher, type TaskDispatcherOptions } from "../dispatch/create.ts";
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { DispatchParent } from "../dispatch/parent.ts";
import { createTokenBudgetExtension } from "../extension.ts";

/**
 * Opens tasks for child agents of a session, whose place `getTokenBudgetTask` answers. Close it when the session ends:
 * what runs then is interrupted, and can be run again.
 */
export function createTaskDispatcher(parentTask: DispatchParent, options: TaskDispatcherOptions = {}): TaskDispatcher {
  return openDispatcher(parentTask, { ...options, childExtension: (task) => createTokenBudgetExtension({ task }) });
}
