// Dispatchers for tests: real root tasks on disk, real files, and runners that are real processes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { TaskDispatcher } from "../../src/dispatch/dispatcher.ts";
import type { DispatchParent } from "../../src/dispatch/parent.ts";
import type { DispatcherParts } from "../../src/dispatch/parts.ts";
import { type CliRunnerOptions, cliRunner } from "../../src/dispatch/run/cli-runner.ts";
import type { Runner, RunRequest } from "../../src/dispatch/runner.ts";
import { DEFAULT_TASK_SETTINGS, type TaskSettings } from "../../src/dispatch/settings.ts";
import { taskLayout } from "../../src/task/layout.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { newPlace, type Place } from "../task/tasks.ts";

export function parentOf(task: SessionTask, more: Partial<DispatchParent> = {}): DispatchParent {
  return {
    context: task.context,
    agentName: task.agent,
    category: () => task.category(),
    agents: () => task.agents().map(({ address, category }) => ({ agentName: address, category })),
    childExtension: async () => {
      await task.join();
      return "";
    },
    ...more,
  };
}

/** A runner in this process: what it does is a function. */
export function runnerOf(run: (request: RunRequest) => Promise<void> | void, name = "session"): Runner {
  return { name, choosesModels: false, run: async (request) => run(request) };
}

/** Answers and is done. */
export const answering = (text: string) => runnerOf(({ onEvent }) => onEvent({ type: "answer", text }));

export interface Bench {
  readonly place: Place;
  readonly task: SessionTask;
  readonly parent: DispatchParent;
  readonly dispatcher: TaskDispatcher;
  readonly problems: readonly string[];
  /** Absolute path of the records. */
  readonly records: string;
  readonly work: string;
  /** Writes a file to attach; answers its path. */
  file(name: string, content: string | Buffer): string;
}

export interface BenchOptions extends Partial<Omit<DispatcherParts, "settings" | "parent">> {
  readonly settings?: Partial<TaskSettings>;
  readonly parent?: Partial<DispatchParent>;
  readonly place?: Place;
}

export function bench(runners: readonly Runner[], options: BenchOptions = {}): Bench {
  const place = options.place ?? newPlace();
  const { task } = place.open(place.session("root"));
  const parent = parentOf(task, options.parent);
  const problems: string[] = [];
  const { settings, ...rest } = options;
  const dispatcher = new TaskDispatcher({
    ...rest,
    parent,
    runners,
    settings: () => ({ ...DEFAULT_TASK_SETTINGS, ...settings }),
    baseDirectory: place.base,
    limits: { saveEveryMs: 20, stopLimitMs: 2_000, ...options.limits },
    report: (problem) => problems.push(problem),
  });
  onTestFinished(() => dispatcher.close());
  const { records, work } = taskLayout(task.context.storageRoot, task.context);
  return {
    place,
    task,
    parent,
    dispatcher,
    problems,
    records,
    work,
    file: (name, content) => {
      const path = join(place.base, name);
      writeFileSync(path, content);
      return path;
    },
  };
}

/** The CLI runner with a Node script in the place of Pi. */
export function scriptRunner(source: string, options: CliRunnerOptions = {}): Runner {
  const script = `const line = (event) => process.stdout.write(JSON.stringify(event) + "\\n");\n${source}`;
  return cliRunner({ command: () => [process.execPath, "-e", script, "--"], terminateLimitMs: 500, ...options });
}
