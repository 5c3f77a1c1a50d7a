// What /tasks does and offers once a dispatcher is open: a task's files are taken, a task is stopped, repeated or removed.

import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { FileView, LiveTask, TaskView } from "../dispatch/task-view.ts";
import { messageOf, shownValue } from "../errors.ts";
import { counted, grouped } from "../figures.ts";
import type { HostContext } from "../host/api.ts";
import { headOf, plainLine, textIfUtf8 } from "../storage/text.ts";
import type { TodoItem } from "../todo/list.ts";
import { CHOICES_MAX, type Choice } from "./commands.ts";
import { type FollowParts, follow } from "./task-commands.ts";
import { filesNamed, saveFiles } from "./task-save.ts";
import { listText, statusText, TASKS_SHOWN_MAX, taskText } from "./task-text.ts";
import { TASK_ACTIONS, type TaskAction, type TasksLine, typedWord, wordsOf } from "./tasks-arguments.ts";
import { safeText } from "./text.ts";

/** What the command needs of a dispatcher. */
export type TaskBoard = Pick<
  TaskDispatcher,
  "list" | "ids" | "get" | "openFile" | "cancel" | "rerun" | "remove" | "running" | "active"
>;

export interface TasksCommandParts extends FollowParts {
  readonly board: (ctx: HostContext) => Promise<TaskBoard>;
  /** A board that is open already; what is being typed opens none. */
  readonly openBoard: () => Promise<TaskBoard> | undefined;
  /** The todo list of a task's agent, for a person's eyes; empty when there is none. */
  readonly todosOf: (ctx: HostContext, agent: string) => Promise<readonly TodoItem[]>;
  /** A path as a shell takes it, from the working directory. */
  readonly absolute: (path: string, ctx: HostContext) => string;
  /** The width of an answer; undefined where no terminal shows it. */
  readonly columns: (ctx: HostContext) => number | undefined;
  /** The person's yes or no; undefined where nobody can be asked. */
  readonly ask: (ctx: HostContext, title: string, detail: string, yes: string) => Promise<boolean | undefined>;
}

const IDS_SHOWN_MAX = 5;
/** Older tasks are named by their ids all the same. */
const TASKS_OFFERED_MAX = 100;
/** Of a file that is shown in the terminal. */
const OPENED_MAX_BYTES = 100_000;
const OPENED_MAX_CHARS = 20_000;
const QUESTION_PATHS_MAX = 10;

async function newest(board: TaskBoard, limit: number): Promise<readonly TaskView[]> {
  return (await board.list({ viewer: "person", limit })).filter((task) => "id" in task);
}

async function list(board: TaskBoard, columns: number | undefined): Promise<string> {
  const tasks = await newest(board, TASKS_SHOWN_MAX);
  return listText(tasks, { nowMs: Date.now(), ids: await board.ids(), live: board.active(), columns });
}

function liveOf(board: TaskBoard, { id }: TaskView): LiveTask | undefined {
  return board.active().find((task) => task.id === id);
}

/** The task whose id begins like this: one that is named whole, or has no other beside it. */
async function taskNamed(board: TaskBoard, begun: string): Promise<TaskView | string> {
  const found = (await board.ids()).filter((id) => id.startsWith(begun));
  const named = found.find((id) => id === begun) ?? (found.length === 1 ? found[0] : undefined);
  if (named !== undefined) return board.get(named, { viewer: "person" });
  if (found.length === 0) return `There is no task ${shownValue(begun)}. /tasks lists those there are.`;
  const ids = found.slice(0, IDS_SHOWN_MAX);
  const more = found.length > ids.length ? `, and ${grouped(found.length - ids.length)} more` : "";
  return `${grouped(found.length)} tasks begin with ${begun}: ${ids.join(", ")}${more}. Type more of the id.`;
}

interface Act {
  readonly task: TaskView;
  readonly words: readonly string[];
  readonly board: TaskBoard;
  readonly ctx: HostContext;
  readonly parts: TasksCommandParts;
}

const DONE: Readonly<Record<TaskAction, (act: Act) => Promise<string>>> = { save, open, stop, rerun, remove };

async function save({ task, words, board, ctx, parts }: Act): Promise<string> {
  const absolute = (path: string) => parts.absolute(path, ctx);
  const mayReplace = (files: readonly string[]) => {
    const more = files.length > QUESTION_PATHS_MAX ? `, and ${grouped(files.length - QUESTION_PATHS_MAX)} more` : "";
    const detail = `There already: ${files.slice(0, QUESTION_PATHS_MAX).join(", ")}${more}.`;
    return parts.ask(ctx, "Replace what is there?", safeText(detail), "Yes, replace");
  };
  return safeText(await saveFiles(task, words, { board, cwd: ctx.cwd, absolute, mayReplace }));
}

