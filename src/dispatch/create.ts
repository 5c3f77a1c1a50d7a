// A dispatcher with its runners.

import { TokenBudgetError } from "../errors.ts";
import { TaskDispatcher } from "./dispatcher.ts";
import type { DispatchParent, RouteDoor } from "./parent.ts";
import type { DispatcherParts } from "./parts.ts";
import type { Quota } from "./quota.ts";
import { cliRunner } from "./run/cli-runner.ts";
import { type ChildExtension, sessionRunner } from "./run/session-runner.ts";
import type { Runner } from "./runner.ts";
import { sandboxOf } from "./sandbox/choice.ts";
import { DEFAULT_TASK_SETTINGS, type RunLimits, type TaskSettings } from "./settings.ts";

/** Options of a dispatcher; each may be left out. */
export interface TaskDispatcherOptions {
  /** Override the person's settings, by the same names; those apply when left out. */
  readonly settings?: Partial<TaskSettings>;
  /** Asked before anything is stored, in addition to the setting `taskQuota`, which alone counts when left out. */
  readonly quota?: Quota;
  /** Replaces the session's own model router, which is used when left out. */
  readonly route?: RouteDoor;
  /** More runners, or replacements of `session` and `cli`; by default there are these two. */
  readonly runners?: readonly Runner[];
  /** For child sessions: Pi's SDK, the module itself; left out, that of the Pi which runs the parent session. */
  readonly sdk?: unknown;
  /** For child sessions: more extensions, as factories or absolute paths; none when left out. */
  readonly extensions?: readonly unknown[];
  /** For child processes; nothing is added when left out. */
  readonly cli?: {
    /** More arguments, after our own (`--mode json -p` …); none when left out. */
    readonly args?: readonly string[];
    /** Variables that override those of this process; none when left out. */
    readonly env?: Readonly<Record<string, string>>;
  };
  /**
   * Absolute path of the folder of this package, from which child processes load it; for programs that bundle it. Left
   * out, it is where this code lies.
   */
  readonly packageDirectory?: string;
  /** Absolute path; relative attachments are below it. Default: the working directory of the process. */
  readonly baseDirectory?: string;
  /** Time limits, or some of them; each has a default. */
  readonly limits?: Partial<RunLimits>;
  /** Called with problems that belong to no task's record, one sentence each; they are dropped when left out. */
  readonly report?: (problem: string) => void;
}

export interface DispatcherOptions extends TaskDispatcherOptions {
  readonly childExtension: ChildExtension;
  /** See `DispatcherParts`. */
  readonly interrupted?: DispatcherParts["interrupted"];
}

/** What runs in this process cannot be confined: with a sandbox nothing does, so that nothing escapes it by a slip. */
function outOfSandbox(runner: Runner): Runner {
  const sandbox = async () => {
    throw new TokenBudgetError(
      "refused",
      `The runner ${runner.name} works in this process, and the setting taskSandbox confines tasks. Nothing was stored. Leave runner out for the runner cli, or leave taskSandbox out of settings.json.`,
    );
  };
  return { ...runner, sandbox };
}

export function openDispatcher(parent: DispatchParent, options: DispatcherOptions): TaskDispatcher {
  const { childExtension, sdk, extensions, cli, route, quota, limits, report, interrupted } = options;
  const settings = (): TaskSettings => ({ ...DEFAULT_TASK_SETTINGS, ...parent.settings?.(), ...options.settings });
  // What confines tasks stays as it is while the dispatcher is open: a run must not be in another one than its record says.
  const { taskSandbox } = settings();
  const session = sessionRunner({
    childExtension,
    sdk: sdk === undefined ? parent.sdk : async () => sdk,
    models: parent.models,
    extensions,
  });
  const separate = cliRunner({
    command: () => settings().taskRunnerCommand,
    sandbox: () => sandboxOf(taskSandbox),
    packageDirectory: options.packageDirectory,
    ...cli,
  });
  const own = taskSandbox.length === 0 ? [session, separate] : [separate, outOfSandbox(session)];
  const given = options.runners ?? [];
  // Replacements keep their places, so that the default stays.
  const replaced = own.map((runner) => given.find(({ name }) => name === runner.name) ?? runner);
  const runners = [...replaced, ...given.filter((runner) => !replaced.includes(runner))];
  return new TaskDispatcher({
    parent,
    route,
    runners,
    settings,
    quota,
    baseDirectory: options.baseDirectory ?? process.cwd(),
    limits,
    report,
    interrupted,
  });
}
