// The composition root: builds the parts of one session and wires the host's events to them. No decisions here.
import { setTimeout as delay } from "node:timers/promises";
import { agentDirectory } from "./host/agent-dir.ts";
import type { HostApi, HostContext, SessionStartEvent } from "./host/api.ts";
import { claimSession, type SessionOwner, type StandingDown } from "./host/copies.ts";
import { compact, endsWithRun, Host, hasStarted, modelTakesImages, notify } from "./host/host.ts";
import type { IsOverflow } from "./host/overflow.ts";
import type { Settled } from "./host/settled.ts";
import { GUIDANCE, GUIDANCE_OPEN } from "./prompts.ts";
import { openSession, type SessionParts } from "./session.ts";
import { SubagentsAdapter } from "./subagents/adapter.ts";
import { writeTaskEntry } from "./subagents/child-entry.ts";
import { missingToolsNotice } from "./subagents/diagnostics.ts";
import { ownPackage } from "./subagents/packages.ts";
import { parseMembership, type TaskMembership } from "./task/context.ts";
import { Joining } from "./task/joining.ts";
import { contextTools } from "./tools/context.ts";
import { defineTool, type ToolTable } from "./tools/define.ts";
import { historyTools } from "./tools/history.ts";
import { notesTools } from "./tools/notes.ts";
import { TOOL_NAMES, type ToolName } from "./tools/specs.ts";
import { contextCommand } from "./ui/commands.ts";
import type { StartControlTurn } from "./window/shell.ts";

export interface TokenBudgetOptions {
  /** Joins the session to the root task of another one: `{ ...task.context, parentAgentName?, agentName?, category? }`. */
  readonly task?: TaskMembership;
  readonly subagents?: {
    /** Where pi-subagents, or its module `required-child-extensions`, is; default: found from its tools. */
    readonly modulePath?: string;
  };
  /** Read instead of the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Pi's own judgement of a response (pi-ai); without it the providers' usual words are looked for. */
  readonly isContextOverflow?: IsOverflow;
}

/** An extension factory as every supported Pi takes it; the argument is Pi's extension interface. */
export type TokenBudgetExtension = (pi: object) => void;

/** Makes the extension. Each factory call serves one session at a time and shares no state with any other. */
export function createTokenBudgetExtension(options: TokenBudgetOptions = {}): TokenBudgetExtension {
  const env = options.env ?? process.env;
  const given = options.task === undefined ? undefined : parseMembership(options.task);
  return (pi) => {
    if (env.PI_TOKEN_BUDGET_DISABLED === "1") return;
    const api = pi as HostApi;
    const joining = new Joining(given);
    const claim = claimSession(api, {
      version: ownPackage()?.version ?? "unknown",
      membership: given && { ...given },
      onMembership: (membership) => joining.take(membership),
    });
    // Another copy owns this session: nothing is registered twice.
    if (claim.type === "standing_down") return standDown(api, claim);
    try {
      const modulePath = options.subagents?.modulePath;
      wire(new Host(api, options.isContextOverflow), claim, { env, joining, modulePath });
    } catch (error) {
      // Some hosts keep the listeners of an extension that failed to load.
      claim.release();
      throw error;
    }
  };
}

interface Wiring {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly joining: Joining;
  /** Of pi-subagents. */
  readonly modulePath: string | undefined;
}

/** A copy that stands down says so only where what it was started with is lost with it. */
function standDown(api: HostApi, { handover }: StandingDown): void {
  if (handover?.type !== "refused") return;
  const problem = `pi-token-budget: this session does not join its root task: ${handover.reason}.`;
  api.on("session_start", (_event, ctx) => {
    notify(ctx, problem, "warning");
    return undefined;
  });
}

/** The parts of the session that the host shows now; another session gets parts of its own. */
class CurrentSession {
  readonly #host: Host;
  readonly #wiring: Wiring;
  #parts: SessionParts | undefined;

  constructor(host: Host, wiring: Wiring) {
    this.#host = host;
    this.#wiring = wiring;
  }

  of(ctx: HostContext, start?: SessionStartEvent): SessionParts {
    if (this.#parts?.sessionId !== ctx.sessionManager.getSessionId()) {
      void this.close();
      const { env, joining } = this.#wiring;
      const agentDir = agentDirectory(env);
      this.#parts = openSession(this.#host, ctx, { agentDir, env, membership: joining.membership, start });
    }
    this.#parts.attach(ctx);
    return this.#parts;
  }

  /** Undefined when the parts of the session cannot be made. */
  tryOf(ctx: HostContext): SessionParts | undefined {
    try {
      return this.of(ctx);
    } catch {
      return undefined;
    }
  }

