// The seam: one typed surface over every supported Pi. Nothing outside this folder knows which host it runs on.
// A handler of ours that fails is shown once and steps aside; Pi never stops because of it.
import { messageOf } from "../errors.ts";
import type { CompactionAnswer, HostApi, HostContext, HostEventName, HostEvents, HostHandler } from "./api.ts";
import { type CompactionReason, compactionReason } from "./compaction.ts";
import type { EntrySource } from "./entries.ts";
import { onSettled, type RetrySettings, type Settled } from "./settled.ts";

export interface Compaction {
  readonly reason: CompactionReason;
  /** The host's estimate of the context before it. */
  readonly tokensBefore: number;
  readonly customInstructions: string | undefined;
  readonly signal: AbortSignal;
}

export interface CompactionFailure {
  readonly message: string | undefined;
  readonly aborted: boolean;
}

export interface SessionIdentity {
  readonly sessionId: string;
  /** Absolute; undefined for a session in memory. */
  readonly sessionFile: string | undefined;
  /** When the session was made; milliseconds since 1970, 0 when the log does not say. */
  readonly createdAt: number;
}

/** How long a callback waits for the newest entry on hosts that write it late. */
const LATE_ENTRY_WAIT_MS = 20;

export class Host {
  readonly #api: HostApi;
  readonly #shown = new Set<string>();

  constructor(api: HostApi) {
    this.#api = api;
  }

  /** Registers a handler; when it throws, `otherwise` is answered. */
  on<N extends HostEventName>(name: N, handler: HostHandler<N>, otherwise?: HostEvents[N]["answer"]): void {
    this.#api.on(name, async (event, ctx) => {
      try {
        return await handler(event, ctx);
      } catch (error) {
        this.#report(name, error, ctx);
        return otherwise;
      }
    });
  }

  onSettled(handler: (settled: Settled, ctx: HostContext) => Promise<void> | void, retry: () => RetrySettings): void {
    const guarded = async (settled: Settled, ctx: HostContext) => {
      try {
        await handler(settled, ctx);
      } catch (error) {
        this.#report("settled", error, ctx);
      }
    };
    onSettled(this.#api, guarded, retry);
  }

  /** A failing handler cancels the compaction: the host's own summarizer is never called by accident. */
  onCompacting(handler: (compaction: Compaction, ctx: HostContext) => CompactionAnswer | undefined): void {
    this.on(
      "session_before_compact",
      (event, ctx) => {
        const reason = compactionReason(event);
        const { customInstructions, signal, preparation } = event;
        return handler({ reason, tokensBefore: preparation.tokensBefore, customInstructions, signal }, ctx);
      },
      { cancel: true },
    );
  }

  /** Only newer hosts tell of a failed compaction. */
  onCompactionFailed(handler: (failure: CompactionFailure, ctx: HostContext) => void): void {
    this.on("session_compact_failed", (event, ctx) => {
      handler({ message: event.errorMessage, aborted: event.aborted === true }, ctx);
      return undefined;
    });
  }

  /** Registers a tool whose execution is given the session it runs in. */
  registerTool<T extends Parameters<HostApi["registerTool"]>[0]>(
    tool: Omit<T, "execute"> & {
      readonly name: string;
      readonly execute: (
        toolCallId: string,
        params: unknown,
        signal: AbortSignal | undefined,
      ) => ReturnType<T["execute"]>;
    },
    beforeEach: (ctx: HostContext) => void,
  ): void {
    this.#api.registerTool({
      ...tool,
      execute: (toolCallId, params, signal, _onUpdate, ctx) => {
        beforeEach(ctx);
        return tool.execute(toolCallId, params, signal);
      },
    });
  }

  #report(hook: string, error: unknown, ctx: HostContext): void {
    if (this.#shown.has(hook)) return;
    this.#shown.add(hook);
    notify(ctx, `pi-token-budget: the ${hook} hook failed and was passed over: ${messageOf(error)}`, "error");
  }
}

/** Shows one line to the person where there is somebody to see it, and otherwise on standard error. */
export function notify(ctx: HostContext, message: string, type: "info" | "warning" | "error"): void {
  try {
    if (hasScreen(ctx)) ctx.ui.notify(message, type);
    else process.stderr.write(`${message}\n`);
  } catch {
    // A context of a session that is gone: nobody is left to tell.
  }
}

/** Whether a person watches a terminal interface or an RPC client does. */
export function hasScreen(ctx: HostContext): boolean {
  return ctx.hasUI;
}

export function entriesOf(ctx: HostContext): EntrySource {
  const manager = ctx.sessionManager;
  return { leafId: () => manager.getLeafId(), entry: (id) => manager.getEntry(id) };
}

export function identityOf(ctx: HostContext): SessionIdentity {
  const manager = ctx.sessionManager;
  const created = Date.parse(manager.getHeader()?.timestamp ?? "");
  return {
    sessionId: manager.getSessionId(),
    sessionFile: manager.getSessionFile(),
    createdAt: Number.isNaN(created) ? 0 : created,
  };
}

export function modelTakesImages(ctx: HostContext): boolean {
  return ctx.model?.input.includes("image") ?? false;
}

/** A project's own settings count unless the host says that the person has not trusted them. */
export function projectSettingsCount(ctx: HostContext): boolean {
  return ctx.isProjectTrusted?.() ?? true;
}

/** 0.73.1 writes the newest message a moment after it shows it: waits for it, but not for long. */
export async function waitForEntry(isMissing: () => boolean): Promise<void> {
  const until = Date.now() + LATE_ENTRY_WAIT_MS;
  while (isMissing() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 1));
}
