// Dispatched tasks of a session: the dispatcher behind /task, /tasks and the model's tool, made when it is first needed, what
// is told of tasks that run and end, and what becomes of them when the session is left.
import { resolve } from "node:path";
import { modelName } from "../category/labels.ts";
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { LiveTask, TaskHandle, TaskView } from "../dispatch/task-view.ts";
import { counted } from "../figures.ts";
import type { ItemSource } from "../history/source.ts";
import { inHome } from "../host/agent-dir.ts";
import type { HostContext } from "../host/api.ts";
import { endsWithRun, hasScreen, lastWord, printResult } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { realModels } from "../host/models.ts";
import { keepSessionFile } from "../host/session-file.ts";
import { JournalReader } from "../journal/reader.ts";
import { kindAt } from "../storage/blobs.ts";
import { interruptsAsTerm } from "../storage/signals.ts";
import { plainLine } from "../storage/text.ts";
import { taskLayout } from "../task/layout.ts";
import { todosOfHistory } from "../todo/of-history.ts";
import { answerColumns, answersOn } from "../ui/answer.ts";
import { isConfirmed } from "../ui/ask.ts";
import { taskCommand } from "../ui/task-commands.ts";
import { endText } from "../ui/task-text.ts";
import { tasksCommand } from "../ui/tasks-command.ts";
import { launcherTask } from "./root-task.ts";
import type { Sessions, Wiring } from "./sessions.ts";
import { taskTool } from "./task-tool.ts";
import { TaskWatch } from "./task-watch.ts";

interface Shutdown {
  readonly reason?: string;
}

/** The dispatcher of the session that is open: one that could not be opened is opened anew the next time. */
class SessionDispatcher {
  readonly #open: (ctx: HostContext) => Promise<TaskDispatcher>;
  #current: Promise<TaskDispatcher> | undefined;
  #opened: TaskDispatcher | undefined;
  #endSignals = () => {};

  constructor(open: (ctx: HostContext) => Promise<TaskDispatcher>) {
    this.#open = open;
  }

