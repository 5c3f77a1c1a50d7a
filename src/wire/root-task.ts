// The root task: the journal from which other agents read, what other programs find, and the children of pi-subagents.
import { type CategoryModels, modelName } from "../category/labels.ts";
import { createRouter } from "../category/router.ts";
import type { RouteQuestion } from "../dispatch/parent.ts";
import type { HostContext } from "../host/api.ts";
import type { Host } from "../host/host.ts";
import { notify } from "../host/host.ts";
import { realModels } from "../host/models.ts";
import { loadHostSdk } from "../host/sdk.ts";
import { announceTask, type TokenBudgetTask } from "../launcher.ts";
import type { SessionParts } from "../session.ts";
import { SubagentsAdapter } from "../subagents/adapter.ts";
import { writeTaskEntry } from "../subagents/child-entry.ts";
import { missingToolsNotice } from "../subagents/diagnostics.ts";
import type { CurrentSession, Wiring } from "./current.ts";

/** Other programs find the root task from session_start to session_shutdown. */
export function wireLauncher(host: Host, session: CurrentSession, wiring: Wiring): void {
  let current: TokenBudgetTask | undefined;
  let unsubscribe = announceTask(host.events, () => current);
  host.on("session_start", (_event, ctx) => {
    current = launcherTask(session.of(ctx), wiring);
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
 * answer before it goes on from an overflow when a handler there takes its time.
 */
export function wireJournal(host: Host, session: CurrentSession): void {
  const sync = (_event: unknown, ctx: HostContext) => {
    void session.of(ctx).access.sync();
    return undefined;
  };
  host.on("tool_call", sync);
  host.on("tool_result", sync);
  host.on("session_tree", sync);
  host.on("session_compact", sync);
}

/** Brings a session's entry in the registry up to its log: children may inherit from there. */
async function raised({ task, access }: SessionParts): Promise<void> {
  const registered = task.agentNamed(task.agent);
  const content = access.contentOf(registered);
  if (content !== undefined && content !== registered.category) await task.registry.raiseCategory(task.agent, content);
}

/** A task that children are told of is registered. */
async function childExtension(parts: SessionParts): Promise<string> {
  const { task } = parts;
  await task.join();
  // What cannot be written is met again by the child when it registers, and then it takes nothing for ordinary.
  await raised(parts).catch(() => undefined);
  return writeTaskEntry(task);
}

/** The one door to models, asked and answered by names. */
function routed(
  { contentCategory, pinned, candidates = [] }: RouteQuestion,
  categories: CategoryModels,
  ctx: HostContext,
): string {
  const palette = realModels(ctx);
  const named = (name: string | undefined) => palette.find((model) => modelName(model) === name);
  const route = createRouter({ categories, palette: () => palette, lastResort: () => ctx.model });
  const known = candidates.map(named).filter((model) => model !== undefined);
  return modelName(route({ contentCategory, pinned: named(pinned), candidates: known }));
}

/** A session's place in its root task, as other programs get it. */
export function launcherTask(parts: SessionParts, { runningOn }: Pick<Wiring, "runningOn">): TokenBudgetTask {
  const { task, access, sessionId, context, settings, categories } = parts;
  return Object.freeze({
    context: Object.freeze({ ...task.context }),
    agentName: task.agent,
    parentAgentName: task.parent,
    sessionId,
    agents: () =>
      task.agents().map((agent) => ({
        agentName: agent.address,
        parentAgentName: agent.parent,
        sessionId: agent.sessionId,
        sessionFile: agent.sessionFile,
        category: access.contentOf(agent),
        created: agent.created,
        running: agent.running,
      })),
    category: () => parts.category(),
    childExtension: () => childExtension(parts),
    model: () => {
      const { model } = context();
      return model && `${model.provider}/${model.id}`;
    },
    route: (question: RouteQuestion) => routed(question, categories, context()),
    models: () => context().modelRegistry,
    sdk: () => loadHostSdk(runningOn),
    settings,
  });
}

/** The children that pi-subagents starts, and what is said in one. */
export function wireChildren(host: Host, session: CurrentSession, { env, modulePath, surroundings }: Wiring): void {
  let adapter: SubagentsAdapter | undefined;
  let registering: Promise<void> | undefined;
  host.on("session_start", (_event, ctx) => {
    adapter?.close();
    adapter = undefined;
    const parts = session.of(ctx);
    const { task, agent, sessionId } = parts;
    if (task.parent !== null) {
      const notice = missingToolsNotice(agent, host.activeTools());
      if (notice !== undefined) notify(ctx, notice, "warning");
      return undefined;
    }
    adapter = new SubagentsAdapter();
    const writeEntry = () => childExtension(parts);
    registering = adapter.start({ tools: host.allTools(), modulePath, env, sessionId, writeEntry }).then((result) => {
      surroundings.adapter = result;
      if (result.type === "unavailable") notify(ctx, result.diagnostic, "warning");
    });
    return undefined;
  });
  // Children are only started in a run.
  host.on("before_agent_start", async () => {
    await registering;
    return undefined;
  });
  host.on("session_shutdown", () => {
    adapter?.close();
    adapter = undefined;
    return undefined;
  });
}
