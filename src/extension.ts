// The composition root: builds the parts of one session and wires the host's events to them. No decisions here.
import { agentDirectory } from "./host/agent-dir.ts";
import type { HostApi, HostContext } from "./host/api.ts";
import { Host, modelTakesImages, notify } from "./host/host.ts";
import { GUIDANCE, GUIDANCE_OPEN } from "./prompts.ts";
import { openSession, type SessionParts } from "./session.ts";
import { contextTools } from "./tools/context.ts";
import { defineTool, type ToolTable } from "./tools/define.ts";
import { historyTools } from "./tools/history.ts";
import { notesTools } from "./tools/notes.ts";
import { TOOL_NAMES, type ToolName } from "./tools/specs.ts";

export interface TokenBudgetOptions {
  /** Read instead of the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** An extension factory as every supported Pi takes it; the argument is Pi's extension interface. */
export type TokenBudgetExtension = (pi: object) => void;

/** Makes the extension. Each factory call serves one session at a time and shares no state with any other. */
export function createTokenBudgetExtension(options: TokenBudgetOptions = {}): TokenBudgetExtension {
  const env = options.env ?? process.env;
  return (pi) => {
    if (env.PI_TOKEN_BUDGET_DISABLED !== "1") wire(pi as HostApi, env);
  };
}

/** The parts of the session that the host shows now; another session gets parts of its own. */
class CurrentSession {
  readonly #env: Readonly<Record<string, string | undefined>>;
  #parts: SessionParts | undefined;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  of(ctx: HostContext): SessionParts {
    if (this.#parts?.sessionId !== ctx.sessionManager.getSessionId()) {
      this.#parts = openSession(ctx, agentDirectory(this.#env), this.#env);
    }
    this.#parts.attach(ctx);
    return this.#parts;
  }

  /** Tools are only run inside a session, and `of` has been called before. */
  get running(): SessionParts {
    if (!this.#parts) throw new Error("no session has started");
    return this.#parts;
  }

  close(): void {
    this.#parts = undefined;
  }
}

function wire(api: HostApi, env: Readonly<Record<string, string | undefined>>): void {
  const host = new Host(api);
  const session = new CurrentSession(env);
  registerTools(host, session);

  host.on("session_start", (_event, ctx) => {
    session.close();
    const parts = session.of(ctx);
    const { problems } = parts;
    if (problems.length > 0) notify(ctx, `pi-token-budget settings: ${problems.join(" ")}`, "warning");
    parts.sweep();
    return undefined;
  });
  host.on("session_shutdown", () => {
    session.close();
    return undefined;
  });
  host.on("before_agent_start", (event, ctx) => {
    if (!session.of(ctx).enabled() || event.systemPrompt.includes(GUIDANCE_OPEN)) return undefined;
    return { systemPrompt: `${event.systemPrompt}\n\n${GUIDANCE}` };
  });
  host.on("context", async (event, ctx) => {
    const messages = await session.of(ctx).request(event.messages);
    return messages && { messages };
  });
  host.on("tool_call", (event, ctx) => {
    const reason = session.of(ctx).windows.refusal(event.toolName);
    return reason === undefined ? undefined : { block: true, reason };
  });
  host.onCompacting((compaction, ctx) => {
    const { enabled, windows } = session.of(ctx);
    if (!enabled()) return undefined;
    return windows.compaction(compaction.reason === "manual", compaction.tokensBefore);
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
    }),
    ...contextTools(() => session.running.contextToolParts()),
  };
  const register = <N extends ToolName>(name: N) =>
    host.registerTool(defineTool(name, table[name]), (ctx) => void session.of(ctx));
  for (const name of TOOL_NAMES) register(name);
}
