// The composition root: builds the parts of one session and wires the host's events to them. No decisions here.
import { agentDirectory } from "./host/agent-dir.ts";
import type { HostApi, HostContext } from "./host/api.ts";
import { claimSession, type SessionOwner } from "./host/copies.ts";
import { compact, endsWithRun, Host, hasStarted, modelTakesImages, notify } from "./host/host.ts";
import type { IsOverflow } from "./host/overflow.ts";
import { GUIDANCE, GUIDANCE_OPEN } from "./prompts.ts";
import { openSession, type SessionParts } from "./session.ts";
import { ownPackage } from "./subagents/packages.ts";
import { contextTools } from "./tools/context.ts";
import { defineTool, type ToolTable } from "./tools/define.ts";
import { historyTools } from "./tools/history.ts";
import { notesTools } from "./tools/notes.ts";
import { TOOL_NAMES, type ToolName } from "./tools/specs.ts";
import { contextCommand } from "./ui/commands.ts";
import type { StartControlTurn } from "./window/shell.ts";

export interface TokenBudgetOptions {
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
  return (pi) => {
    if (env.PI_TOKEN_BUDGET_DISABLED === "1") return;
    const api = pi as HostApi;
    const claim = claimSession(api, {
      version: ownPackage()?.version ?? "unknown",
      onMembership: () => ({ type: "refused", reason: "this version does not join tasks yet" }),
    });
    // Another copy owns this session: nothing is registered twice.
    if (claim.type === "standing_down") return;
    try {
      wire(new Host(api, options.isContextOverflow), env, claim);
    } catch (error) {
      // Some hosts keep the listeners of an extension that failed to load.
      claim.release();
      throw error;
    }
  };
}

/** The parts of the session that the host shows now; another session gets parts of its own. */
class CurrentSession {
  readonly #host: Host;
  readonly #env: Readonly<Record<string, string | undefined>>;
  #parts: SessionParts | undefined;

  constructor(host: Host, env: Readonly<Record<string, string | undefined>>) {
    this.#host = host;
    this.#env = env;
  }

  of(ctx: HostContext): SessionParts {
    if (this.#parts?.sessionId !== ctx.sessionManager.getSessionId()) {
      this.close();
      this.#parts = openSession(this.#host, ctx, { agentDir: agentDirectory(this.#env), env: this.#env });
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

  close(): void {
    this.#parts?.close();
    this.#parts = undefined;
  }
}

function wire(host: Host, env: Readonly<Record<string, string | undefined>>, claim: SessionOwner): void {
  const session = new CurrentSession(host, env);
  registerTools(host, session);
  wireSession(host, session, claim);
  wireLoop(host, session);
  wireCompactions(host, session);
  wireBoundary(host, session);
}

function wireSession(host: Host, session: CurrentSession, claim: SessionOwner): void {
  host.on("session_start", (_event, ctx) => {
    claim.started();
    session.close();
    const parts = session.of(ctx);
    const { problems } = parts;
    parts.publish();
    if (problems.length > 0) notify(ctx, `pi-token-budget settings: ${problems.join(" ")}`, "warning");
    parts.sweep();
    return undefined;
  });
  host.on("session_shutdown", () => {
    claim.release();
    session.close();
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

/** The settled boundary: overflows that the host does not handle, the budget, and consolidation. */
function wireBoundary(host: Host, session: CurrentSession): void {
  let consolidating: Promise<void> | undefined;
  host.onSettled(
    async (settled, ctx) => {
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
      sourceOf: (agentName) => session.running.itemSource(agentName),
      limits: () => session.running.settings(),
      takesImages: () => modelTakesImages(session.running.context()),
    }),
    ...notesTools({
      agent: () => session.running.agent,
      notesOf: (agent) => session.running.notesOf(agent),
      limits: () => session.running.settings(),
      onSaved: (toolCallId, path, readsBack) => session.running.windows.noteSaved(toolCallId, path, readsBack),
    }),
    ...contextTools(() => session.running.contextToolParts()),
  };
  const register = <N extends ToolName>(name: N) =>
    host.registerTool(defineTool(name, table[name]), (ctx) => void session.of(ctx));
  for (const name of TOOL_NAMES) register(name);
}
