// What a dispatcher needs of the session that dispatches, as `getTokenBudgetTask` answers it: its place in the root task,
// and the one door to models.
import type { Category } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";
import type { TaskSettings } from "./settings.ts";

/** What a model is wanted for, by names. */
export interface RouteQuestion {
  /** What the content is; null is ordinary. It is never left out. */
  readonly contentCategory: Category;
  /** `provider/id` of the model that somebody chose; left out when nobody did. */
  readonly pinned?: string | undefined;
  /** Models to try, `provider/id`, the best first; none when left out. */
  readonly candidates?: readonly string[] | undefined;
}

/** Chooses a model, `provider/id`, that may see the content; undefined leaves ordinary content to the host's default. */
export type RouteDoor = (request: RouteQuestion) => string | undefined | Promise<string | undefined>;

/** The session that dispatches: what `getTokenBudgetTask` answers fits as it is. */
export interface DispatchParent {
  /** The root task in which tasks are agents. */
  readonly context: TaskContext;
  /** Its address: `/root`, or one below it. */
  readonly agentName: string;
  /** Whether the session has ended: then nothing is dispatched any more. Left out, it never has. */
  readonly ended?: boolean | undefined;
  /**
   * What its own content is.
   *
   * @throws TokenBudgetError `refused`, `storage_failed`, `newer_format`: nobody can know it.
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
    /** What its content is: a label, null for ordinary content, undefined when nobody can say it. */
    readonly category: Category | undefined;
  }[];
  /**
   * Registers the session and writes the extension of its children; answers its absolute path.
   *
   * @throws TokenBudgetError (rejects) `storage_failed`, `lock_unavailable`, `missing_field`: it cannot be written.
   */
  childExtension(): Promise<string>;
  /** Chooses models; without it, content of a category is not dispatched. */
  readonly route?: RouteDoor | undefined;
  /** The model of the dispatching session, `provider/id`, which ordinary tasks get when nobody chooses; none when left out. */
  readonly model?: (() => string | undefined) | undefined;
  /** The host's models as its sessions share them (`ctx.modelRegistry`), for child sessions; left out, they find their own. */
  readonly models?: (() => unknown) | undefined;
  /** The SDK of the host that runs the session, for child sessions; left out, it is looked for beside the program. */
  readonly sdk?: (() => Promise<unknown>) | undefined;
  /**
   * Resolves when what the session has said so far is in its journal, from which children are told of it; left out, they
   * are told what is there.
   */
  readonly flush?: (() => Promise<void>) | undefined;
  /** The person's settings for tasks; the defaults when left out. */
  readonly settings?: (() => Partial<TaskSettings>) | undefined;
}
