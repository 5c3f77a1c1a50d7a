// Which category and which model a task gets.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { type Category, type CategoryChoice, canRead, taskCategoryChoice } from "../task/category.ts";
import { categoriesOf, type DispatchParent } from "./parent.ts";
import type { DispatcherParts } from "./parts.ts";
import type { TaskRow } from "./record/schema.ts";
import type { Runner } from "./runner.ts";

/** The category of a new task. A runner with models of its own gets ordinary content only. */
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
 * The category of a task's next run: the declared one, unless a person has changed its agent's category since. An undeclared
 * one follows its parent's current category.
 */
export function choiceAgain(
  { id, agent, parent, category: old, categoryOwn }: TaskRow,
  dispatching: DispatchParent,
  runner: Runner,
): CategoryChoice {
  const categories = categoriesOf(dispatching);
  const owner = categories(parent);
  if (owner === undefined)
    throw new TokenBudgetError(
      "refused",
      `Task ${id} cannot run again: it is not known which category the content of ${parent} is of. Set it with /category there.`,
    );
  const own = old ?? categories(agent) ?? null;
  const choice = choiceFor(categoryOwn || own !== old ? own : undefined, owner, runner);
  if (canRead(choice.category, old)) return choice;
  throw new TokenBudgetError(
    "refused",
    `Task ${id} is of category ${old}, and ${parent} is not any more, so it would run as an ordinary one. Give ${parent} that category again, or dispatch a new task.`,
  );
}

/** The model that may see the content, by the router; null leaves it to the runner. */
export async function chosenModel(
  { parent, route = parent.route?.bind(parent) }: Pick<DispatcherParts, "parent" | "route">,
  runner: Runner,
  { category, pinned }: { readonly category: Category; readonly pinned: string | undefined },
): Promise<string | null> {
  if (runner.choosesModels) return pinned ?? null;
  if (route === undefined) {
    if (category === null) return pinned ?? parent.model?.() ?? null;
    throw new TokenBudgetError(
      "refused",
      `A task of category ${category} needs the model router, and this dispatcher has none. Nothing was stored. Give the option route.`,
    );
  }
  // Ordinary content goes where the session's own goes: no other vendor is paid without a word.
  const own = category === null ? parent.model?.() : undefined;
  const candidates = own === undefined ? {} : { candidates: [own] };
  const question = { contentCategory: category, ...candidates, ...(pinned === undefined ? {} : { pinned }) };
  const model = (await route(question)) ?? null;
  if (pinned === undefined || model === pinned) return model;
  throw new TokenBudgetError(
    "refused",
    `model is ${shownValue(pinned)}, which may not see ${category === null ? "this content" : `content of category ${category}`}. Nothing was stored. Leave model out, and a model that may is chosen.`,
  );
}
