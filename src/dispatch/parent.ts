// What a dispatcher needs of the session that dispatches, as `getTokenBudgetTask` answers it: its place in the root task,
// and the one door to models.
import type { Category } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";
import type { TaskSettings } from "./settings.ts";

export interface RouteQuestion {
  /** Null is ordinary content. */
  readonly contentCategory: Category;
  /** `provider/id`, when somebody chose it. */
  readonly pinned?: string | undefined;
  readonly candidates?: readonly string[] | undefined;
}

/** Chooses a model, `provider/id`, that may see the content; undefined leaves ordinary content to the host's default. */
export type RouteDoor = (request: RouteQuestion) => string | undefined | Promise<string | undefined>;

export interface DispatchParent {
  readonly context: TaskContext;
  /** Its address. */
  readonly agentName: string;
  /** Whether the session has ended: then nothing is dispatched any more. */
  readonly ended?: boolean | undefined;
  /** Its own category; throws when the registry cannot be read. */
  category(): Category;
  /**
   * Every agent of the root task, and what its content is: undefined when nobody can say it. Throws when the registry
   * cannot be read.
   */
  agents(): readonly { readonly agentName: string; readonly category: Category | undefined }[];
  /** Registers the session and writes the extension of its children. */
  childExtension(): Promise<string>;
  /** Without it, content of a category is not dispatched. */
  readonly route?: RouteDoor | undefined;
  /** The model of the dispatching session, `provider/id`: what ordinary tasks get when nobody chooses. */
  readonly model?: (() => string | undefined) | undefined;
  /** The host's models as its sessions share them (`ctx.modelRegistry`); a child session uses them too. */
  readonly models?: (() => unknown) | undefined;
  /** The SDK of the host that runs the session. */
  readonly sdk?: (() => Promise<unknown>) | undefined;
  /** Resolves when what the session has said so far is in its journal: children are told of it from there. */
  readonly flush?: (() => Promise<void>) | undefined;
  /** The person's settings for tasks. */
  readonly settings?: (() => Partial<TaskSettings>) | undefined;
}
