// What is asked of a dispatch, checked before anything is stored.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { ANYTHING, assertObject, type CheckedObject, FILLED_TEXT, LIST, optional, SIGNAL } from "../options.ts";
import { headOf } from "../storage/text.ts";
import { ADDRESS_MAX_CHARS, childAddress } from "../task/addresses.ts";
import type { Category } from "../task/category.ts";
import { type Attachment, checkedAttachments } from "./files/attachments.ts";
import { checkedCwd } from "./files/workspace.ts";
import type { DispatchParent } from "./parent.ts";
import { isLikeARun } from "./record/rules.ts";
import { GOAL_MAX_CHARS } from "./record/schema.ts";
import { choiceFor } from "./routing.ts";
import type { Runner } from "./runner.ts";

/** A task to be opened. */
export interface DispatchRequest {
  /** What to do; at most 50,000 characters. Empty only with an attachment. */
  readonly goal: string;
  /** What else the child should know; at most 50,000 characters. Nothing when null or left out. */
  readonly context?: string | null;
  /**
   * Category of the task's content: null for ordinary content, or the dispatching agent's own category. Left out only by
   * flows that quote the agent's content: the task then has the agent's category.
   */
  readonly category?: Category;
  /** A name below the dispatching agent; `task_<id>` when left out. */
  readonly agentName?: string;
  /** `provider/id`; the router chooses when null or left out. */
  readonly model?: string | null;
  /** `session` (default), `cli`, or one of the dispatcher's own. */
  readonly runner?: string;
  /** Files that are copied for the task, at most 50; none when left out. */
  readonly attachments?: readonly Attachment[];
  /** Absolute path of an existing directory to work in; a fresh one when null or left out. */
  readonly cwd?: string | null;
  /** Cancels the task when it is aborted; left out, `cancel` alone does. */
  readonly signal?: AbortSignal;
}

/** Fields that hold anything here are checked further down, with messages of their own. */
const REQUEST: CheckedObject = {
  of: "dispatch",
  what: "the request",
  fields: {
    goal: optional(ANYTHING),
    context: optional(ANYTHING),
    category: optional(ANYTHING),
    agentName: optional(FILLED_TEXT),
    model: optional(ANYTHING),
    runner: optional(FILLED_TEXT),
    attachments: optional(LIST),
    cwd: optional(ANYTHING),
    signal: optional(SIGNAL),
  } satisfies Record<keyof DispatchRequest, unknown>,
};

/** What a later run adds to the address of a task's agent, at most: `_run` and six digits. */
const RUN_SUFFIX_MAX_CHARS = 10;

export interface RequestParts {
  readonly parent: DispatchParent;
  /** By name; the first is the default. */
  readonly runners: ReadonlyMap<string, Runner>;
  /** Relative attachments are below it. */
  readonly baseDirectory: string;
  readonly taskId: string;
}

export function checkedRequest(request: DispatchRequest, parts: RequestParts) {
  assertObject(request, REQUEST);
  const { parent, taskId, baseDirectory } = parts;
  const goal = parseGoal(request.goal, request.attachments?.length ?? 0);
  const context = parseContext(request.context);
  const runner = runnerNamed(request.runner, parts.runners);
  const choice = choiceFor(request.category, parent.category(), runner);
  const address = freeAddress(parent, request.agentName, taskId);
  const pinned = modelName(request.model);
  const attachments = checkedAttachments(request.attachments, baseDirectory);
  return { goal, context, choice, runner, address, pinned, attachments, cwd: checkedCwd(request.cwd) };
}

/** The goal, trimmed; it may be empty only with an attachment. */
export function parseGoal(value: unknown, attachments: number): string {
  const goal = parseText("goal", value, "it must be a text that says what is to be done");
  if (goal !== "" || attachments > 0) return goal;
  throw new TokenBudgetError(
    "invalid_argument",
    "goal is empty; say what is to be done. It may be empty only when there is an attachment.",
  );
}

function parseContext(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return parseText("context", value, "it must be a text, or be left out") || null;
}

function parseText(field: string, value: unknown, rule: string): string {
  if (typeof value !== "string")
    throw new TokenBudgetError("invalid_argument", `${field} is ${shownValue(value)}; ${rule}.`);
  if (headOf(value, GOAL_MAX_CHARS).length === value.length) return value.trim().toWellFormed();
  throw new TokenBudgetError(
    "too_large",
    `${field} is longer than ${GOAL_MAX_CHARS.toLocaleString("en-US")} characters (${shownValue(value)}). Nothing was stored. Shorten it, or put the text into a file and attach that.`,
  );
}

function runnerNamed(name: string | undefined, runners: ReadonlyMap<string, Runner>): Runner {
  const names = [...runners.keys()];
  const [standard = ""] = names;
  const runner = runners.get(name ?? standard);
  if (runner) return runner;
  throw new TokenBudgetError(
    "invalid_argument",
    `runner is ${shownValue(name)}; there are ${names.join(", ")}. Leave it out for ${standard}.`,
  );
}

export function freeAddress(parent: DispatchParent, agentName: string | undefined, taskId: string): string {
  const address = childAddress(parent.agentName, agentName ?? `task_${taskId}`);
  if (isLikeARun(address, parent.agentName)) {
    throw new TokenBudgetError(
      "invalid_address",
      `agentName is ${shownValue(agentName)}: names that end with _run and a number are those of later runs of tasks. Nothing was stored. Choose another name, or leave it out for an automatic one.`,
    );
  }
  const longest = ADDRESS_MAX_CHARS - RUN_SUFFIX_MAX_CHARS;
  if (address.length > longest) {
    throw new TokenBudgetError(
      "invalid_address",
      `agentName is ${shownValue(agentName)}: its address would have ${address.length} characters, and at most ${longest} leave room for the names of later runs. Nothing was stored. Give a shorter name.`,
    );
  }
  if (!parent.agents().some((agent) => agent.agentName === address)) return address;
  throw new TokenBudgetError(
    "name_collision",
    `agentName is ${shownValue(agentName)}: ${address} is an agent of this root task already. Choose another name, or leave it out for an automatic one.`,
  );
}

function modelName(model: unknown): string | undefined {
  if (model === undefined || model === null) return undefined;
  if (typeof model === "string" && model === model.trim() && model.indexOf("/") > 0 && !model.endsWith("/"))
    return model;
  throw new TokenBudgetError(
    "invalid_argument",
    `model is ${shownValue(model)}; a model is named provider/id. Leave it out to have one chosen.`,
  );
}