  of(ctx: HostContext): Promise<TaskDispatcher> {
    if (this.#current !== undefined) return this.#current;
    const opening = this.#open(ctx);
    this.#endSignals();
    this.#endSignals = interruptsAsTerm(() => this.active().length > 0);
    this.#current = opening;
    opening.then(
      (opened) => {
        if (this.#current === opening) this.#opened = opened;
      },
      () => {
        if (this.#current === opening) this.#current = undefined;
      },
    );
    return opening;
  }

  get current(): Promise<TaskDispatcher> | undefined {
    return this.#current;
  }

  active(): readonly LiveTask[] {
    return this.#opened?.active() ?? [];
  }

  async close(): Promise<void> {
    const last = this.#current;
    this.#current = undefined;
    this.#opened = undefined;
    this.#endSignals();
    await (await last?.catch(() => undefined))?.close();
  }
}

export function taskSteps(host: Host, sessions: Sessions, wiring: Wiring, hasTool: boolean) {
  const dispatcher = new SessionDispatcher((ctx) =>
    open(host, sessions, ctx, {
      wiring,
      interrupted: (tasks) => {
        host.notices.show(ctx, tasks.map(endText).join("\n"), "warning");
        const { agent } = sessions.of(ctx).task;
        for (const task of tasks) if (task.parent === agent) watch.tell(task);
      },
    }),
  );
  const watch = new TaskWatch(
    () => dispatcher.active(),
    () => sessions.running.context(),
  );
  const started = (handle: TaskHandle) => watch.follow(handle);
  const parts = {
    board: (ctx: HostContext) => dispatcher.of(ctx),
    ...answersOn(host.answers),
    columns: answerColumns,
    endsWithRun,
    print: printResult,
    started,
    inHome,
    absolute: (path: string, ctx: HostContext) => resolve(ctx.cwd, inHome(path)),
    values: () => ({
      "--category": [...sessions.running.categories.keys()],
      "--model": realModels(sessions.running.context()).map(modelName),
      "--runner": ["session", "cli"],
    }),
    openBoard: () => dispatcher.current,
    ask: async (ctx: HostContext, title: string, detail: string, yes: string) =>
      hasScreen(ctx) ? isConfirmed(ctx, { title, detail, no: "No, keep all", yes }) : undefined,
    todosOf: async (ctx: HostContext, agent: string) => todosOfHistory(await journalOf(sessions, ctx, agent)),
  };
  host.registerCommand("task", taskCommand(parts));
  host.registerCommand("tasks", tasksCommand(parts));
  if (hasTool) {
    const tool = taskTool({
      dispatcher: () => dispatcher.of(sessions.running.context()),
      started,
      endsWithRun: () => endsWithRun(sessions.running.context()),
    });
    host.registerTool(
      {
        ...tool,
        execute: async (id, params, signal) => {
          const { content, details } = await tool.execute(id, params, signal);
          return { content, details: { ...details } };
        },
      },
      (ctx) => void sessions.of(ctx),
    );
  }
  /** Of a root; undefined for a child, whose tasks are its root's. */
  let records: string | undefined;
  const hasRecords = () => records !== undefined && kindAt(records) === "directory";
  /** Whether the session may be left: what runs in it is stopped then. */
  const leave = async (_event: object, ctx: HostContext) => {
    const running = dispatcher.active();
    if (running.length === 0 || !hasScreen(ctx)) return undefined;
    const title = `${counted(running.length, "task")} of this session still run${running.length === 1 ? "s" : ""}. Stop and leave?`;
    const named = running.slice(0, NAMED_MAX).map(({ title: goal }) => `  ${plainLine(goal)}`);
    const more =
      running.length > named.length
        ? [`  and ${counted(running.length - named.length, "more task", "more tasks")}`]
        : [];
    const detail = [...named, ...more, HOW_STOPPED].join("\n");
    const goes = await isConfirmed(ctx, { title, detail, no: "No, stay here", yes: "Yes, leave" });
    return goes ? undefined : ({ cancel: true } as const);
  };
  return {
    active: () => dispatcher.active(),
    /** Only a task that has records has any to bring to their end, and its root does that: it starts before its children. */
    endInterrupted: async (_event: object, ctx: HostContext) => {
      watch.clear(ctx);
      await dispatcher.close();
      const { context, parent, problem } = sessions.of(ctx).task;
      records = parent !== null || problem !== undefined ? undefined : taskLayout(context.storageRoot, context).records;
      if (!hasRecords()) return;
      await (await dispatcher.of(ctx)).ids();
    },
    leave,
    /** What has ended since is told with the prompt, as data. */
    tellEnds: async (_event: object, ctx: HostContext) => {
      if (!watch.hasUntold) return undefined;
      const message = await watch.message(await dispatcher.of(ctx), hasTool);
      return message && { message };
    },
    close: async ({ reason }: Shutdown, ctx: HostContext) => {
      const running = dispatcher.active();
      watch.clear(ctx);
      await dispatcher.close();
      if (running.length > 0 && reason !== "reload")
        lastWord(
          ctx,
          `pi-token-budget: stopped ${running.map(({ id, title }) => `task ${id} (${plainLine(title)})`).join(", ")}. ${HOW_STOPPED}`,
        );
      if (reason !== "reload" && hasRecords()) keepSessionFile(ctx);
    },
  };
}

/** Tasks that a question names. */
const NAMED_MAX = 4;
const HOW_STOPPED = "What was written so far is kept; /tasks rerun <id> in this session runs a task again.";

/** The history of a task's agent, read for a person: no model is shown it. */
function journalOf(sessions: Sessions, ctx: HostContext, agent: string): Promise<ItemSource> {
  const { context } = sessions.of(ctx).task;
  const directory = taskLayout(context.storageRoot, context).history(agent);
  return new JournalReader({ directory, agent }).refresh();
}

interface OpenParts {
  readonly wiring: Wiring;
  readonly interrupted: (tasks: readonly TaskView[]) => void;
}

async function open(
  host: Host,
  sessions: Sessions,
  ctx: HostContext,
  { wiring, interrupted }: OpenParts,
): Promise<TaskDispatcher> {
  const { openDispatcher } = await import("../dispatch/create.ts");
  const report = (problem: string) => host.notices.show(ctx, `pi-token-budget: ${problem}`, "warning");
  const { childExtension, packageDirectory } = wiring;
  const options = { childExtension, report, interrupted, baseDirectory: ctx.cwd };
  const place = packageDirectory === undefined ? {} : { packageDirectory };
  return openDispatcher(launcherTask(sessions.of(ctx), wiring), { ...options, ...place });
}
