// How another program finds the root task of a session: asked and answered over the session's event bus, so that it
// works across copies of this package.

import type { RouteQuestion } from "./dispatch/parent.ts";
import type { TaskSettings } from "./dispatch/settings.ts";
import type { TokenBudgetError } from "./errors.ts";
import type { HostApi } from "./host/api.ts";
import { assertArgument, assertObject, FILLED_TEXT, fieldOf, optional } from "./options.ts";
import { isRecord } from "./shapes.ts";
import type { Category } from "./task/category.ts";
import type { ChildPlace, TaskContext } from "./task/context.ts";
import type { TaskAgent } from "./task/roster.ts";

/** Questions for the task of a session. */
export const TASK_CHANNEL = "pi-token-budget:task";
const TASK_PROTOCOL = 1;

/** An agent of a root task, as launchers see it. */
export interface AgentInfo {
  /** `/root`, or an address below it. */
  readonly agentName: string;
  /** Address of its parent; null for the root. */
  readonly parentAgentName: string | null;
  /** Pi's id of its session. */
  readonly sessionId: string;
  /** Absolute path; null for a session in memory. */
  readonly sessionFile: string | null;
  /** What its content is: a label, null for ordinary content; undefined when it is not known, and then no agent may read it. */
  readonly category: Category | undefined;
  /** When it was registered, ISO 8601. */
  readonly created: string;
  /** Whether a process has its session open now. */
  readonly running: boolean;
}

/** An agent as the registry has it, with what its content is. */
export function agentInfo(agent: TaskAgent, category: Category | undefined): AgentInfo {
  const { address: agentName, parent: parentAgentName, sessionId, sessionFile, created, running } = agent;
  return { agentName, parentAgentName, sessionId, sessionFile, category, created, running };
}

/** A session's place in its root task, as long as the session lasts. */
export interface TokenBudgetTask {
  /**
   * Pass it on to children: `{ task: { ...context, parentAgentName: agentName } }`; plain JSON without secrets.
   *
   * @throws TokenBudgetError what `problem` is, where there is one; `storage_failed`: the task's folder cannot be made.
   */
  readonly context: TaskContext;
  /** Why the session could not join the root task that it was given; undefined when it did, or was given none. */
  readonly problem: TokenBudgetError | undefined;
  /** This session's address: `/root`, or one below it; `/apart` where there is a `problem`. */
  readonly agentName: string;
  /** Address of its parent; null for the root. */
  readonly parentAgentName: string | null;
  /** Pi's id of this session. */
  readonly sessionId: string;
  /**
   * All agents of the task, in the order of registration.
   *
   * @throws TokenBudgetError `storage_failed`, `refused`, `newer_format`: the registry cannot be read, or breaks a rule.
   */
  agents(): readonly AgentInfo[];
  /**
   * What this session's content is: a label, or null for ordinary content.
   *
   * @throws TokenBudgetError `storage_failed`, `refused`, `newer_format`: it cannot be known.
   */
  category(): Category;
  /** True from the end of the session on; then it dispatches nothing any more. */
  readonly ended: boolean;
  /**
   * Writes the extension that children load (`pi -e <path>`), and answers its absolute path. Without a place it is for any
   * number of children with automatic names. With one it is for that child; its parent is this session when left out.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`, `invalid_address`: the place; `missing_field`:
   * `packageDirectory`, in a bundle; `storage_failed`, `lock_unavailable`: the disk; what `problem` is, where there is one.
   */
  childExtension(child?: ChildPlace): Promise<string>;
  /** The model in use, `provider/id`; undefined when there is none. Throws Pi's own error when the session has ended. */
  model(): string | undefined;
  /**
   * Chooses a model, `provider/id`, among the host's models with credentials, that may see content of a category.
   *
   * @throws CategoryModelError `category_model`: none with the label is there.
   * @throws TokenBudgetError `not_found`: the pinned model is not there, or no model is; `missing_field`,
   * `invalid_argument`: the question.
   */
  route(question: RouteQuestion): string;
  /** The host's models, as extensions see them (`ctx.modelRegistry`). Throws Pi's own error when the session has ended. */
  models(): unknown;
  /**
   * The SDK of the host that runs this session: Pi's own module.
   *
   * @throws Error (rejects) it is not found; the message says where it was looked for.
   */
  sdk(): Promise<unknown>;
  /** The person's settings for dispatched tasks, for the model in use. Throws Pi's own error when the session has ended. */
  settings(): TaskSettings;
  /** Resolves when everything that this session has said can be read by the other agents. Never rejects. */
  flush(): Promise<void>;
}

/** Answers questions for a task; call what is returned when the session ends. */
export function announceTask(events: HostApi["events"], task: () => TokenBudgetTask | undefined): () => void {
  return events.on(TASK_CHANNEL, (question) => {
    if (!isRecord(question) || question.protocol !== TASK_PROTOCOL || typeof question.answer !== "function") return;
    const own = task();
    const isMeant = question.sessionId === undefined || question.sessionId === own?.sessionId;
    if (own && isMeant) question.answer(own);
  });
}

/** Newer hosts close the interface of a session that has ended: then it throws, and counts as one anyway. */
const PI = fieldOf("Pi's extension interface, or an object with its events", (value) => {
  if (!isRecord(value)) return false;
  try {
    return isRecord(value.events) && typeof value.events.emit === "function";
  } catch {
    return true;
  }
});

/** Which session's task is asked for. */
export interface FindTaskOptions {
  /** Pi's id of the session that is meant, where several share one event bus; left out, the one that was loaded first. */
  readonly sessionId?: string;
}

/**
 * The task of a session, by its extension interface. Undefined before the session has started, after it has ended, and
 * where pi-token-budget is not loaded or switched off.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`: what is no interface of Pi, or an option that there is not.
 */
export function getTokenBudgetTask(
  pi: {
    /** Pi's event bus, over which the session is asked. */
    readonly events: HostApi["events"];
  },
  options: FindTaskOptions = {},
): TokenBudgetTask | undefined {
  assertArgument("getTokenBudgetTask", "pi", pi, PI);
  assertObject(options, {
    of: "getTokenBudgetTask",
    what: "the options",
    fields: { sessionId: optional(FILLED_TEXT) },
  });
  const { sessionId } = options;
  let task: TokenBudgetTask | undefined;
  const answer = (given: TokenBudgetTask) => {
    task ??= given;
  };
  const question = { protocol: TASK_PROTOCOL, answer, ...(sessionId === undefined ? {} : { sessionId }) };
  try {
    pi.events.emit(TASK_CHANNEL, question);
  } catch {
    // Newer hosts close the interface of a session that has ended.
    return undefined;
  }
  return task;
}
