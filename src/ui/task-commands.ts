// /task and /tasks: a person dispatches a task and looks at those there are. What is shown here is sent to no model.
import { messageOf } from "../errors.ts";
import type { HostCommand, HostContext } from "../host/api.ts";
import { shorten } from "../storage/text.ts";
import type { TodoItem } from "../todo/list.ts";
import { defineCommand, usageOf } from "./commands.ts";
import { safeText } from "./text.ts";
import { wholeList } from "./todo-lines.ts";

/** What the commands need of a dispatcher. */
export interface TaskBoard {
  dispatch(request: {
    readonly goal: string;
    readonly category: string | null;
    readonly attachments: readonly string[];
  }): Promise<{ readonly task: ShownTask; readonly result: Promise<ShownTask> }>;
  list(options: { readonly viewer: "person" }): Promise<readonly (ShownTask | { readonly restricted: true })[]>;
  get(id: string, options: { readonly viewer: "person" }): Promise<ShownTask>;
}

interface ShownFile {
  readonly filename: string;
  readonly size: number;
}

export interface ShownTask {
  readonly id: string;
  readonly agent: string;
  readonly category: string | null;
  readonly title: string;
  readonly status: string;
  readonly progress: string;
  readonly steps: readonly string[];
  readonly result: string | null;
  readonly error: string | null;
  readonly model: string | null;
  readonly created: string;
  readonly files: readonly ShownFile[];
  readonly outputs: readonly ShownFile[];
  readonly intermediates: readonly ShownFile[];
  readonly usage: readonly { model: string; input: number; output: number; cached: number; amount: number | null }[];
}

export interface TaskCommandParts {
  readonly board: (ctx: HostContext) => Promise<TaskBoard>;
  readonly show: (ctx: HostContext, text: string) => void;
  /** The todo list of a task's agent, for a person's eyes; empty when there is none. */
  readonly todosOf: (ctx: HostContext, agent: string) => Promise<readonly TodoItem[]>;
  /** Whether the process may end with the command, so that a task is waited for. */
  readonly endsWithRun: (ctx: HostContext) => boolean;
}

const TASKS_SHOWN_MAX = 20;
const STEPS_SHOWN_MAX = 20;
/** Of each kind; runs of one task keep theirs. */
const FILES_SHOWN_MAX = 20;
const USAGE_SHOWN_MAX = 20;
const RESULT_SHOWN_CHARS = 4_000;

interface ParsedTask {
  readonly goal: string;
  readonly category: string | null;
  readonly attachments: readonly string[];
}

/** Options first, then the goal as it was typed; undefined when an option has no value. */
export function parseTaskCommand(args: string): ParsedTask | undefined {
  const attachments: string[] = [];
  let category: string | null = null;
  let rest = args.trimStart();
  for (;;) {
    const option = /^--(category|attach)(?:=|\s+)(?:"([^"]*)"|(\S+))\s*/.exec(rest);
    if (!option) break;
    const value = option[2] ?? option[3] ?? "";
    if (option[1] === "attach") attachments.push(value);
    else category = value;
    rest = rest.slice(option[0].length);
  }
  if (/^--(category|attach)\b/.test(rest)) return undefined;
  return { goal: rest, category, attachments };
}

function startText({ id, progress, title }: ShownTask): string {
  const text = `Task ${id} ${progress === "queued" ? "waits for its turn" : "has started"}: ${title}. /tasks ${id} shows it.`;
  return safeText(text);
}

const OPTIONS = ["--attach", "--category"] as const;

export function taskCommand({ board, show, endsWithRun }: TaskCommandParts): HostCommand {
  const start = async (asked: ParsedTask, ctx: HostContext): Promise<string> => {
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
    complete: (prefix) => OPTIONS.filter((option) => prefix !== "" && option.startsWith(prefix)),
    answer: (argument, ctx) => {
      const asked = parseTaskCommand(argument);
      if (asked === undefined || (asked.goal.trim() === "" && asked.attachments.length === 0)) return undefined;
      return start(asked, ctx).catch(messageOf);
    },
  });
}

export function tasksCommand({ board, show, todosOf }: Omit<TaskCommandParts, "endsWithRun">): HostCommand {
  const shown = async (id: string, ctx: HostContext): Promise<string> => {
    const tasks = await board(ctx);
    if (id === "") return listText((await tasks.list({ viewer: "person" })).filter((task) => "id" in task));
    const task = await tasks.get(id, { viewer: "person" });
    return taskText(task, await todosOf(ctx, task.agent));
  };
  return defineCommand("tasks", { show, answer: (id, ctx) => shown(id, ctx).catch(messageOf) });
}

function endText(task: ShownTask): string {
  const files = task.outputs.length === 0 ? "" : ` Files: ${names(task.outputs)}.`;
  return safeText(`Task ${task.id} ${statusText(task)}: ${task.title}.${files} /tasks ${task.id} shows it.`);
}

function statusText({ status, error, progress }: ShownTask): string {
  if (status === "processing") return progress === "" ? "is running" : `is running (${progress})`;
  if (status === "failed") return `failed (${error ?? "unknown reason"})`;
  return status === "cancelled" ? "was cancelled" : "is completed";
}

function names(files: readonly ShownFile[]): string {
  const shown = files.slice(0, FILES_SHOWN_MAX).map(({ filename, size }) => `${filename} (${size} bytes)`);
  const more = files.length > shown.length ? `, and ${files.length - shown.length} more` : "";
  return `${shown.join(", ")}${more}`;
}

export function listText(tasks: readonly ShownTask[]): string {
  if (tasks.length === 0) return `There are no tasks. ${usageOf("task")}`;
  const lines = tasks
    .slice(0, TASKS_SHOWN_MAX)
    .map((task) => `${task.id}  ${task.created.slice(0, 16).replace("T", " ")}  ${task.title} ${statusText(task)}`);
  const more = tasks.length > lines.length ? [`and ${tasks.length - lines.length} older tasks`] : [];
  return safeText([...lines, ...more].join("\n"));
}

export function taskText(task: ShownTask, todos: readonly TodoItem[] = []): string {
  const { id, agent, category, title, steps, result, model, files, outputs, intermediates, usage } = task;
  const hidden = steps.length - STEPS_SHOWN_MAX;
  const section = (heading: string, shown: readonly ShownFile[]) =>
    shown.length === 0 ? [] : [`${heading}: ${names(shown)}`];
  const lines = [
    `${title} (${id})`,
    `${agent} ${statusText(task)}${category === null ? "" : `, category ${category}`}${model === null ? "" : `, ${model}`}`,
    ...(steps.length === 0
      ? []
      : [
          "Steps:",
          ...(hidden > 0 ? [`  (${hidden} before)`] : []),
          ...steps.slice(-STEPS_SHOWN_MAX).map((step) => `  ${step}`),
        ]),
    ...(todos.length === 0 ? [] : [wholeList(todos, task.status === "processing" ? "running" : "past")]),
    ...section("Attached", files),
    ...section("Files", outputs),
    ...section("Intermediate", intermediates),
    ...usage
      .slice(-USAGE_SHOWN_MAX)
      .map(
        (row) =>
          `Used: ${row.model}, ${row.input} tokens in, ${row.cached} cached, ${row.output} out${row.amount === null ? "" : `, cost ${row.amount}`}`,
      ),
    ...(result === null || result === "" ? [] : ["", shorten(result, RESULT_SHOWN_CHARS)]),
  ];
  return safeText(lines.join("\n"));
}
