// Tasks as a person reads them: one whole, the list, how one ended. Pure.
import { productsHeading } from "../dispatch/products.ts";
import type { FileView, LiveTask, TaskView } from "../dispatch/task-view.ts";
import { counted, grouped } from "../figures.ts";
import { shorten } from "../storage/text.ts";
import { agentName } from "../task/addresses.ts";
import type { TodoItem } from "../todo/list.ts";
import { usageOf } from "./commands.ts";
import { type RowsOptions, taskRows } from "./task-rows.ts";
import { safeText } from "./text.ts";
import { wholeList } from "./todo-lines.ts";

export const TASKS_SHOWN_MAX = 20;
const STEPS_SHOWN_MAX = 20;
/** Of each kind; runs of one task keep theirs. */
const FILES_SHOWN_MAX = 20;
const USAGE_SHOWN_MAX = 20;
const RESULT_SHOWN_CHARS = 4_000;

export function startText({ id, progress, title }: TaskView): string {
  const begun = progress === "queued" ? "waits for its turn" : "has started";
  return safeText(`Task ${id} ${begun}: ${sentence(title)}\n  /tasks ${id} shows it.`);
}

export function endText(task: TaskView): string {
  const { id, outputs } = task;
  const files =
    outputs.length === 0
      ? ["No file came of it."]
      : [
          `${productsHeading(task)}: ${names(outputs)}`,
          `/tasks ${id} save puts ${outputs.length === 1 ? "it" : "them"} here.`,
        ];
  const head = `Task ${id} ${statusText(task)}: ${sentence(task.title)}`;
  return safeText([head, ...files, `/tasks ${id} shows it.`].join("\n  "));
}

/** A goal may end as a sentence does. */
function sentence(title: string): string {
  return /[.!?…。！？]$/.test(title) ? title : `${title}.`;
}

export function statusText({ status, error, progress }: TaskView): string {
  if (status === "processing") return progress === "" ? "is running" : `is running (${progress})`;
  if (status === "failed") return `failed (${error ?? "unknown reason"})`;
  return status === "cancelled" ? "was cancelled" : "is completed";
}

function names(files: readonly FileView[]): string {
  const shown = files
    .slice(0, FILES_SHOWN_MAX)
    .map(({ path, size, partial }) => `${path} (${counted(size, "byte")}${partial ? ", partial" : ""})`);
  const more = files.length > shown.length ? `, and ${grouped(files.length - shown.length)} more` : "";
  return `${shown.join(", ")}${more}`;
}

export function listText(tasks: readonly TaskView[], options: RowsOptions): string {
  if (tasks.length === 0) return `There are no tasks.\n${usageOf("task")}`;
  const rows = taskRows(tasks.slice(0, TASKS_SHOWN_MAX), options);
  const left = options.ids.length - Math.min(tasks.length, TASKS_SHOWN_MAX);
  const more = left > 0 ? [`and ${counted(left, "older task")}`] : [];
  return safeText([...rows, ...more].join("\n"));
}

export interface TaskNow {
  readonly todos?: readonly TodoItem[];
  /** Where it runs in this process: what it has used is on its record when it has ended. */
  readonly live?: LiveTask | undefined;
}

export function taskText(task: TaskView, { todos = [], live }: TaskNow = {}): string {
  const { id, agent, category, title, steps, result, model, sandbox, files, outputs, intermediates, usage } = task;
  const hidden = steps.length - STEPS_SHOWN_MAX;
  const section = (heading: string, shown: readonly FileView[]) =>
    shown.length === 0 ? [] : [`${heading}: ${names(shown)}`];
  const lines = [
    `${title} (${id})`,
    `${agentName(agent)} ${statusText(task)}${category === null ? "" : `, category ${category}`}${model === null ? "" : `, ${model}`}, ${sandbox === null ? "not confined" : `confined by ${sandbox}`}`,
    ...(steps.length === 0
      ? []
      : [
          "Steps:",
          ...(hidden > 0 ? [`  (${grouped(hidden)} before)`] : []),
          ...steps.slice(-STEPS_SHOWN_MAX).map((step) => `  ${step}`),
        ]),
    ...(todos.length === 0 ? [] : [wholeList(todos, task.status === "processing" ? "running" : "past")]),
    ...section("Attached", files),
    ...(outputs.length === 0 && task.status !== "processing"
      ? ["Files: none came of it"]
      : section(productsHeading(task), outputs)),
    ...section("Intermediate", intermediates),
    ...usage
      .slice(-USAGE_SHOWN_MAX)
      .map(
        (row) =>
          `Used: ${row.model}, ${counted(row.input, "token")} in, ${grouped(row.cached)} cached, ${grouped(row.output)} out${row.amount === null ? "" : `, cost ${row.amount}`}`,
      ),
    ...(live === undefined || live.tokens === 0 ? [] : [`Used so far: ${counted(live.tokens, "token")}`]),
    ...(result === null || result === ""
      ? []
      : [
          "",
          ...(task.status === "completed" ? [] : ["The result of the run before:"]),
          shorten(result, RESULT_SHOWN_CHARS),
        ]),
  ];
  return safeText(lines.join("\n"));
}
