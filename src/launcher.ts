// How another program finds the root task of a session: asked and answered over the session's event bus, so that it
// works across copies of this package.

import type { RouteQuestion } from "./dispatch/parent.ts";
import type { TaskSettings } from "./dispatch/settings.ts";
import type { TokenBudgetError } from "./errors.ts";
import type { HostApi } from "./host/api.ts";
import { assertArgument, assertObject, FILLED_TEXT, fieldOf, optional } from "./options.ts";
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
  /** Null for the root. */
  readonly parentAgentName: string | null;
  readonly sessionId: string;
  /** Absolute path; null for a session in memory. */
  readonly sessionFile: string | null;
  /** Null for ordinary content; undefined when nobody can say what it is, and then nobody may read it. */
  readonly category: Category | undefined;
  /** ISO 8601. */
  readonly created: string;
  /** Whether a process runs it now. */
  readonly running: boolean;
}

/** An agent as the registry has it, with what its content is. */
export function agentInfo(agent: TaskAgent, category: Category | undefined): AgentInfo {
  const { address: agentName, parent: parentAgentName, sessionId, sessionFile, created, running } = agent;
  return { agentName, parentAgentName, sessionId, sessionFile, category, created, running };
}

/** A session's place in its root task. */
export interface TokenBudgetTask {
  /** To be passed on to children: `{ task: { ...context, parentAgentName: agentName } }`. Throws where there is a `problem`. */
  readonly context: TaskContext;
  /** Why the session could not join the root task that it was given; undefined when it did, or was given none. */
  readonly problem: TokenBudgetError | undefined;
  readonly agentName: string;
  readonly parentAgentName: string | null;
  readonly sessionId: string;
  /** All agents of the task, in the order of registration. Throws when the registry cannot be read. */
  agents(): readonly AgentInfo[];
  /** What this session's content is. Throws when that cannot be known. */
  category(): Category;
  /** True from the end of the session on; then it dispatches nothing any more. */
  readonly ended: boolean;
  /**
   * Writes the extension that children load (`pi -e <path>`), and answers its absolute path. Without a place it is for any
   * number of children with automatic names. With one it is for that child; its parent is this session when left out.
   */
  childExtension(child?: ChildPlace): Promise<string>;
  /** The model in use, `provider/id`. */
  model(): string | undefined;
  /** Chooses a model, `provider/id`, that may see content of a category; null is ordinary. */
  route(question: RouteQuestion): string;
  /** The host's models, as extensions see them. */
  models(): unknown;
  /** The SDK of the host that runs this session. */
  sdk(): Promise<unknown>;
  /** The person's settings for dispatched tasks. */
  settings(): TaskSettings;
  /** Resolves when everything that this session has said can be read by the other agents. */
  flush(): Promise<void>;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

/** Newer hosts close the interface of a session that has ended: then it throws, and is one all the same. */
const PI = fieldOf("Pi's extension interface, or an object with its events", (value) => {
  if (!isRecord(value)) return false;
  try {
    return isRecord(value.events) && typeof value.events.emit === "function";
  } catch {
    return true;
  }
});

export interface FindTaskOptions {
  /** Which session, where several share one event bus; left out, the one that was loaded first. */
  readonly sessionId?: string;
}

/**
 * The task of a session, by its extension interface. Undefined before the session has started, after it has ended, and
 * where pi-token-budget is not loaded or switched off.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`: what is no interface of Pi, or an option that there is not.
 */
export function getTokenBudgetTask(
  pi: { readonly events: HostApi["events"] },
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
