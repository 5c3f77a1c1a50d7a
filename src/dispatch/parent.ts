// The session that dispatches, as a dispatcher sees it.
import type { Category } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";
import type { TaskSettings } from "./settings.ts";

/** A question to the model router. */
export interface RouteQuestion {
  /** Category of the content; null is ordinary. It is never left out. */
  readonly contentCategory: Category;
  /** `provider/id` of the model that was asked for; left out when none was. */
  readonly pinned?: string | undefined;
  /** Models to try, `provider/id`, the best first; none when left out. */
  readonly candidates?: readonly string[] | undefined;
}

/** Chooses a model, `provider/id`, that may see the content; undefined leaves ordinary content to the host's default. */
export type RouteDoor = (request: RouteQuestion) => string | undefined | Promise<string | undefined>;

/** The session that dispatches. What `getTokenBudgetTask` returns is one. */
export interface DispatchParent {
  /** The root task in which tasks are agents. */
  readonly context: TaskContext;
  /** Its address: `/root`, or one below it. */
  readonly agentName: string;
  /** Whether the session has ended, after which nothing is dispatched. Left out, it never has. */
  readonly ended?: boolean | undefined;
  /**
   * Category of its own content.
   *
   * @throws TokenBudgetError `refused`, `storage_failed`, `newer_format`: the category cannot be known.
   */
  category(): Category;
  /**
   * Every agent of the root task.
   *
   * @throws TokenBudgetError `refused`, `storage_failed`, `newer_format`: the registry cannot be read.
   */
  agents(): readonly {
    /** Its address. */
    readonly agentName: string;
    /** Category of its content: a label, null for ordinary content, undefined when it cannot be known. */
    readonly category: Category | undefined;
  }[];
  /**
   * Registers the session and writes the extension of its children; returns its absolute path.
   *
   * @throws TokenBudgetError (rejects) `storage_failed`, `lock_unavailable`, `missing_field`: it cannot be written.
   */
  childExtension(): Promise<string>;
  /** Chooses models; without it, content of a category is not dispatched. */
  readonly route?: RouteDoor | undefined;
  /** The dispatching session's model, `provider/id`, for ordinary tasks that ask for none; left out, the runner chooses. */
  readonly model?: (() => string | undefined) | undefined;
  /** The host's models as its sessions share them (`ctx.modelRegistry`), for child sessions; left out, they find their own. */
  readonly models?: (() => unknown) | undefined;
  /** The SDK of the host that runs the session, for child sessions; left out, it is searched for from the running program. */
  readonly sdk?: (() => Promise<unknown>) | undefined;
  /**
   * Resolves when the session's journal is up to date, since children read earlier turns from it; left out, they get what
   * it holds.
   */
  readonly flush?: (() => Promise<void>) | undefined;
  /** The person's settings for tasks; the defaults when left out. */
  readonly settings?: (() => Partial<TaskSettings>) | undefined;
}

/** Categories of agents' content, by address: undefined when unknown, null for an agent that never registered. */
export function categoriesOf(parent: DispatchParent): (address: string) => Category | undefined {
  const categories = new Map(parent.agents().map(({ agentName, category }) => [agentName, category]));
  return (address) => (categories.has(address) ? categories.get(address) : null);
}
