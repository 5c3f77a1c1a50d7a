// /task: a person gives a task to a child agent. What is shown here is sent to no model.
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { TaskHandle, TaskView } from "../dispatch/task-view.ts";
import { FieldError, messageOf } from "../errors.ts";
import type { HostCommand, HostContext } from "../host/api.ts";
import { type Choice, defineCommand, usageOf } from "./commands.ts";
import { type ParsedTask, parseTaskLine, TASK_OPTIONS } from "./task-arguments.ts";
import { endText, startText } from "./task-text.ts";
import { safeText } from "./text.ts";

export interface FollowParts {
  readonly show: (ctx: HostContext, text: string) => void;
  /** Tells what nobody asked for now, in the place of what it makes old. */
  readonly tell: (ctx: HostContext, text: string, insteadOf: string) => void;
  /** Whether the process may end with the command, so that a task is waited for. */
  readonly endsWithRun: (ctx: HostContext) => boolean;
  /** Told of a task that nobody waits for. */
  readonly started: (handle: TaskHandle) => void;
  /** Prints a task's result where a command is used in a pipe; nothing elsewhere. */
  readonly print: (ctx: HostContext, text: string) => Promise<void>;
}

export interface TaskCommandParts extends FollowParts {
  readonly board: (ctx: HostContext) => Promise<Pick<TaskDispatcher, "dispatch">>;
  /** What may stand behind an option, as far as it is known. */
  readonly values: () => Readonly<Record<string, readonly string[]>>;
  /** A path as a shell takes it: `~/` is the person's home. */
  readonly inHome: (path: string) => string;
  /** The same, from the working directory. */
  readonly absolute: (path: string, ctx: HostContext) => string;
}

/** Says that a task has begun, and how it ends: at once when the process waits for nothing else. */
export async function follow(
  handle: TaskHandle,
  ctx: HostContext,
  { show, tell, endsWithRun, started, print }: FollowParts,
): Promise<string> {
  const { task, result } = handle;
  // Without a screen the process would end with the command.
  if (endsWithRun(ctx)) {
    show(ctx, startText(task));
    const ended = await result;
    if (ended.status === "completed" && ended.result) await print(ctx, ended.result);
    return endText(ended);
  }
  started(handle);
  const begun = startText(task);
  const tellEnd = (ended: TaskView) => {
    try {
      tell(ctx, endText(ended), begun);
    } catch {
      // The session is gone, and its screen with it.
    }
  };
  // A quick one ends before its beginning is shown, which would stand in the place of its end.
  const isShown = new Promise((resolve) => setImmediate(resolve));
  void Promise.all([result, isShown]).then(([ended]) => tellEnd(ended));
  return begun;
}

/** The text before a partly typed value, its option, and the value so far. */
const VALUE_BEGUN = /^(.*(--[a-z]+)(?:=|\s+))(\S*)$/;

function taskCompletions(prefix: string, values: ReturnType<TaskCommandParts["values"]>): readonly Choice[] {
  const [, before = "", option = "", begun = ""] = VALUE_BEGUN.exec(prefix) ?? [];
  if (before !== "")
    return (values[option] ?? [])
      .filter((value) => value.startsWith(begun))
      .map((value) => ({ value: `${before}${value}` }));
  return prefix === "" ? [] : TASK_OPTIONS.filter((each) => each.startsWith(prefix)).map((value) => ({ value }));
}

const FOR_SUCH_WORDS = "Where the goal itself has such words, put -- in front of it: /task -- <goal>";

/** What is wrong with a task, by the words in which a person asks for it. */
function problemText(error: unknown): string {
  if (!(error instanceof FieldError)) return safeText(messageOf(error));
  const { field, value, problem } = error;
  const option = TASK_OPTIONS.find((name) => field.startsWith(name.slice(2)));
  return safeText(option === undefined ? error.message : `${option} ${value}: ${problem}`);
}

export function taskCommand({ board, values, inHome, absolute, ...parts }: TaskCommandParts): HostCommand {
  const start = async (
    { goal, category, attachments, cwd, model, runner }: ParsedTask,
    ctx: HostContext,
  ): Promise<string> => {
    const handle = await (await board(ctx)).dispatch({
      goal,
      category,
      attachments: attachments.map(inHome),
      cwd: cwd === null ? null : absolute(cwd, ctx),
      model,
      ...(runner === null ? {} : { runner }),
    });
    return follow(handle, ctx, parts);
  };
  return defineCommand("task", {
    show: parts.show,
    complete: (prefix) => taskCompletions(prefix, values()),
    answer: (argument, ctx) => {
      const line = parseTaskLine(argument);
      if (line.type === "slip") return `${line.problem}\n${usageOf("task")}\n${FOR_SUCH_WORDS}`;
      if (line.goal.trim() === "" && line.attachments.length === 0) return undefined;
      return start(line, ctx).catch(problemText);
    },
  });
}
