// The root task: the journal from which other agents read, what other programs find, and the children of pi-subagents.
import { type CategoryModels, modelName } from "../category/labels.ts";
import { createRouter } from "../category/router.ts";
import type { RouteQuestion } from "../dispatch/parent.ts";
import { shownValue, TokenBudgetError } from "../errors.ts";
import type { HostContext } from "../host/api.ts";
import type { Host } from "../host/host.ts";
import { realModels } from "../host/models.ts";
import { loadHostSdk } from "../host/sdk.ts";
import { agentInfo, announceTask, type TokenBudgetTask } from "../launcher.ts";
import { ANYTHING, assertObject, FILLED_TEXT, type Fields, optional, YES_NO } from "../options.ts";
import type { SessionParts } from "../session.ts";
import { type TaskEntryOptions, writeTaskEntry } from "../subagents/child-entry.ts";
import type { ChildPlace } from "../task/context.ts";
import type { CurrentSession, Wiring } from "./current.ts";

/** Other programs find the root task from session_start to session_shutdown. */
export function wireLauncher(host: Host, session: CurrentSession, wiring: Wiring): void {
  let current: TokenBudgetTask | undefined;
  let unsubscribe = announceTask(host.events, () => current);
  host.on("session_start", (_event, ctx) => {
    const parts = session.of(ctx);
    current = launcherTask(parts, wiring, () => session.opened !== parts);
    unsubscribe();
    unsubscribe = announceTask(host.events, () => current);
    return undefined;
  });
  host.on("session_shutdown", () => {
    current = undefined;
    unsubscribe();
    return undefined;
  });
}

/**
 * Where the journal is brought up to the log, beside each request, compactions and the settled boundary: behind every
 * message of a running loop. Not at `message_end` itself: some hosts write the message only after it, and 0.73.1 prints an
 * answer before it goes on from an overflow when a handler there takes its time. 0.73.1 tells of the end of a run when
 * `prompt()` has resolved, and the program may have disposed of the session by then: no context is asked for anything.
 */
export function wireJournal(host: Host, session: CurrentSession): void {
  const sync = () => {
    void session.opened?.access.sync();
    return undefined;
  };
  // A turn goes to the disk once, with its results, beside the next request; a tool that runs is seen before that.
  const show = () => {
    void session.opened?.access.show();
    return undefined;
  };
  for (const event of ["session_tree", "session_compact"] as const) host.on(event, sync);
  for (const event of ["tool_call", "tool_result"] as const) host.on(event, show);
  wireExit(host, session);
}

/** From the start of a run until all of it is in the journal, a process that ends writes down what is missing. */
function wireExit(host: Host, session: CurrentSession): void {
  let armed: (() => void) | undefined;
  let runs = 0;
  const disarm = (): undefined => {
    if (armed) onExit(armed, "off");
    armed = undefined;
  };
  host.on("agent_start", () => {
    const access = session.opened?.access;
    runs++;
    if (armed || !access) return undefined;
    armed = () => access.syncNow();
    onExit(armed, "on");
    return undefined;
  });
  host.on("agent_end", () => {
    const ended = runs;
    const access = session.opened?.access;
    void access?.sync().then(() => {
      if (ended !== runs) return;
      access.rest();
      disarm();
    });
    return undefined;
  });
  host.on("session_shutdown", disarm);
}

/** Any number of sessions may run in one process, so each makes room for its own listener. */
function onExit(listener: () => void, how: "on" | "off"): void {
  if (how === "off") process.off("exit", listener);
  const limit = process.getMaxListeners();
  // No limit stays none.
  if (limit > 0) process.setMaxListeners(Math.max(1, limit + (how === "on" ? 1 : -1)));
  if (how === "on") process.on("exit", listener);
}

/** Brings a session's entry in the registry up to its log: children may inherit from there. */
async function raised({ task, access }: SessionParts): Promise<void> {
  const registered = task.agentNamed(task.agent);
  const content = access.contentOf(registered);
  if (content !== undefined && content !== registered.category) await task.registry.raiseCategory(task.place, content);
}

const CHILD: Fields = {
  agentName: optional(FILLED_TEXT),
  parentAgentName: optional(FILLED_TEXT),
  category: optional(ANYTHING),
  required: optional(YES_NO),
};

/** Checks where a launcher places a child; what can stand there is judged with the rest of the membership. */
export function assertChildPlace(of: string, child: ChildPlace): void {
  assertObject(child, { of, what: "the child", fields: CHILD });
}

/** A task that children are told of is registered. */
export async function childExtension(parts: SessionParts, options: TaskEntryOptions = {}): Promise<string> {
  const { task } = parts;
  const { child } = options;
  if (child !== undefined) assertChildPlace("childExtension", child);
  task.assertJoined("An extension for children");
  await task.join();
  // What cannot be written is met again by the child when it registers, and then it takes nothing for ordinary.
  await raised(parts).catch(() => undefined);
  return writeTaskEntry(task, options);
}

/** Models named in an error. */
const SHOWN_MODELS_MAX = 10;

/** The one door to models, asked and answered by names. */
function routed(
  { contentCategory, pinned, candidates = [] }: RouteQuestion,
  categories: CategoryModels,
  ctx: HostContext,
): string {
  const palette = realModels(ctx);
  const named = (name: string | undefined) => palette.find((model) => modelName(model) === name);
  const route = createRouter({ categories, palette: () => palette, lastResort: () => ctx.model });
  if (pinned !== undefined && named(pinned) === undefined) {
    const names = palette.map(modelName);
    const more = names.length > SHOWN_MODELS_MAX ? `, and ${names.length - SHOWN_MODELS_MAX} more` : "";
    const listed = names.length === 0 ? "none" : `${names.slice(0, SHOWN_MODELS_MAX).join(", ")}${more}`;
    throw new TokenBudgetError(
      "not_found",
      `model is ${shownValue(pinned)}, which is not one of the host's models with credentials: ${listed}. Name one of these, or leave model out to have one chosen.`,
    );
  }
  const known = candidates.map(named).filter((model) => model !== undefined);
  return modelName(route({ contentCategory, pinned: named(pinned), candidates: known }));
}

/** A session's place in its root task, as other programs get it. */
export function launcherTask(
  parts: SessionParts,
  { runningOn, packageDirectory }: Pick<Wiring, "runningOn" | "packageDirectory">,
  hasEnded: () => boolean = () => false,
): TokenBudgetTask {
  const { task, access, sessionId, context, settings, categories } = parts;
  const given = Object.freeze({ ...task.context });
  return Object.freeze({
    get context() {
      task.assertJoined("A context for children");
      // Children find the task, though nobody has said anything in it yet.
      if (!task.registry.holdsTask()) task.registry.makeDirectory();
      // Who is given children is seen to run; a place that is not the session's own is told by `problem`.
      void task.join().catch(() => undefined);
      return given;
    },
    get problem() {
      return task.problem;
    },
    agentName: task.agent,
    parentAgentName: task.parent,
    sessionId,
    agents: () => task.agents().map((agent) => agentInfo(agent, access.contentOf(agent))),
    category: () => parts.category(),
    get ended() {
      return hasEnded();
    },
    childExtension: (child?: ChildPlace) => childExtension(parts, { packageDirectory, child }),
    model: () => {
      const { model } = context();
      return model && `${model.provider}/${model.id}`;
    },
    route: (question: RouteQuestion) => routed(question, categories, context()),
    models: () => context().modelRegistry,
    sdk: () => loadHostSdk(runningOn),
    settings,
    flush: () => parts.flush(),
  });
}
