// What is asked of a dispatch, checked before anything is stored.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { ANYTHING, assertObject, type CheckedObject, FILLED_TEXT, LIST, optional, SIGNAL } from "../options.ts";
import { childAddress } from "../task/addresses.ts";
import { type Category, type CategoryChoice, canRead, taskCategoryChoice } from "../task/category.ts";
import { type Attachment, checkedAttachments } from "./files/attachments.ts";
import { checkedCwd } from "./files/workspace.ts";
import type { DispatchParent } from "./parent.ts";
import type { NewFile, TaskRow } from "./record/rules.ts";
import { parseContext, parseGoal } from "./record/rules.ts";
import type { Runner } from "./run/runner.ts";

/** A task to be opened. */
export interface DispatchRequest {
  /** What is to be done; at most 50,000 characters. Empty only beside an attachment. */
  readonly goal: string;
  /** What the child should know besides; at most 50,000 characters. Nothing when null or left out. */
  readonly context?: string | null;
  /**
   * What the task's content is: null for ordinary content, or the dispatching agent's own category. Left out only by flows
   * that quote the agent's content: the task is then of the agent's category.
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

/** What is checked with words of its own is anything here. */
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
  },
};

export interface CheckedRequest {
  readonly goal: string;
  readonly context: string | null;
  readonly choice: CategoryChoice;
  readonly runner: Runner;
  readonly address: string;
  readonly pinned: string | undefined;
  readonly attachments: readonly NewFile[];
  readonly cwd: string | null;
}

export interface RequestParts {
  readonly parent: DispatchParent;
  readonly runners: ReadonlyMap<string, Runner>;
  readonly defaultRunner: string;
  /** Relative attachments are below it. */
  readonly baseDirectory: string;
  readonly taskId: string;
}

export function checkedRequest(request: DispatchRequest, parts: RequestParts): CheckedRequest {
  assertObject(request, REQUEST);
  const { parent, taskId, baseDirectory } = parts;
  const goal = parseGoal(request.goal, request.attachments?.length ?? 0);
  const context = parseContext(request.context);
  const runner = runnerNamed(request.runner, parts);
  const choice = choiceFor(request.category, parent.category(), runner);
  const address = freeAddress(parent, request.agentName, taskId);
  const pinned = modelName(request.model);
  const attachments = checkedAttachments(request.attachments, baseDirectory);
  return { goal, context, choice, runner, address, pinned, attachments, cwd: checkedCwd(request.cwd) };
}

function runnerNamed(name: string | undefined, { runners, defaultRunner }: RequestParts): Runner {
  const runner = runners.get(name ?? defaultRunner);
  if (runner) return runner;
  throw new TokenBudgetError(
    "invalid_argument",
    `runner is ${shownValue(name)}; there are ${[...runners.keys()].join(", ")}. Leave it out for ${defaultRunner}.`,
  );
}

/** The table of categories, and what a runner with models of its own may get. */
export function choiceFor(declared: Category | undefined, owner: Category, runner: Runner): CategoryChoice {
  const choice = taskCategoryChoice(declared, owner);
  if (!runner.choosesModels) return choice;
  if (choice.category === null) return { own: true, category: null };
  throw new TokenBudgetError(
    "refused",
    `A task of category ${choice.category} does not run on the runner ${runner.name}: it chooses its own model, outside the router. Nothing was stored. Use the runner session, or leave category out for an ordinary task (null).`,
  );
}

/**
 * What the content of a task's next run is: as it was declared, but for a category that a person gave its agent since;
 * what nobody declared is what its parent's is now. `contents` says what agents' content is.
 */
export function categoryAgain(
  { id, agent, parent, category: old, categoryOwn }: TaskRow,
  contents: (address: string) => Category | undefined,
  runner: Runner,
): CategoryChoice {
  const owner = contents(parent);
  if (owner === undefined)
    throw new TokenBudgetError(
      "refused",
      `Task ${id} is not run again: it is not known which category the content of ${parent} is of. Say what it is with /category there.`,
    );
  const own = old ?? contents(agent) ?? null;
  const choice = choiceFor(categoryOwn || own !== old ? own : undefined, owner, runner);
  if (canRead(choice.category, old)) return choice;
  throw new TokenBudgetError(
    "refused",
    `Task ${id} is of category ${old}, and ${parent} is not any more, so that it would run as an ordinary one. Give ${parent} that category again, or dispatch a new task.`,
  );
}

function freeAddress(parent: DispatchParent, agentName: string | undefined, taskId: string): string {
  const address = childAddress(parent.agentName, agentName ?? `task_${taskId}`);
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

/** The model for the content, through the one door; null leaves it to the runner. */
export async function chosenModel(
  parent: DispatchParent,
  runner: Runner,
  { category, pinned }: { readonly category: Category; readonly pinned: string | undefined },
): Promise<string | null> {
  // Its models are its own, and only ordinary content gets there.
  if (runner.choosesModels) return pinned ?? null;
  if (parent.route === undefined) {
    if (category === null) return pinned ?? parent.model?.() ?? null;
    throw new TokenBudgetError(
      "refused",
      `A task of category ${category} needs the model router, and this dispatcher has none. Nothing was stored. Give the option route.`,
    );
  }
  const model =
    (await parent.route({ contentCategory: category, ...(pinned === undefined ? {} : { pinned }) })) ?? null;
  if (pinned === undefined || model === pinned) return model;
  throw new TokenBudgetError(
    "refused",
    `model is ${shownValue(pinned)}, which may not see ${category === null ? "this content" : `content of category ${category}`}. Nothing was stored. Leave model out, and a model that may is chosen.`,
  );
}