/** A file with a text, as it is; anything else is for other programs. */
async function open({ task, words, board }: Act): Promise<string> {
  const [only, ...others] = words[0] === undefined ? task.outputs : filesNamed(task, words[0]);
  if (only === undefined) return `There is no such file in task ${task.id}. /tasks ${task.id} lists its files.`;
  if (others.length > 0) return `Name one of: ${safeText([only, ...others].map(({ path }) => path).join(", "))}.`;
  const isLarge = only.size > OPENED_MAX_BYTES;
  const text = isLarge ? undefined : await textOf(board, task.id, only);
  if (text === undefined)
    return safeText(
      `${only.path} (${counted(only.size, "byte")}) is ${isLarge ? "too large to show here" : "not a text file"}. /tasks ${task.id} save ${typedWord(only.path)} puts it into the working directory.`,
    );
  const head = headOf(text, OPENED_MAX_CHARS);
  const rest = head.length < text.length ? `\n[the first ${grouped(OPENED_MAX_CHARS)} characters]` : "";
  return safeText(`${only.path}:\n${head}${rest}`);
}

async function textOf(board: TaskBoard, taskId: string, { id }: FileView): Promise<string | undefined> {
  const { stream } = await board.openFile(taskId, id, { viewer: "person" });
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return textIfUtf8(Buffer.concat(pieces));
}

async function stop({ task, board }: Act): Promise<string> {
  if (task.status !== "processing") return safeText(`Task ${task.id} ${statusText(task)}: there is nothing to stop.`);
  if (board.running(task.id) === undefined)
    return `Task ${task.id} runs in another process: stop it in the Pi that started it, or end that one.`;
  await board.cancel(task.id, { viewer: "person" });
  const after = await board.get(task.id, { viewer: "person" });
  if (after.status !== "cancelled")
    return safeText(
      `Task ${task.id} ${statusText(after)}: it ended before it could be stopped. /tasks ${task.id} shows it.`,
    );
  return safeText(
    `Task ${task.id} is stopped: ${task.title}. What it had written is kept; /tasks ${task.id} shows it.`,
  );
}

async function rerun({ task, board, ctx, parts }: Act): Promise<string> {
  return follow(await board.rerun(task.id, { viewer: "person" }), ctx, parts);
}

async function remove({ task, board, ctx, parts }: Act): Promise<string> {
  const detail = `${task.title}: its record, its files and what its agent noted and said go, for good. Files that you saved elsewhere stay.`;
  const answer = await parts.ask(ctx, `Remove task ${task.id}?`, safeText(detail), "Yes, remove it");
  if (answer === undefined) return "Nothing was removed: this asks first, and nobody can be asked here.";
  if (!answer) return "Nothing was removed.";
  await board.remove(task.id, { viewer: "person" });
  return safeText(`Task ${task.id} is removed: ${task.title}.`);
}

function idChoices(tasks: readonly TaskView[], before: string, begun: string, after = ""): readonly Choice[] {
  return tasks
    .filter(({ id }) => id.startsWith(begun))
    .slice(0, CHOICES_MAX)
    .map(({ id, title }) => ({ value: `${before}${id}${after}`, about: plainLine(title) }));
}

/** `remove` takes something away: it is offered only when it was begun. */
function offeredActions(begun: string): readonly TaskAction[] {
  return TASK_ACTIONS.filter((action) => action.startsWith(begun) && (action !== "remove" || begun !== ""));
}

/** The host draws what is offered as it is: nothing that a terminal would obey. */
function canBeTyped(path: string): boolean {
  return safeText(path) === path && !/[\t\n]/.test(path);
}

/** What completes a line that was begun. */
export async function choices(board: TaskBoard, typed: string): Promise<readonly Choice[]> {
  const tasks = await newest(board, TASKS_OFFERED_MAX);
  const words = wordsOf(typed);
  const begun = /\s$/.test(typed) || typed === "" ? "" : (words.at(-1) ?? "");
  const before = begun === "" ? words : words.slice(0, -1);
  const [first, second] = before;
  if (first === undefined) {
    const actions =
      begun === "" ? [] : offeredActions(begun).filter((action) => action !== "save" && action !== "open");
    return [...actions.map((value) => ({ value: `${value} ` })), ...idChoices(tasks, "", begun)];
  }
  const isActionFirst = TASK_ACTIONS.some((action) => action === first);
  if (second === undefined) {
    if (isActionFirst) return idChoices(tasks, `${first} `, begun);
    return offeredActions(begun).map((action) => ({ value: `${first} ${action}` }));
  }
  const id = isActionFirst ? second : first;
  const action = isActionFirst ? first : second;
  if (before.length > 2 || (action !== "save" && action !== "open")) return [];
  const task = await taskNamed(board, id);
  if (typeof task === "string") return [];
  const paths = [...task.outputs, ...task.intermediates].map(({ path }) => path);
  const offered = paths.filter((path) => path.startsWith(begun) && canBeTyped(path)).slice(0, CHOICES_MAX);
  return offered.map((path) => ({ value: `${first} ${second} ${typedWord(path)}` }));
}

/** The answer to a line. */
export async function answered(
  line: Exclude<TasksLine, { type: "unknown" }>,
  ctx: HostContext,
  parts: TasksCommandParts,
): Promise<string> {
  try {
    const board = await parts.board(ctx);
    if (line.type === "list") return await list(board, parts.columns(ctx));
    const task = await taskNamed(board, line.id);
    if (typeof task === "string") return task;
    if (line.type === "show")
      return taskText(task, { todos: await parts.todosOf(ctx, task.agent), live: liveOf(board, task) });
    return await DONE[line.action]({ task, words: line.words, board, ctx, parts });
  } catch (error) {
    return safeText(messageOf(error));
  }
}
