// A dispatcher with its runners.
import type { TaskMembership } from "../task/context.ts";
import { TaskDispatcher } from "./dispatcher.ts";
import type { DispatchParent, RouteDoor } from "./parent.ts";
import type { Quota } from "./quota.ts";
import { cliRunner } from "./run/cli-runner.ts";
import type { RunLimits } from "./run/limits.ts";
import type { Runner } from "./run/runner.ts";
import { sessionRunner } from "./run/session-runner.ts";
import { DEFAULT_TASK_SETTINGS, type TaskSettings } from "./settings.ts";

/** What a launcher may say of its dispatcher; each field may be left out. */
export interface TaskDispatcherOptions {
  /** Over the person's settings, by the same names; left out, those hold. */
  readonly settings?: Partial<TaskSettings>;
  /** Asked before anything is stored, besides the setting `taskQuota`; left out, that alone counts. */
  readonly quota?: Quota;
  /** Chooses models in the place of the session's own router, which does it when left out. */
  readonly route?: RouteDoor;
  /** More runners, or others in the place of `session` and `cli`; by default there are these two. */
  readonly runners?: readonly Runner[];
  /** For child sessions: Pi's SDK, the module itself; left out, that of the Pi which runs the parent session. */
  readonly sdk?: unknown;
  /** For child sessions: more extensions, as factories or absolute paths; none when left out. */
  readonly extensions?: readonly unknown[];
  /** For child processes; nothing is added when left out. */
  readonly cli?: {
    /** More arguments, behind `--mode json -p` and its like; none when left out. */
    readonly args?: readonly string[];
    /** Variables over those of this process, which alone hold when left out. */
    readonly env?: Readonly<Record<string, string>>;
  };
  /**
   * Absolute path of the folder of this package, from which child processes load it; for programs that bundle it. Left
   * out, it is where this code lies.
   */
  readonly packageDirectory?: string;
  /** Absolute path; relative attachments are below it. Default: the working directory of the process. */
  readonly baseDirectory?: string;
  /** How long things may take, or some of it; each has a default. */
  readonly limits?: Partial<RunLimits>;
  /** Told, in one sentence, of what goes wrong beside a task; nobody is when left out. */
  readonly report?: (problem: string) => void;
}

export interface DispatcherOptions extends TaskDispatcherOptions {
  /** The extension that joins a child session to the root task. */
  readonly childExtension: (membership: TaskMembership) => unknown;
}

export function openDispatcher(parent: DispatchParent, options: DispatcherOptions): TaskDispatcher {
  const { childExtension, sdk, extensions, cli, route, quota, limits, report } = options;
  const settings = (): TaskSettings => ({ ...DEFAULT_TASK_SETTINGS, ...parent.settings?.(), ...options.settings });
  const own = [
    sessionRunner({
      childExtension,
      sdk: sdk === undefined ? parent.sdk : async () => sdk,
      models: parent.models,
      extensions,
    }),
    cliRunner({ command: () => settings().taskRunnerCommand, packageDirectory: options.packageDirectory, ...cli }),
  ];
  const given = options.runners ?? [];
  // In the place of ours, so that `session` stays the default.
  const replaced = own.map((runner) => given.find(({ name }) => name === runner.name) ?? runner);
  const runners = [...replaced, ...given.filter((runner) => !replaced.includes(runner))];
  return new TaskDispatcher({
    parent: route === undefined ? parent : withRoute(parent, route),
    runners,
    settings,
    quota,
    baseDirectory: options.baseDirectory ?? process.cwd(),
    limits,
    report,
  });
}

function withRoute(parent: DispatchParent, route: RouteDoor): DispatchParent {
  const { context, agentName, model, models, sdk, settings, flush } = parent;
  return {
    context,
    agentName,
    get ended() {
      return parent.ended;
    },
    category: () => parent.category(),
    agents: () => parent.agents(),
    childExtension: () => parent.childExtension(),
    route,
    model,
    models,
    sdk,
    settings,
    flush,
  };
}
