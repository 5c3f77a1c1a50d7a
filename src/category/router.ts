// The one door to models: which model content may be sent to. Pure. It never leaves a category to get an answer.
import { CategoryModelError, TokenBudgetError } from "../errors.ts";
import { ANYTHING, assertObject, type CheckedObject, FUNCTION, fieldOf, LIST, OBJECT, optional } from "../options.ts";
import { type Category, parseCategory } from "../task/category.ts";
import { type CategoryModels, labelledModels, type ModelName, modelName } from "./labels.ts";

/** What a model is wanted for. The first that may have the content is chosen: pinned, candidates, palette, last resort. */
export interface RouteRequest<M extends ModelName> {
  /** What the content is; null is ordinary. Required, so that no caller forgets it. */
  readonly contentCategory: Category;
  /** The model that was asked for; left out when none was. */
  readonly pinned?: M | undefined;
  /** Models to try, the best first; none when left out. */
  readonly candidates?: readonly M[] | undefined;
}

/** What a router chooses from. */
export interface RouterParts<M extends ModelName> {
  /** Which models have which label. */
  readonly categories: CategoryModels;
  /** The models with credentials, asked for with each request. */
  readonly palette: () => readonly M[];
  /** The default model, asked for when nothing else fits; undefined when there is none. */
  readonly lastResort: () => M | undefined;
}

/**
 * Chooses one of the models that it was given, as that was given.
 *
 * @throws CategoryModelError `category_model`: no model with the label is there.
 * @throws TokenBudgetError `not_found`: no model at all; `invalid_argument`, `unknown_field`, `missing_field`: the request.
 */
export type Route<M extends ModelName> = (request: RouteRequest<M>) => M;

/** Whether content of a category may go to a model; ordinary content may go to any. */
export function mayReceive(categories: CategoryModels, category: Category, model: ModelName): boolean {
  return category === null || labelledModels(categories, category).includes(modelName(model));
}

const PARTS: CheckedObject = {
  of: "createRouter",
  what: "the parts",
  fields: {
    categories: fieldOf("a Map of labels and their models", (value) => value instanceof Map),
    palette: FUNCTION,
    lastResort: FUNCTION,
  },
};
const REQUEST: CheckedObject = {
  of: "route",
  what: "the request",
  fields: { contentCategory: optional(ANYTHING), pinned: optional(OBJECT), candidates: optional(LIST) },
};

/**
 * A door to models: it answers one of the models it was given, as that was given. `task.route` asks by names instead,
 * since it is asked over the event bus, where no model of another host is an object of one's own.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`. The door itself throws the same, and
 * `category_model` or `not_found` when no model is left.
 */
export function createRouter<M extends ModelName>(parts: RouterParts<M>): Route<M> {
  assertObject(parts, PARTS);
  const { categories, palette, lastResort } = parts;
  return (request) => {
    assertObject(request, REQUEST);
    const category = declaredCategory(request);
    const preferred = [request.pinned, ...(request.candidates ?? [])].filter((model) => model !== undefined);
    const chosen =
      preferred.find((model) => mayReceive(categories, category, model)) ??
      firstOf(palette(), categories, category) ??
      [lastResort()].find((model) => model !== undefined && mayReceive(categories, category, model));
    if (chosen) return chosen;
    if (category !== null) throw new CategoryModelError(category, labelledModels(categories, category));
    throw new TokenBudgetError(
      "not_found",
      "There is no model to send this to: none was asked for, and the host has none with credentials. Choose a model, or log in to a provider.",
    );
  };
}

function declaredCategory(request: { readonly contentCategory?: Category }): Category {
  const { contentCategory } = request;
  if (contentCategory !== undefined) return parseCategory(contentCategory, "contentCategory");
  throw new TokenBudgetError(
    "missing_field",
    "contentCategory is missing. Say what the content is, with a category or null for ordinary content; no model is chosen without it.",
  );
}

/** The first model with the label, in the order of the settings; of ordinary content, the first of all. */
function firstOf<M extends ModelName>(
  models: readonly M[],
  categories: CategoryModels,
  category: Category,
): M | undefined {
  if (category === null) return models[0];
  for (const name of labelledModels(categories, category)) {
    const model = models.find((known) => modelName(known) === name);
    if (model) return model;
  }
  return undefined;
}
