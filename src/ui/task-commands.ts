// /task and /tasks: a person dispatches a task and looks at those there are. What is shown here is sent to no model.
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { FileView, TaskView } from "../dispatch/task-view.ts";
import { FieldError, messageOf, shownValue } from "../errors.ts";
import { counted, grouped, localTime } from "../figures.ts";
import type { HostCommand, HostContext } from "../host/api.ts";
import { plainLine, shorten } from "../storage/text.ts";
import { agentName } from "../task/addresses.ts";
import type { TodoItem } from "../todo/list.ts";
import { CHOICES_MAX, type Choice, defineCommand, usageOf } from "./commands.ts";
import { type ParsedTask, parseTaskLine, TASK_OPTIONS } from "./task-line.ts";
import { safeText } from "./text.ts";
import { wholeList } from "./todo-lines.ts";

/** What the commands need of a dispatcher. */
export type TaskBoard = Pick<TaskDispatcher, "dispatch" | "list">;

export interface TaskCommandParts {
  readonly board: (ctx: HostContext) => Promise<TaskBoard>;
  readonly show: (ctx: HostContext, text: string) => void;
  /** The todo list of a task's agent, for a person's eyes; empty when there is none. */
  readonly todosOf: (ctx: HostContext, agent: string) => Promise<readonly TodoItem[]>;
  /** Whether the process may end with the command, so that a task is waited for. */
  readonly endsWithRun: (ctx: HostContext) => boolean;
  /** The categories of the settings. */
  readonly labels: () => readonly string[];
  /** A path as a shell takes it: `~/` is the person's home. */
  readonly inHome: (path: string) => string;
}

export interface TasksCommandParts extends Pick<TaskCommandParts, "board" | "show" | "todosOf"> {
  /** A board that is open already; what is being typed opens none. */
  readonly openBoard: () => Promise<TaskBoard> | undefined;
}

const TASKS_SHOWN_MAX = 20;
const STEPS_SHOWN_MAX = 20;
/** Of each kind; runs of one task keep theirs. */
const FILES_SHOWN_MAX = 20;
const USAGE_SHOWN_MAX = 20;
const RESULT_SHOWN_CHARS = 4_000;
const IDS_SHOWN_MAX = 5;

function startText({ id, progress, title }: TaskView): string {
  const text = `Task ${id} ${progress === "queued" ? "waits for its turn" : "has started"}: ${title}. /tasks ${id} shows it.`;
  return safeText(text);
}

/** The text before a partly typed label, and the label so far. */
const LABEL_BEGUN = /^(.*--category(?:=|\s+))(\S*)$/;

function taskCompletions(prefix: string, labels: readonly string[]): readonly Choice[] {
  const [, before = "", begun = ""] = LABEL_BEGUN.exec(prefix) ?? [];
  if (before !== "")
    return labels.filter((label) => label.startsWith(begun)).map((label) => ({ value: `${before}${label}` }));
  return prefix === "" ? [] : TASK_OPTIONS.filter((option) => option.startsWith(prefix)).map((value) => ({ value }));
}

const FOR_SUCH_WORDS = "Where the goal itself has such words, put -- in front of it: /task -- <goal>";

/** What is wrong with a task, by the words in which a person asks for it. */
function problemText(error: unknown): string {
  if (!(error instanceof FieldError)) return messageOf(error);
  const { field, value, problem } = error;
  const option = TASK_OPTIONS.find((name) => field.startsWith(name.slice(2)));
  return option === undefined ? error.message : safeText(`${option} ${value}: ${problem}`);
}

export function taskCommand({ board, show, endsWithRun, labels, inHome }: TaskCommandParts): HostCommand {
  const start = async ({ goal, category, attachments }: ParsedTask, ctx: HostContext): Promise<string> => {
    const asked = { goal, category, attachments: attachments.map(inHome) };
    const { task, result } = await (await board(ctx)).dispatch(asked);
    const ended = result.then(endText);
    // Without a screen the process would end with the command.
    if (endsWithRun(ctx)) {
      show(ctx, startText(task));
      return ended;
    }
    void ended.then((text) => show(ctx, text));
    return startText(task);
  };
  return defineCommand("task", {
    show,
    complete: (prefix) => taskCompletions(prefix, labels()),
    answer: (argument, ctx) => {
      const line = parseTaskLine(argument);
      if (line.type === "slip") return `${line.problem}\n${usageOf("task")}\n${FOR_SUCH_WORDS}`;
      if (line.goal.trim() === "" && line.attachments.length === 0) return undefined;
      return start(line, ctx).catch(problemText);
    },
  });
}

async function tasksOf(board: TaskBoard): Promise<readonly TaskView[]> {
  return (await board.list({ viewer: "person" })).filter((task) => "id" in task);
}

