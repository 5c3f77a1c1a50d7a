// Dispatched tasks of a session: the dispatcher behind /task and /tasks, made when it is first needed, and what the records
// of dead processes become.
import { resolve } from "node:path";
import { modelName } from "../category/labels.ts";
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { ItemSource } from "../history/source.ts";
import { inHome } from "../host/agent-dir.ts";
import type { HostContext } from "../host/api.ts";
import { endsWithRun, hasScreen, printResult } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { realModels } from "../host/models.ts";
import { JournalReader } from "../journal/reader.ts";
import { kindAt } from "../storage/blobs.ts";
import { taskLayout } from "../task/layout.ts";
import { todosOfHistory } from "../todo/of-history.ts";
import { showAnswer } from "../ui/answer.ts";
import { isConfirmed } from "../ui/ask.ts";
import { taskCommand } from "../ui/task-commands.ts";
import { tasksCommand } from "../ui/tasks-command.ts";
import { launcherTask } from "./root-task.ts";
import type { Sessions, Wiring } from "./sessions.ts";

export function taskSteps(host: Host, sessions: Sessions, wiring: Wiring) {
  let current: Promise<TaskDispatcher> | undefined;
  const dispatcher = (ctx: HostContext): Promise<TaskDispatcher> => {
    if (current === undefined) {
      const opening = open(host, sessions, ctx, wiring);
      current = opening;
      // One that could not be opened is opened anew the next time.
      opening.catch(() => {
        if (current === opening) current = undefined;
      });
    }
    return current;
  };
  const close = async () => {
    const last = current;
    current = undefined;
    await (await last?.catch(() => undefined))?.close();
  };
  const parts = {
    board: dispatcher,
    show: showAnswer,
    endsWithRun,
    print: printResult,
    inHome,
    absolute: (path: string, ctx: HostContext) => resolve(ctx.cwd, inHome(path)),
    values: () => ({
      "--category": [...sessions.running.categories.keys()],
      "--model": realModels(sessions.running.context()).map(modelName),
      "--runner": ["session", "cli"],
    }),
    openBoard: () => current,
    ask: async (ctx: HostContext, title: string, detail: string, yes: string) =>
      hasScreen(ctx) ? isConfirmed(ctx, { title, detail, no: "No, keep all", yes }) : undefined,
    todosOf: async (ctx: HostContext, agent: string) => todosOfHistory(await journalOf(sessions, ctx, agent)),
  };
  host.registerCommand("task", taskCommand(parts));
  host.registerCommand("tasks", tasksCommand(parts));
  return {
    /** Only a task that has records has any to bring to their end, and its root does that: it starts before its children. */
    endInterrupted: async (_event: object, ctx: HostContext) => {
      await close();
      const { context, parent, problem } = sessions.of(ctx).task;
      if (parent !== null || problem !== undefined) return;
      if (kindAt(taskLayout(context.storageRoot, context).records) !== "directory") return;
      await (await dispatcher(ctx)).list({ viewer: "person" });
    },
    close,
  };
}

/** The history of a task's agent, read for a person: no model is shown it. */
function journalOf(sessions: Sessions, ctx: HostContext, agent: string): Promise<ItemSource> {
  const { context } = sessions.of(ctx).task;
  const directory = taskLayout(context.storageRoot, context).history(agent);
  return new JournalReader({ directory, agent }).refresh();
}

async function open(host: Host, sessions: Sessions, ctx: HostContext, wiring: Wiring): Promise<TaskDispatcher> {
  const { openDispatcher } = await import("../dispatch/create.ts");
  const report = (problem: string) => host.notices.show(ctx, `pi-token-budget: ${problem}`, "warning");
  const { childExtension, packageDirectory } = wiring;
  const options = { childExtension, report, baseDirectory: ctx.cwd };
  const place = packageDirectory === undefined ? {} : { packageDirectory };
  return openDispatcher(launcherTask(sessions.of(ctx), wiring), { ...options, ...place });
}
