// The dispatcher as a tool for a model, given by a launcher or by the setting `taskTool`. A category that the model leaves out is declared as ordinary
// (null): an agent's call never inherits.
import { once } from "node:events";
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import { productsHeading } from "../dispatch/products.ts";
import type { FileView, TaskHandle, TaskView } from "../dispatch/task-view.ts";
import { TokenBudgetError } from "../errors.ts";
import { assertArgument, fieldOf, OBJECT } from "../options.ts";
import { type Static, type TSchema, Type } from "../schema.ts";
import { headOf } from "../storage/text.ts";
import { assertFlow, dispatchHint } from "../task/category.ts";

const TASK_TOOL_NAME = "dispatch_task";

const RESULT_MAX_CHARS = 8_000;
const FILES_SHOWN_MAX = 20;
const STEPS_SHOWN_MAX = 10;

const DESCRIPTION =
  "Give a task to a child agent and wait for its result. It sees the goal, the context, the attachments and what its " +
  "category may read, and works on its own in a directory of its own. Left out, category means an ordinary task: then " +
  "put no content of your own category into goal, context or attachments. With action and task it waits for or reads " +
  "a task of yours or the person's, or stops one that you started.";

const ACTIONS = ["run", "start", "wait", "read", "stop"] as const;
type Action = (typeof ACTIONS)[number];

const optional = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([Type.Null(), schema]));

const Parameters = Type.Object(
  {
    goal: optional(
      Type.String({ description: "What is to be done, and under which names finished files are wanted." }),
    ),
    context: optional(Type.String({ description: "What the child should know besides." })),
    category: optional(Type.String({ description: "Your own category, for a task with its content." })),
    attachments: optional(Type.Array(Type.String(), { description: "Paths of files to attach." })),
    action: optional(
      Type.Unsafe<Action>({
        type: "string",
        enum: ACTIONS,
        description: "run (default) waits for the end; start does not; wait, read and stop need task.",
      }),
    ),
    task: optional(Type.String({ description: "The id of a task." })),
  },
  { additionalProperties: false },
);
type Params = Static<typeof Parameters>;

/** The tool's result, in the form that Pi takes. */
export interface TaskToolResult {
  /** For the model. */
  readonly content: {
    readonly type: "text";
    /** The result, at most 8,000 characters of it, and the names of the files. */
    readonly text: string;
  }[];
  /** For programs. */
  readonly details: {
    /** The task after its end. */
    readonly task: TaskView;
  };
}

/** A tool definition that fits Pi's `registerTool` and `customTools` on every host. */
export interface TaskTool {
  /** `dispatch_task`. */
  readonly name: typeof TASK_TOOL_NAME;
  /** For people. */
  readonly label: string;
  /** For the model. */
  readonly description: string;
  /** A TypeBox schema of `{ goal?, context?, category?, attachments?, action?, task? }`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Several may run at once. */
  readonly executionMode: "parallel";
  /**
   * Dispatches a task and waits for its end (action `run`, the default; aborting the signal cancels the task), or does what
   * another action says: `start` does not wait; `wait` and `read` are for tasks of this agent, whoever gave them, and `stop`
   * for what this tool runs.
   *
   * @throws TokenBudgetError (rejects) as `dispatch` and `get` do; `refused` also when the task that was waited for failed or
   * was cancelled, for a task of another agent, for a `stop` of one that somebody else runs, and for a `start` where the
   * session ends with its answer.
   */
  readonly execute: (toolCallId: string, params: unknown, signal?: AbortSignal) => Promise<TaskToolResult>;
}

const DISPATCHER = fieldOf(
  "what createTaskDispatcher answers",
  (value) => OBJECT.fits(value) && typeof (value as { dispatch?: unknown }).dispatch === "function",
);

/** How the tool is made: by launchers for a dispatcher that is there, by this package for one that is opened when needed. */
export interface TaskToolParts {
  readonly dispatcher: () => Promise<TaskDispatcher>;
  /** Told of a task that the model does not wait for. */
  readonly started?: (handle: TaskHandle) => void;
  /** Whether the session ends with its answer, and what runs in it too. */
  readonly endsWithRun?: () => boolean;
}

/**
 * A tool definition for `pi.registerTool` or a session's `customTools`, with which a model dispatches tasks, waits for and
 * reads those of its session, and stops those that it started; this package registers it by the setting `taskTool` only. Tasks are ordinary unless
 * the model passes a category: no call of an agent inherits its own.
 *
 * @throws TokenBudgetError `invalid_argument`: `dispatcher` is not a dispatcher.
 */
export function defineTaskTool(dispatcher: TaskDispatcher): TaskTool {
  assertArgument("defineTaskTool", "dispatcher", dispatcher, DISPATCHER);
  return taskTool({ dispatcher: async () => dispatcher });
}

export function taskTool({ dispatcher, started, endsWithRun = () => false }: TaskToolParts): TaskTool {
  /** Runs that this tool has begun: a later one of such a task may be a person's. */
  const own = new WeakSet<TaskHandle>();
  const begun = async (...args: Parameters<typeof dispatched>) => {
    const handle = await dispatched(...args);
    own.add(handle);
    return handle;
  };
  return {
    name: TASK_TOOL_NAME,
    label: "Dispatch a task",
    description: DESCRIPTION,
    parameters: Parameters as unknown as TaskTool["parameters"],
    executionMode: "parallel",
    execute: async (_toolCallId, given, signal) => {
      const params = given as Params;
      const opened = await dispatcher();
      switch (params.action ?? "run") {
        case "run":
          return finished(opened, await (await begun(opened, params, signal)).result);
        case "start": {
          if (endsWithRun()) throw nobodyStays();
          const handle = await begun(opened, params, undefined);
          started?.(handle);
          return answer(handle.task, [`Task ${handle.task.id} has started.`, ...hintOf(opened, handle.task)]);
        }
        case "wait":
          return readable(opened, await waited(opened, params.task, signal));
        case "read":
          return readable(opened, await ownTask(opened, params.task));
        case "stop": {
          const { id } = await ownTask(opened, params.task);
          const running = opened.running(id);
          if (running !== undefined && !own.has(running)) throw notStarted(id);
          await running?.cancel();
          return readable(opened, await ownTask(opened, id));
        }
      }
    },
  };
}

