// The root task as other programs find it, and the extension with which children join it.
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
import type { Session } from "../session/session.ts";
import { type TaskEntryOptions, writeTaskEntry } from "../subagents/child-entry.ts";
import type { ChildPlace } from "../task/context.ts";
import type { Sessions, Wiring } from "./sessions.ts";

/** Other programs find the root task from session_start to session_shutdown. */
export function launcherSteps(host: Host, sessions: Sessions, wiring: Wiring) {
  let current: TokenBudgetTask | undefined;
  let unsubscribe = announceTask(host.events, () => current);
  return {
    announce: (_event: object, ctx: HostContext) => {
      const session = sessions.of(ctx);
      current = launcherTask(session, wiring, () => sessions.opened !== session);
      unsubscribe();
      unsubscribe = announceTask(host.events, () => current);
    },
    withdraw: () => {
      current = undefined;
      unsubscribe();
    },
  };
}

/** Brings a session's entry in the registry up to its log: children may inherit from there. */
async function raise({ task, access }: Session): Promise<void> {
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

/** A task is registered before children get its context. */
export async function childExtension(session: Session, options: TaskEntryOptions = {}): Promise<string> {
  const { task } = session;
  const { child } = options;
  if (child !== undefined) assertChildPlace("childExtension", child);
  task.assertJoined("An extension for children");
  await task.join();
  // What cannot be written is met again by the child when it registers, and then it takes nothing for ordinary.
  await raise(session).catch(() => undefined);
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
  session: Session,
  { runningOn, packageDirectory }: Pick<Wiring, "runningOn" | "packageDirectory">,
  hasEnded: () => boolean = () => false,
): TokenBudgetTask {
  const { task, access, sessionId } = session;
  const given = Object.freeze({ ...task.context });
  return Object.freeze({
    get context() {
      task.assertJoined("A context for children");
      // Children find the task, though nothing has been said in it yet.
      if (!task.registry.holdsTask()) task.registry.makeDirectory();
      // A session with children must count as running; `problem` reports a place that is not the session's own.
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
    category: () => session.category(),
    get ended() {
      return hasEnded();
    },
    childExtension: (child?: ChildPlace) => childExtension(session, { packageDirectory, child }),
    model: () => {
      const { model } = session.context();
      return model && `${model.provider}/${model.id}`;
    },
    route: (question: RouteQuestion) => routed(question, session.categories, session.context()),
    models: () => session.context().modelRegistry,
    sdk: () => loadHostSdk(runningOn),
    settings: () => session.settings(),
    flush: () => session.flush(),
  });
}
