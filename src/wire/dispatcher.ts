// The dispatcher as launchers make it: its children load this package's own extension.
import { openDispatcher, type TaskDispatcherOptions } from "../dispatch/create.ts";
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { DispatchParent } from "../dispatch/parent.ts";
import type { ChildExtension } from "../dispatch/run/session-runner.ts";
import type { TaskSettings } from "../dispatch/settings.ts";
import { TokenBudgetError } from "../errors.ts";
import { createTokenBudgetExtension } from "../extension.ts";
import {
  ANYTHING,
  assertObject,
  type CheckedObject,
  COUNT,
  FILLED_TEXT,
  type FieldRule,
  type Fields,
  FUNCTION,
  fieldOf,
  LIST,
  OBJECT,
  optional,
  TEXTS,
  YES_NO,
} from "../options.ts";

const PARENT: CheckedObject = {
  of: "createTaskDispatcher",
  what: "what getTokenBudgetTask answers",
  // The session knows more than a dispatcher needs.
  open: true,
  fields: {
    context: OBJECT,
    agentName: FILLED_TEXT,
    ended: optional(YES_NO),
    category: FUNCTION,
    agents: FUNCTION,
    childExtension: FUNCTION,
    route: optional(FUNCTION),
    model: optional(FUNCTION),
    models: optional(FUNCTION),
    sdk: optional(FUNCTION),
    settings: optional(FUNCTION),
    flush: optional(FUNCTION),
  },
};

const OPTIONS: CheckedObject = {
  of: PARENT.of,
  what: "the options",
  fields: {
    settings: optional(OBJECT),
    quota: optional(FUNCTION),
    route: optional(FUNCTION),
    runners: optional(LIST),
    sdk: optional(ANYTHING),
    extensions: optional(LIST),
    cli: optional(OBJECT),
    packageDirectory: optional(FILLED_TEXT),
    baseDirectory: optional(FILLED_TEXT),
    limits: optional(OBJECT),
    report: optional(FUNCTION),
  },
};

const COUNT_OR_LEFT_OUT = optional(COUNT);
const SETTINGS: Readonly<Record<keyof TaskSettings, FieldRule>> = {
  maxConcurrentTasks: COUNT_OR_LEFT_OUT,
  taskHistoryChars: COUNT_OR_LEFT_OUT,
  taskHistoryTurnChars: COUNT_OR_LEFT_OUT,
  taskExtractChars: COUNT_OR_LEFT_OUT,
  taskQuota: optional(fieldOf("{ tokens?, amount? } or null", (value) => value === null || OBJECT.fits(value))),
  taskRunnerCommand: optional(TEXTS),
  taskSandbox: optional(TEXTS),
};

function assertOptions(options: TaskDispatcherOptions): void {
  const part = (what: string, fields: Fields) => ({ of: PARENT.of, what, fields });
  assertObject(options, OPTIONS);
  const { settings, runners = [], cli, limits } = options;
  if (settings !== undefined) assertObject(settings, part("settings", SETTINGS));
  if (settings?.taskQuota) {
    const amount = optional(fieldOf("a number of at least 0", (value) => Number.isFinite(value) && Number(value) >= 0));
    assertObject(settings.taskQuota, part("settings.taskQuota", { tokens: amount, amount }));
  }
  for (const [at, runner] of runners.entries())
    assertObject(runner, part(`runners[${at}]`, { name: FILLED_TEXT, choosesModels: YES_NO, run: FUNCTION }));
  if (cli !== undefined) assertObject(cli, part("cli", { args: optional(TEXTS), env: optional(OBJECT) }));
  const limit = COUNT_OR_LEFT_OUT;
  if (limits !== undefined)
    assertObject(limits, part("limits", { stopLimitMs: limit, silenceLimitMs: limit, saveEveryMs: limit }));
}

function noParent(): TokenBudgetError {
  return new TokenBudgetError(
    "invalid_argument",
    `${PARENT.of}: there is no parent task. getTokenBudgetTask answers undefined before session_start has reached this package, after the session has ended, and where this package is not loaded.`,
  );
}

/**
 * Opens tasks for child agents of a session, whose place `getTokenBudgetTask` answers. Close it when the session ends:
 * what runs then is interrupted, and can be run again. Tasks that a dead process left as running become
 * `failed: interrupted` now.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`: the parent task or an option is not what it
 * must be; the reason of `parentTask.problem` where the session is not in the task that it was given.
 */
export function createTaskDispatcher(parentTask: DispatchParent, options: TaskDispatcherOptions = {}): TaskDispatcher {
  if (parentTask === undefined) throw noParent();
  assertObject(parentTask, PARENT);
  assertOptions(options);
  const { packageDirectory } = options;
  const common = packageDirectory === undefined ? {} : { packageDirectory };
  const childExtension: ChildExtension = (task, onProblem) =>
    createTokenBudgetExtension({ ...common, task, ...(onProblem === undefined ? {} : { onProblem }) });
  return openDispatcher(parentTask, { ...options, childExtension });
}
