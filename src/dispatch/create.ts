// A dispatcher with its runners.
import type { TaskMembership } from "../task/context.ts";
import { cliRunner } from "./cli-runner.ts";
import { TaskDispatcher } from "./dispatcher.ts";
import type { RunLimits } from "./limits.ts";
import type { DispatchParent, RouteDoor } from "./parent.ts";
import type { Quota } from "./quota.ts";
import type { Runner } from "./runner.ts";
import { sessionRunner } from "./session-runner.ts";
import { DEFAULT_TASK_SETTINGS, type TaskSettings } from "./settings.ts";

/** What a launcher may say of its dispatcher. */
export interface TaskDispatcherOptions {
  /** Over the person's settings. */
  readonly settings?: Partial<TaskSettings>;
  /** Asked before anything is stored, besides the setting `taskQuota`. */
  readonly quota?: Quota;
  /** The one door to models; without it, content of a category is not dispatched. */
  readonly route?: RouteDoor;
  /** More runners, or others in the place of `session` and `cli`. */
  readonly runners?: readonly Runner[];
  /** For child sessions: the host's SDK, when it cannot be found. */
  readonly sdk?: unknown;
  /** For child sessions: more extensions, as factories or paths. */
  readonly extensions?: readonly unknown[];
  /** For child processes: more arguments, and variables over those of this process. */
  readonly cli?: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> };
  /** Absolute path of the folder of this package, from which child processes load it; for programs that bundle it. */
  readonly packageDirectory?: string;
  /** Relative attachments are below it; default: the working directory of the process. */
  readonly baseDirectory?: string;
  readonly limits?: Partial<RunLimits>;
  /** Told of what goes wrong beside a task. */
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