/** The ids that begin like this; the one that is meant is named whole, or has no other beside it. */
function taskNamed(tasks: readonly TaskView[], begun: string): TaskView | string {
  const found = tasks.filter(({ id }) => id.startsWith(begun));
  const task = found.find(({ id }) => id === begun) ?? (found.length === 1 ? found[0] : undefined);
  if (task) return task;
  if (found.length === 0) return `There is no task ${shownValue(begun)}. /tasks lists those there are.`;
  const ids = found.slice(0, IDS_SHOWN_MAX).map(({ id }) => id);
  const more = found.length > ids.length ? `, and ${grouped(found.length - ids.length)} more` : "";
  return `${grouped(found.length)} tasks begin with ${begun}: ${ids.join(", ")}${more}. Type more of the id.`;
}

export function tasksCommand({ board, show, todosOf, openBoard }: TasksCommandParts): HostCommand {
  const shown = async (begun: string, ctx: HostContext): Promise<string> => {
    const tasks = await tasksOf(await board(ctx));
    if (begun === "") return listText(tasks);
    const task = taskNamed(tasks, begun);
    return typeof task === "string" ? task : taskText(task, await todosOf(ctx, task.agent));
  };
  return defineCommand("tasks", {
    show,
    complete: async (prefix) => {
      const opened = await openBoard();
      const tasks = opened ? await tasksOf(opened) : [];
      return tasks
        .filter(({ id }) => id.startsWith(prefix))
        .slice(0, CHOICES_MAX)
        .map(({ id, title }) => ({ value: id, about: plainLine(title) }));
    },
    answer: (id, ctx) => shown(id, ctx).catch(messageOf),
  });
}

function endText(task: TaskView): string {
  const files = task.outputs.length === 0 ? "No file came of it" : `Files: ${names(task.outputs)}`;
  return safeText(`Task ${task.id} ${statusText(task)}: ${task.title}. ${files}. /tasks ${task.id} shows it.`);
}

function statusText({ status, error, progress }: TaskView): string {
  if (status === "processing") return progress === "" ? "is running" : `is running (${progress})`;
  if (status === "failed") return `failed (${error ?? "unknown reason"})`;
  return status === "cancelled" ? "was cancelled" : "is completed";
}

function names(files: readonly FileView[]): string {
  const shown = files.slice(0, FILES_SHOWN_MAX).map(({ filename, size }) => `${filename} (${counted(size, "byte")})`);
  const more = files.length > shown.length ? `, and ${grouped(files.length - shown.length)} more` : "";
  return `${shown.join(", ")}${more}`;
}

export function listText(tasks: readonly TaskView[]): string {
  if (tasks.length === 0) return `There are no tasks.\n${usageOf("task")}`;
  const lines = tasks
    .slice(0, TASKS_SHOWN_MAX)
    .map((task) => `${task.id}  ${localTime(task.created)}  ${task.title} ${statusText(task)}`);
  const more = tasks.length > lines.length ? [`and ${counted(tasks.length - lines.length, "older task")}`] : [];
  return safeText([...lines, ...more].join("\n"));
}

export function taskText(task: TaskView, todos: readonly TodoItem[] = []): string {
  const { id, agent, category, title, steps, result, model, files, outputs, intermediates, usage } = task;
  const hidden = steps.length - STEPS_SHOWN_MAX;
  const section = (heading: string, shown: readonly FileView[]) =>
    shown.length === 0 ? [] : [`${heading}: ${names(shown)}`];
  const lines = [
    `${title} (${id})`,
    `${agentName(agent)} ${statusText(task)}${category === null ? "" : `, category ${category}`}${model === null ? "" : `, ${model}`}`,
    ...(steps.length === 0
      ? []
      : [
          "Steps:",
          ...(hidden > 0 ? [`  (${grouped(hidden)} before)`] : []),
          ...steps.slice(-STEPS_SHOWN_MAX).map((step) => `  ${step}`),
        ]),
    ...(todos.length === 0 ? [] : [wholeList(todos, task.status === "processing" ? "running" : "past")]),
    ...section("Attached", files),
    ...(outputs.length === 0 && task.status !== "processing" ? ["Files: none came of it"] : section("Files", outputs)),
    ...section("Intermediate", intermediates),
    ...usage
      .slice(-USAGE_SHOWN_MAX)
      .map(
        (row) =>
          `Used: ${row.model}, ${counted(row.input, "token")} in, ${grouped(row.cached)} cached, ${grouped(row.output)} out${row.amount === null ? "" : `, cost ${row.amount}`}`,
      ),
    ...(result === null || result === "" ? [] : ["", shorten(result, RESULT_SHOWN_CHARS)]),
  ];
  return safeText(lines.join("\n"));
}
