// The guard of one session: says what its content is, keeps registry and log agreed on it, and finds out before each
// request whether the model may have it. What is refused, and how hosts are told so, is in `wire.ts`.
import { CategoryModelError, messageOf, TokenBudgetError } from "../errors.ts";
import type { HostContext, HostModel } from "../host/api.ts";
import { entriesOf } from "../host/context.ts";
import { isVirtual, realModels } from "../host/models.ts";
import type { Category } from "../task/category.ts";
import { type Classification, classify, isOutdated, type Registered, type RegistryCategory } from "./classification.ts";
import { type CategoryModels, labelledModels, modelName } from "./labels.ts";
import { CATEGORY_ENTRY, type CategoryData, categoryOnLog, type LogCategory } from "./log.ts";
import { createRouter, mayReceive, type Route } from "./router.ts";

/** The session's place in its root task, as far as categories need it. */
export interface GuardedTask {
  readonly agent: string;
  /** Its address in the registry. */
  readonly place: string;
  /** Null for the root. */
  readonly parent: string | null;
  /** What the registry says of an agent; throws when it cannot be read. */
  agentNamed(address: string): Registered;
  /** Registers the session. */
  join(): Promise<void>;
  readonly registry: {
    setCategory(address: string, category: Category): Promise<void>;
    raiseCategory(address: string, category: Category): Promise<void>;
  };
}

export interface GuardedSession {
  readonly task: GuardedTask;
  readonly categories: CategoryModels;
  /** What the log says of its content. */
  loggedCategory(): LogCategory;
}

export interface GuardParts {
  /** Throws when the session has no parts. */
  readonly sessionOf: (ctx: HostContext) => GuardedSession;
  readonly setModel: (model: HostModel) => Promise<boolean>;
  readonly mark: (customType: string, data: CategoryData) => void;
}

/** The outcome of putting a session on a model of its category. */
export type ModelChoice =
  | { readonly type: "fits" }
  | { readonly type: "changed"; readonly category: string; readonly from: string; readonly to: string }
  | { readonly type: "refused"; readonly error: TokenBudgetError };

const FITS: ModelChoice = { type: "fits" };