  /** Tools are only run inside a session, and `of` has been called before. */
  get running(): SessionParts {
    if (!this.#parts) throw new Error("no session has started");
    return this.#parts;
  }

  async close(): Promise<void> {
    const parts = this.#parts;
    this.#parts = undefined;
    await parts?.end();
  }
}

function wire(host: Host, claim: SessionOwner, wiring: Wiring): void {
  const session = new CurrentSession(host, wiring);
  registerTools(host, session);
  wireSession(host, session, claim);
  wireJournal(host, session);
  wireChildren(host, session, wiring);
  wireLoop(host, session);
  wireCompactions(host, session);
  wireBoundary(host, session);
}

function wireSession(host: Host, session: CurrentSession, claim: SessionOwner): void {
  host.on("session_start", async (event, ctx) => {
    claim.started();
    await session.close();
    const parts = session.of(ctx, event);
    const { problems } = parts;
    parts.publish();
    if (problems.length > 0) notify(ctx, `pi-token-budget settings: ${problems.join(" ")}`, "warning");
    await parts.begin();
    return undefined;
  });
  host.on("session_shutdown", async () => {
    claim.release();
    await session.close();
    return undefined;
  });
}

/** Where the journal is brought up to the log, beside requests and compactions; one sync at a time, and never in the way. */
function wireJournal(host: Host, session: CurrentSession): void {
  host.on("message_end", (_event, ctx) => {
    void session.of(ctx).access.sync();
    return undefined;
  });
}

/** The children that pi-subagents starts, and what is said in one. */
function wireChildren(host: Host, session: CurrentSession, { env, modulePath }: Wiring): void {
  let adapter: SubagentsAdapter | undefined;
  let registering: Promise<void> | undefined;
  host.on("session_start", (_event, ctx) => {
    adapter?.close();
    adapter = undefined;
    const { task, agent, sessionId } = session.of(ctx);
    if (task.parent !== null) {
      const notice = missingToolsNotice(agent, host.activeTools());
      if (notice !== undefined) notify(ctx, notice, "warning");
      return undefined;
    }
    adapter = new SubagentsAdapter();
    const writeEntry = async () => {
      await task.join();
      return writeTaskEntry(task);
    };
    registering = adapter.start({ tools: host.allTools(), modulePath, env, sessionId, writeEntry }).then((result) => {
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

const NO_NOTES_NOTICE =
  "pi-token-budget: this session has no notes_write_file or notes_append_to_file (a tool list leaves them out), so it keeps Pi's own compaction.";

/** The running loop: prompt, requests, tools. */
function wireLoop(host: Host, session: CurrentSession): void {
  let noticed = false;
  host.on("before_agent_start", (event, ctx) => {
    const parts = session.of(ctx);
    if (!parts.enabled() || event.systemPrompt.includes(GUIDANCE_OPEN)) return undefined;
    if (!parts.canCheckpoint()) {
      // Guidance for tools that are not there would only mislead.
      if (!noticed) notify(ctx, NO_NOTES_NOTICE, "info");
      noticed = true;
      return undefined;
    }
    return { systemPrompt: `${event.systemPrompt}\n\n${GUIDANCE}` };
  });
  host.on("context", async (event, ctx) => {
    const messages = await session.of(ctx).request(event.messages);
    return messages && { messages };
  });
  host.on("tool_call", (event, ctx) => {
    const { windows, enabled } = session.of(ctx);
    const reason = enabled() ? windows.refusal(event) : undefined;
    return reason === undefined ? undefined : { block: true, reason };
  });
  host.on("tool_result", (event, ctx) => {
    const { windows, publish } = session.of(ctx);
    windows.toolEnded(event);
    publish();
    return undefined;
  });
  host.on("session_tree", (_event, ctx) => {
    session.of(ctx).publish();
    return undefined;
  });
  host.on("model_select", (_event, ctx) => {
    if (ctx.isIdle()) session.of(ctx).windows.budgetChanged();
    return undefined;
  });
}

/** How a control turn that waits inside a compaction hook, or a command, is run. */
function controlTurn(host: Host, ctx: HostContext): StartControlTurn {
  return (start) => ({ start, end: host.turnEnd(ctx), abort: () => ctx.abort() });
}

function wireCompactions(host: Host, session: CurrentSession): void {
  host.onCompacting(async (compaction, ctx) => {
    // Without parts of the session nothing of ours stands in the way of the host's own compaction.
    const parts = session.tryOf(ctx);
    void parts?.access.sync();
    if (!parts?.enabled()) return undefined;
    const { windows, publish } = parts;
    const answer = await windows.compaction(compaction, controlTurn(host, ctx));
    if (answer?.cancel) host.repeat(ctx, windows.takeWords());
    publish();
    return answer;
  });
  host.on("session_compact", (_event, ctx) => {
    const { windows, publish } = session.of(ctx);
    // A manual compaction that stopped a running turn lets the work go on, unless somebody else will.
    const goesOn = windows.compactionEnded(true);
    const words = windows.takeWords();
    host.repeat(ctx, words);
    if (goesOn && words.length === 0) host.whenIdle(ctx, () => windows.continueRun());
    publish();
    return undefined;
  });
  host.onCompactionFailed((failure, ctx) => {
    const { windows } = session.of(ctx);
    const isOurs = windows.consolidating;
    windows.compactionEnded(false);
    if (failure.isRefusal && !isOurs) notify(ctx, SHORT_SESSION_NOTICE, "info");
  });
  // 0.73.1 tells of no failure: a run that starts says that the compaction is over, unless the compaction started it.
  host.on("agent_start", (_event, ctx) => {
    const { windows } = session.of(ctx);
    if (windows.state.live.manual?.phase === "awaiting") return undefined;
    windows.compactionEnded(false);
    host.repeat(ctx, windows.takeWords());
    return undefined;
  });
  host.registerCommand(
    "context",
    contextCommand({
      describe: (ctx) => session.of(ctx).describe(),
      openWindow: (ctx) => openWindow(host, session.of(ctx), ctx),
      show: (ctx, text) => notify(ctx, text, "info"),
    }),
  );
}

const SHORT_SESSION_NOTICE = "pi-token-budget: /context new opens a fresh window in a session of any size.";

async function openWindow(host: Host, parts: SessionParts, ctx: HostContext): Promise<string> {
  const never = new AbortController().signal;
  switch (await parts.windows.openByHand(undefined, never, controlTurn(host, ctx))) {
    case "opened":
      return `Window ${parts.windows.branch.current.id} is open; the next message starts in it.`;
    case "nothing_to_leave":
      return "This window holds nothing yet, or a checkpoint is being saved already.";
    case "no_checkpoint":
      return "No checkpoint was saved, so the window stays as it is.";
  }
}

/** Whoever started a run finds what it wrote in the journal when it has ended, but no slow disk holds it up for longer. */
const SETTLED_SYNC_MAX_MS = 1_000;

/** The settled boundary: the journal, overflows that the host does not handle, the budget, and consolidation. */
function wireBoundary(host: Host, session: CurrentSession): void {
  let consolidating: Promise<void> | undefined;
  const boundary = async (settled: Settled, ctx: HostContext) => {
    const { windows, enabled, publish } = session.of(ctx);
    if (!enabled()) return;
    const newest = windows.newestResponse();
    // A finished answer needs no other attempt, however much it used.
    const overflowed = !settled.aborted && newest?.stopReason !== "stop" && host.isOverflow(newest, ctx);
    const started = windows.settled(overflowed);
    publish();
    if (started) {
      // Some hosts end the process behind this handler: what was started is waited for where it runs already.
      if (hasStarted(ctx)) await host.turnEnd(ctx);
      return;
    }
    if (endsWithRun(ctx) || !ctx.isIdle() || !windows.needsConsolidation()) return;
    consolidating = windows.consolidate(() => compact(ctx));
    await consolidating;
    consolidating = undefined;
  };
  host.onSettled(
    async (settled, ctx) => {
      const journaled = session.of(ctx).access.sync();
      await boundary(settled, ctx);
      await Promise.race([journaled, delay(SETTLED_SYNC_MAX_MS, undefined, { ref: false })]);
    },
    () => session.running.retry(),
  );
  // A prompt that comes meanwhile waits for the few milliseconds it takes: otherwise hosts reject or lose it.
  host.on("input", async () => {
    await consolidating;
    return undefined;
  });
}

function registerTools(host: Host, session: CurrentSession): void {
  const table: ToolTable = {
    ...historyTools({
      sourceOf: (agentName) => session.running.access.historyOf(agentName),
      limits: () => session.running.settings(),
      takesImages: () => modelTakesImages(session.running.context()),
    }),
    ...notesTools({
      agent: () => session.running.agent,
      notesToRead: (agent) => session.running.access.notesToRead(agent),
      notesToWrite: (agent) => session.running.access.notesToWrite(agent),
      limits: () => session.running.settings(),
      onSaved: (toolCallId, path, readsBack) => session.running.windows.noteSaved(toolCallId, path, readsBack),
    }),
    ...contextTools(() => session.running.contextToolParts()),
  };
  const register = <N extends ToolName>(name: N) =>
    host.registerTool(defineTool(name, table[name]), (ctx) => void session.of(ctx));
  for (const name of TOOL_NAMES) register(name);
}