function nobodyStays(): TokenBudgetError {
  return new TokenBudgetError(
    "refused",
    "This session ends with its answer, and what nobody waits for ends with it. Nothing was started. Leave action out to wait for the task; calls of one message run at once.",
  );
}

function notStarted(id: string): TokenBudgetError {
  return new TokenBudgetError("refused", `Task ${id} was not started by you: leave it to run. Wait for it or read it.`);
}

function dispatched(dispatcher: TaskDispatcher, params: Params, signal: AbortSignal | undefined): Promise<TaskHandle> {
  const { goal, context, category, attachments } = params;
  return dispatcher.dispatch({
    goal: goal ?? "",
    context: context ?? null,
    category: category ?? null,
    attachments: attachments ?? [],
    ...(signal === undefined ? {} : { signal }),
  });
}

/** A task of this agent, given by itself or by the person who uses it: those of other agents are none of its business. */
async function ownTask(dispatcher: TaskDispatcher, id: string | null | undefined): Promise<TaskView> {
  if (typeof id !== "string") throw new TokenBudgetError("missing_field", "task is missing: pass the id of a task.");
  const task = await dispatcher.get(id);
  if (task.parent === dispatcher.agentName) return task;
  throw new TokenBudgetError("refused", `Task ${task.id} was given by ${task.parent}, not by you. Do without it.`);
}

/** The end of a task; the model's own stop ends the waiting, and not the task. */
async function waited(dispatcher: TaskDispatcher, id: string | null | undefined, signal: AbortSignal | undefined) {
  const task = await ownTask(dispatcher, id);
  const running = dispatcher.running(task.id);
  if (running === undefined) return task;
  if (signal === undefined) return running.result;
  const over = new AbortController();
  const stopped = async (): Promise<never> => {
    if (!signal.aborted) await once(signal, "abort", { signal: over.signal });
    throw new TokenBudgetError("refused", `Task ${task.id} runs on; nobody waits for it any more.`);
  };
  const race = [running.result, stopped()];
  try {
    return await Promise.race(race);
  } finally {
    over.abort();
    for (const each of race) each.catch(() => undefined);
  }
}

function hintOf(dispatcher: TaskDispatcher, { category }: TaskView): string[] {
  const hint = dispatchHint(dispatcher.category(), category);
  return hint === undefined ? [] : [hint];
}

async function assertReadable(dispatcher: TaskDispatcher, task: TaskView): Promise<void> {
  assertFlow(task.category, dispatcher.category());
  // Refused when a person has given its agent a category meanwhile.
  await dispatcher.get(task.id);
}

function answer(task: TaskView, parts: readonly string[]): TaskToolResult {
  return { content: [{ type: "text", text: parts.join("\n\n") }], details: { task } };
}

/** A task that the model waited for: one that did not come to its end is an error of the call. */
async function finished(dispatcher: TaskDispatcher, task: TaskView): Promise<TaskToolResult> {
  await assertReadable(dispatcher, task);
  const hint = hintOf(dispatcher, task);
  if (task.status !== "completed")
    throw new TokenBudgetError("refused", [failureText(task), ...fileLines(task), ...hint].join("\n\n"));
  return answer(task, [resultText(task), ...fileLines(task), ...hint]);
}

async function readable(dispatcher: TaskDispatcher, task: TaskView): Promise<TaskToolResult> {
  await assertReadable(dispatcher, task);
  if (task.status === "processing") return answer(task, [runningText(task)]);
  return answer(task, [task.status === "completed" ? resultText(task) : failureText(task), ...fileLines(task)]);
}

function runningText({ id, progress, steps }: TaskView): string {
  const last = steps.slice(-STEPS_SHOWN_MAX).map((step) => `- ${step}`);
  return [`Task ${id} runs${progress === "" ? "" : ` (${progress})`}.`, ...last].join("\n");
}

function failureText({ id, status, error }: TaskView): string {
  return `Task ${id} ${status === "cancelled" ? "was cancelled" : `failed: ${error ?? "unknown reason"}`}.`;
}

function resultText({ id, result }: TaskView): string {
  const text = result ?? "";
  const head = headOf(text, RESULT_MAX_CHARS);
  const rest = head.length === text.length ? "" : `\n[the first ${RESULT_MAX_CHARS} characters of the result]`;
  return `Task ${id} is completed.\n\n${head}${rest}`;
}

function fileLines(task: TaskView): string[] {
  const { outputs, intermediates } = task;
  const line = (what: string, files: readonly FileView[]) => {
    if (files.length === 0) return [];
    const more = files.length > FILES_SHOWN_MAX ? `, and ${files.length - FILES_SHOWN_MAX} more` : "";
    const names = files
      .slice(0, FILES_SHOWN_MAX)
      .map(({ path, size, partial }) => `${path} (${size} bytes${partial ? ", partial" : ""})`);
    return [`${what}: ${names.join(", ")}${more}.`];
  };
  return [...line(productsHeading(task), outputs), ...line("Intermediate files", intermediates)];
}