export class CategoryGuard {
  readonly #parts: GuardParts;
  #known: CategoryModels = new Map();

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /** What this session's content is: the stricter of registry and log. */
  classification(ctx: HostContext): Classification {
    return classify({ ...this.#registered(ctx), log: this.#logged(ctx) });
  }

  /** For a person. */
  describe(ctx: HostContext): readonly string[] {
    const classification = this.classification(ctx);
    if (classification.type === "unknown") return [classification.problem];
    const { category } = classification;
    if (category === null)
      return ["This session's content is ordinary: any model may have it, and every agent may read it."];
    const models = labelledModels(this.#labels(ctx), category);
    const shown = models.length === 0 ? "none, so nothing is sent" : models.join(", ");
    const inUse = ctx.model === undefined ? "" : ` In use: ${modelName(ctx.model)}.`;
    return [`This session's content is of category ${category}. Models with that label: ${shown}.${inUse}`];
  }

  /** The categories of the settings, as they were when the session was last looked at. */
  labels(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** The one door to models of this session's host. */
  router(ctx: HostContext): Route<HostModel> {
    return createRouter({ categories: this.#labels(ctx), palette: () => realModels(ctx), lastResort: () => ctx.model });
  }

  /** Puts the session on a labelled model, unless it is on one. */
  async chooseModel(ctx: HostContext): Promise<ModelChoice> {
    this.#labels(ctx);
    const classification = this.classification(ctx);
    if (classification.type === "unknown") return { type: "refused", error: undecided(classification.problem) };
    const { category } = classification;
    if (category === null || (ctx.model && this.#mayReceive(ctx, category, ctx.model))) return FITS;
    const from = ctx.model === undefined ? "no model" : modelName(ctx.model);
    try {
      const pinned = ctx.model && !isVirtual(ctx.model) ? ctx.model : undefined;
      const model = this.router(ctx)({ contentCategory: category, pinned });
      if (isVirtual(model) || !(await this.#parts.setModel(model))) return this.#refused(ctx, category, from);
      return { type: "changed", category, from, to: modelName(model) };
    } catch {
      // No labelled model, or one that the host does not take.
      return this.#refused(ctx, category, from);
    }
  }

  /** Why nothing may be sent to these models; undefined when it may. */
  problem(ctx: HostContext, models: readonly (HostModel | undefined)[]): TokenBudgetError | undefined {
    const classification = this.classification(ctx);
    if (classification.type === "unknown") return undecided(classification.problem);
    const { category } = classification;
    if (category === null) return undefined;
    const wrong = models.find((model) => model !== undefined && !this.#mayReceive(ctx, category, model));
    return wrong && new CategoryModelError(category, labelledModels(this.#labels(ctx), category), modelName(wrong));
  }

  /**
   * Writes what the session's content is to the log and the registry, where either lacks it. Rejects when it cannot be
   * written: until it is, others may take the content for ordinary.
   */
  async agree(ctx: HostContext): Promise<void> {
    const facts = this.#registered(ctx);
    const classification = classify({ ...facts, log: this.#logged(ctx) });
    if (classification.type === "unknown") return;
    const { category } = classification;
    const { registry } = facts;
    if (registry.type === "said" && registry.category !== category) {
      const { task } = this.#parts.sessionOf(ctx);
      await task.join();
      await task.registry.raiseCategory(task.place, category);
    }
    this.#say(ctx, category);
  }

  /** Writes what the session was declared to be on a log that says nothing yet; ordinary content needs no word. */
  sayDeclared(ctx: HostContext, declared: Category): void {
    if (declared !== null && this.#logged(ctx).type === "silent")
      this.#parts.mark(CATEGORY_ENTRY, { category: declared });
  }

  isChild(ctx: HostContext): boolean {
    return this.#registered(ctx).isChild;
  }

  /** A person's decision: it moves everything below this session too. */
  async decide(ctx: HostContext, category: Category): Promise<void> {
    const { task } = this.#parts.sessionOf(ctx);
    await task.join();
    await task.registry.setCategory(task.place, category);
    this.#say(ctx, category);
  }

  /** Writes the category on the log, unless the log says so already. A silent log means ordinary content. */
  #say(ctx: HostContext, category: Category): void {
    const log = this.#logged(ctx);
    if (log.type === "silent" && category === null) return;
    const { registry } = this.#registered(ctx);
    const counts = log.type === "said" && !(registry.type === "said" && isOutdated(log, registry));
    if (!counts || log.category !== category) this.#parts.mark(CATEGORY_ENTRY, { category });
  }

  #registered(ctx: HostContext): { readonly registry: RegistryCategory; readonly isChild: boolean } {
    try {
      return registered(this.#parts.sessionOf(ctx).task);
    } catch (error) {
      return { registry: { type: "unreadable", problem: messageOf(error) }, isChild: false };
    }
  }

  #logged(ctx: HostContext): LogCategory {
    try {
      return this.#parts.sessionOf(ctx).loggedCategory();
    } catch {
      return categoryOnLog(entriesOf(ctx));
    }
  }

  #labels(ctx: HostContext): CategoryModels {
    try {
      this.#known = this.#parts.sessionOf(ctx).categories;
    } catch {
      this.#known = new Map();
    }
    return this.#known;
  }

  #mayReceive(ctx: HostContext, category: string, model: HostModel): boolean {
    return !isVirtual(model) && mayReceive(this.#labels(ctx), category, model);
  }

  #refused(ctx: HostContext, category: string, from: string): ModelChoice {
    const labelled = labelledModels(this.#labels(ctx), category);
    return { type: "refused", error: new CategoryModelError(category, labelled, from) };
  }
}

function registered(task: Pick<GuardedTask, "agent" | "parent" | "agentNamed">): {
  readonly registry: RegistryCategory;
  readonly isChild: boolean;
} {
  const isChild = task.parent !== null;
  try {
    const { category, decided } = task.agentNamed(task.agent);
    return { registry: { type: "said", category, ...(decided === undefined ? {} : { decided }) }, isChild };
  } catch (error) {
    return { registry: { type: "unreadable", problem: messageOf(error) }, isChild };
  }
}

/**
 * What a session's content is, for reading others' and for writing to them. Throws when that cannot be known, as when the
 * registry cannot be read: then nothing of others is read.
 */
export function contentCategory(
  task: Pick<GuardedTask, "agent" | "parent" | "agentNamed">,
  log: LogCategory,
): Category {
  const { registry, isChild } = registered(task);
  if (registry.type === "unreadable") throw new TokenBudgetError("refused", registry.problem);
  const classification = classify({ registry, isChild, log });
  if (classification.type === "unknown") throw new TokenBudgetError("refused", classification.problem);
  return classification.category;
}

const WAY_OUT =
  "To continue here, choose a model with that label by /model, or say /category none if this content is ordinary.";

/** Why a request was stopped, and what a person can do. */
export function shownToPerson(error: Error): string {
  return error instanceof CategoryModelError ? `${error.message} ${WAY_OUT}` : error.message;
}

function undecided(problem: string): TokenBudgetError {
  return new TokenBudgetError(
    "refused",
    `Nothing is sent to a model, since it is not known which category this session's content is of: ${problem}`,
  );
}
