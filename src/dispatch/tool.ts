// The dispatcher as a tool that a launcher may give to a model. A category that the model leaves out is declared as ordinary
// (null): an agent's call never inherits.
import { TokenBudgetError } from "../errors.ts";
import { assertArgument, fieldOf, OBJECT } from "../options.ts";
import { type Static, Type } from "../schema.ts";
import { headOf } from "../storage/text.ts";
import { assertFlow, dispatchHint } from "../task/category.ts";
import type { TaskDispatcher } from "./dispatcher.ts";
import type { FileView, TaskView } from "./task-view.ts";

const TASK_TOOL_NAME = "dispatch_task";

const RESULT_MAX_CHARS = 8_000;
const FILES_SHOWN_MAX = 20;

const DESCRIPTION =
  "Give a task to a child agent and wait for its result. It sees the goal, the context, the attachments and what its " +
  "category may read, and works on its own in a directory of its own. Left out, category means an ordinary task: then " +
  "put no content of your own category into goal, context or attachments.";

const Parameters = Type.Object(
  {
    goal: Type.String({ description: "What is to be done, and under which names finished files are wanted." }),
    context: Type.Optional(
      Type.Union([Type.Null(), Type.String({ description: "What the child should know besides." })]),
    ),
    category: Type.Optional(
      Type.Union([Type.Null(), Type.String({ description: "Your own category, for a task with its content." })]),
    ),
    attachments: Type.Optional(
      Type.Union([Type.Null(), Type.Array(Type.String(), { description: "Paths of files to attach." })]),
    ),
  },
  { additionalProperties: false },
);

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
  /** A TypeBox schema of `{ goal, context?, category?, attachments? }`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Several may run at once. */
  readonly executionMode: "parallel";
  /**
   * Dispatches a task and waits for its end; aborting the signal cancels it.
   *
   * @throws TokenBudgetError (rejects) as `dispatch` does; `refused` also when the task failed or was cancelled.
   */
  readonly execute: (toolCallId: string, params: unknown, signal?: AbortSignal) => Promise<TaskToolResult>;
}

const DISPATCHER = fieldOf(
  "what createTaskDispatcher answers",
  (value) => OBJECT.fits(value) && typeof (value as { dispatch?: unknown }).dispatch === "function",
);

/**
 * A tool definition for `pi.registerTool` or a session's `customTools`, with which a model dispatches tasks; this package
 * does not register it. Tasks are ordinary unless the model passes a category: no call of an agent inherits its own.
 *
 * @throws TokenBudgetError `invalid_argument`: `dispatcher` is not a dispatcher.
 */
export function defineTaskTool(dispatcher: TaskDispatcher): TaskTool {
  assertArgument("defineTaskTool", "dispatcher", dispatcher, DISPATCHER);
  return {
    name: TASK_TOOL_NAME,
    label: "Dispatch a task",
    description: DESCRIPTION,
    parameters: Parameters as unknown as TaskTool["parameters"],
    executionMode: "parallel",
    execute: async (_toolCallId, params, signal) => {
      const { goal, context, category, attachments } = params as Static<typeof Parameters>;
      const handle = await dispatcher.dispatch({
        goal,
        context: context ?? null,
        category: category ?? null,
        attachments: attachments ?? [],
        ...(signal === undefined ? {} : { signal }),
      });
      const task = await handle.result;
      const owner = dispatcher.category();
      assertFlow(task.category, owner);
      // Refused when a person has given its agent a category meanwhile.
      await dispatcher.get(task.id);
      const hint = dispatchHint(owner, task.category);
      if (task.status !== "completed")
        throw new TokenBudgetError("refused", [failureText(task), hint].filter(Boolean).join("\n\n"));
      const parts = [resultText(task), ...fileLines(task), ...(hint === undefined ? [] : [hint])];
      return { content: [{ type: "text", text: parts.join("\n\n") }], details: { task } };
    },
  };
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

function fileLines({ outputs, intermediates }: TaskView): string[] {
  const line = (what: string, files: readonly FileView[]) => {
    if (files.length === 0) return [];
    const more = files.length > FILES_SHOWN_MAX ? `, and ${files.length - FILES_SHOWN_MAX} more` : "";
    const names = files
      .slice(0, FILES_SHOWN_MAX)
      .map(({ path, size, partial }) => `${path} (${size} bytes${partial ? ", partial" : ""})`);
    return [`${what}: ${names.join(", ")}${more}.`];
  };
  return [...line("Files", outputs), ...line("Intermediate files", intermediates)];
}
