// The seam: one typed surface over every supported Pi. Nothing outside this folder knows which host it runs on.
// A handler of ours that fails is shown once and steps aside; Pi never stops because of it.
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { messageOf, TokenBudgetError } from "../errors.ts";
import type {
  CompactionAnswer,
  HostApi,
  HostCommand,
  HostContext,
  HostEventName,
  HostEvents,
  HostHandler,
  HostMessage,
  HostModel,
  HostToolInfo,
  HostToolResult,
} from "./api.ts";
import { type CompactionReason, compactionReason } from "./compaction.ts";
import { blocksOf, type EntrySource, isImageBlock, isTextBlock, type LogMessage, sentArguments } from "./entries.ts";
import { LateNotices } from "./late-notices.ts";
import { type IsOverflow, isOverflowMessage } from "./overflow.ts";
import { isBusy, onSettled, type RetrySettings, type Settled, type SettledBoundary } from "./settled.ts";
import { TakenOutAnswers } from "./taken-out.ts";

export interface Compaction {
  readonly reason: CompactionReason;
  /** The host's estimate of the context before it. */
  readonly tokensBefore: number;
  readonly customInstructions: string | undefined;
  readonly signal: AbortSignal;
  /** A run is going on, or this compaction has just ended one. */
  readonly inRun: boolean;
}

export interface CompactionFailure {
  /** The host refused a person's command before any hook ran, because the session is short. */
  readonly isRefusal: boolean;
}

export interface SessionIdentity {
  readonly sessionId: string;
  /** Absolute; undefined for a session in memory. */
  readonly sessionFile: string | undefined;
  /** When the session was made; milliseconds since 1970, 0 when the log does not say. */
  readonly createdAt: number;
}

/** A run without a final answer that ended so shortly before a manual compaction was ended by it. */
const INTERRUPTED_BY_COMPACTION_MS = 100;

/** How often a compaction that has ended is asked whether the session is idle again. */
const IDLE_POLL_MS = 25;

/** How often a run that was just started is asked whether it goes on. */
const BUSY_POLLS_MAX = 40;

/** How long a callback waits for the newest entry on hosts that write it late. */
const LATE_ENTRY_WAIT_MS = 20;

/** How long the events of a run that is over are waited for: other extensions may hold them up. */
const LATE_EVENTS_WAIT_MS = 1_000;

export class Host {
  readonly #api: HostApi;
  readonly #isOverflow: IsOverflow;
  readonly #quietTickMs: number;
  readonly #shown = new Set<string>();
  readonly #own = new Set<string>();
  readonly #takenOut = new TakenOutAnswers();
  /** What is said while the host is about to draw the chat anew. */
  readonly notices = new LateNotices(notify, isScreenDrawn);
  #running = false;
  #runs = 0;
  #stoppedAt = Number.NEGATIVE_INFINITY;
  /** Told when the events of a run that is over have arrived. */
  readonly #behind: (() => void)[] = [];
  #boundary: SettledBoundary | undefined;

  constructor(api: HostApi, quietTickMs: number, isOverflow: IsOverflow = isOverflowMessage) {
    this.#api = api;
    this.#quietTickMs = quietTickMs;
    this.#isOverflow = isOverflow;
    this.on("session_start", () => {
      this.notices.hold();
      return undefined;
    });
    for (const name of ["session_compact", "session_compact_failed", "agent_start"] as const) {
      this.on(name, () => {
        this.notices.release();
        return undefined;
      });
    }
    this.on("agent_start", () => {
      this.#running = true;
      this.#runs++;
      return undefined;
    });
    this.on("agent_end", (event) => {
      this.#running = false;
      for (const resolve of this.#behind.splice(0)) resolve();
      const last = event.messages.at(-1);
      const isFinished = last?.stopReason === "stop" || last?.stopReason === "length";
      if (!isFinished) this.#stoppedAt = performance.now();
      return undefined;
    });
  }

  /** 0.73.1 shows no end of a run that a manual compaction aborts; newer hosts show it just before. */
  #isInRun(): boolean {
    return this.#running || performance.now() - this.#stoppedAt < INTERRUPTED_BY_COMPACTION_MS;
  }

  /** Registers a handler; when it throws, `otherwise` is answered. */
  on<N extends HostEventName>(name: N, handler: HostHandler<N>, otherwise?: HostEvents[N]["answer"]): void {
    // Not an async function: 0.73.1 does not wait for its handlers, and each promise would put its log further behind.
    this.#api.on(name, (event, ctx) => {
      const failed = (error: unknown) => {
        this.#report(name, error, ctx);
        return otherwise;
      };
      try {
        const answer = handler(event, ctx);
        return answer instanceof Promise ? answer.catch(failed) : answer;
      } catch (error) {
        return failed(error);
      }
    });
  }

  /** A check of a starting session; what it throws reaches the program, as an error of this extension. */
  onStart(check: (ctx: HostContext) => void): void {
    this.#api.on("session_start", (_event, ctx) => {
      check(ctx);
      return undefined;
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
    this.#boundary = onSettled(this.#api, guarded, retry, this.#quietTickMs);
  }

  /** The end of a run that is started after this was called; see SettledBoundary. */
  turnEnd(ctx: HostContext): Promise<void> {
    if (!this.#boundary) throw new Error("onSettled comes first");
    return this.#boundary.turnEnd(ctx);
  }

  /** The end of a run outside any compaction that is started or steered after this was called, with its retries. */
  async runEnd(ctx: HostContext): Promise<void> {
    if (!this.#boundary) throw new Error("onSettled comes first");
    await this.#boundary.runEnd();
    await this.written(ctx);
  }

  /**
   * Resolves when the log holds what a run that is over has said. `prompt()` of 0.73.1 resolves while its events, and with
   * them its newest messages, are still on their way; a run that goes on is not waited for.
   */
  async written(ctx: HostContext): Promise<void> {
    await nextTurn();
    if (!this.#running || isBusy(ctx)) return;
    const ended = new Promise<void>((resolve) => this.#behind.push(resolve));
    await Promise.race([ended, delay(LATE_EVENTS_WAIT_MS, undefined, { ref: false })]);
  }

  /** Calls `then` when the session is idle again, unless another run has begun meanwhile. */
  whenIdle(ctx: HostContext, then: () => void): void {
    const runs = this.#runs;
    // A compaction has ended the run before it, though 0.73.1 did not say so.
    this.#running = false;
    const tick = () => {
      try {
        if (this.#runs !== runs) return;
        if (ctx.isIdle() && !ctx.hasPendingMessages()) then();
        else setTimeout(tick, IDLE_POLL_MS);
      } catch {
        // The session is gone.
      }
    };
    setTimeout(tick, IDLE_POLL_MS);
  }

  /** `turn` starts a run where none is going on; `quiet` only writes the message down. */
  send(message: HostMessage, delivery: "steer" | "nextTurn" | "turn" | "quiet"): void {
    if (delivery === "turn") this.#api.sendMessage(message, { triggerTurn: true });
    else if (delivery === "quiet") this.#api.sendMessage(message);
    else this.#api.sendMessage(message, { deliverAs: delivery });
  }

  /**
   * Says a person's words again, which 0.73.1 took out of its queue during a compaction and did not write down. The first
   * starts a run, the others wait behind it.
   */
  repeat(ctx: HostContext, words: readonly LogMessage[]): void {
    const [next, ...rest] = words;
    if (!next) return;
    setTimeout(() => {
      try {
        const content = blocksOf(next.content).filter((block) => isTextBlock(block) || isImageBlock(block));
        this.#api.sendUserMessage(content, { deliverAs: "followUp" });
        if (rest.length > 0) this.#whenBusy(ctx, () => this.repeat(ctx, rest));
      } catch {
        // The session is gone.
      }
    }, IDLE_POLL_MS);
  }

  #whenBusy(ctx: HostContext, then: () => void, polls = BUSY_POLLS_MAX): void {
    setTimeout(() => {
      try {
        if (polls === 0 || !ctx.isIdle()) then();
        else this.#whenBusy(ctx, then, polls - 1);
      } catch {
        // The session is gone.
      }
    }, IDLE_POLL_MS);
  }

  /** What an entry is called in the host's tree, unless it has a name there. */
  label(ctx: HostContext, entryId: string, label: string): void {
    if (ctx.sessionManager.getLabel(entryId) === undefined) this.#api.setLabel(entryId, label);
  }

  /** Writes a data entry on the log; it is in no request. */
  mark(customType: string, data: unknown): void {
    this.#api.appendEntry(customType, data);
  }

  /** Whether a response says that the request was too long for the model in use; another model's says nothing of it. */
  isOverflow(message: LogMessage | undefined, ctx: HostContext): boolean {
    const { model } = ctx;
    const isOthers = message?.model !== undefined && message.model !== model?.id;
    return message !== undefined && !isOthers && this.#isOverflow(message, model?.contextWindow);
  }

  allTools(): readonly HostToolInfo[] {
    return this.#api.getAllTools();
  }

  /** The tools that the model has. */
  activeTools(): readonly string[] {
    return this.#api.getActiveTools();
  }

  /** What the model is told of the tools it has. */
  activeToolInfos(): readonly object[] {
    const active = new Set(this.#api.getActiveTools());
    const infos = this.#api.getAllTools().filter(({ name }) => active.has(name));
    return infos.map(({ name, description, parameters }) => ({ name, description, parameters }));
  }

  /** Whether the model has this tool of ours; another package's of the same name is not it. */
  isActive(toolName: string): boolean {
    return this.#own.has(toolName) && this.#api.getActiveTools().includes(toolName);
  }

  /** The tools that this package has registered. */
  ownTools(): readonly string[] {
    return [...this.#own];
  }

  /** False when the host has no credentials for it. */
  setModel(model: HostModel): Promise<boolean> {
    return this.#api.setModel(model);
  }

  registerCommand(name: string, command: HostCommand): void {
    this.#api.registerCommand(name, command);
  }

  get events(): HostApi["events"] {
    return this.#api.events;
  }

  /** A failing handler cancels the compaction: the host's own summarizer is never called by accident. */
  onCompacting(handler: (compaction: Compaction, ctx: HostContext) => Promise<CompactionAnswer | undefined>): void {
    this.on(
      "session_before_compact",
      (event, ctx) => {
        const reason = compactionReason(event, (message) => this.isOverflow(message, ctx));
        const { customInstructions, signal, preparation } = event;
        const inRun = this.#isInRun();
        const newest = event.branchEntries.findLast(({ message }) => message?.role === "assistant")?.message;
        if (reason === "overflow" && newest?.stopReason === "stop") this.#takenOut.keep(newest);
        return handler({ reason, tokensBefore: preparation.tokensBefore, customInstructions, signal, inRun }, ctx);
      },
      { cancel: true },
    );
  }

  /** The messages of a request, with the finished answers that the host has taken out of them. */
  onRequest(
    handler: (messages: readonly LogMessage[], ctx: HostContext) => Promise<readonly LogMessage[] | undefined>,
  ): void {
    for (const name of ["session_compact", "session_tree"] as const) {
      this.on(name, () => {
        this.#takenOut.forget();
        return undefined;
      });
    }
    this.on("context", async (event, ctx) => {
      const whole = this.#takenOut.putBack(event.messages);
      const messages = (await handler(whole, ctx)) ?? (whole === event.messages ? undefined : whole);
      return messages && { messages };
    });
  }

  /** Only newer hosts tell of a failed compaction. */
  onCompactionFailed(handler: (failure: CompactionFailure, ctx: HostContext) => void): void {
    this.on("session_compact_failed", (event, ctx) => {
      const isRefusal = event.reason === "manual" && /nothing to compact/i.test(event.errorMessage ?? "");
      handler({ isRefusal }, ctx);
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
        sent: unknown,
      ) => Promise<HostToolResult>;
    },
    beforeEach: (ctx: HostContext) => void,
  ): void {
    this.#own.add(tool.name);
    this.#api.registerTool({
      ...tool,
      execute: async (toolCallId, params, signal, _onUpdate, ctx: HostContext | undefined) => {
        if (!ctx?.sessionManager)
          throw new TokenBudgetError("refused", `${tool.name}: refused, because no agent session made this call.`);
        beforeEach(ctx);
        return tool.execute(toolCallId, params, signal, sentArguments(entriesOf(ctx), toolCallId));
      },
    });
  }

  #report(hook: string, error: unknown, ctx: HostContext): void {
    if (this.#shown.has(hook)) return;
    this.#shown.add(hook);
    notify(ctx, `pi-token-budget: the ${hook} hook failed and was passed over: ${messageOf(error)}`, "error");
  }
}

/** Whether a terminal interface draws on this process's screen: what else is written there stays in the way. */
export function isScreenDrawn(): boolean {
  return process.stdin.isRaw === true && process.stderr.isTTY === true;
}

/**
 * Shows one line to the person where there is somebody to see it, and otherwise on standard error. A session without a
 * screen in a process with one, such as the child of a task, says nothing: its parent shows what became of it.
 */
export function notify(ctx: HostContext, message: string, type: "info" | "warning" | "error"): void {
  try {
    if (hasScreen(ctx)) ctx.ui.notify(message, type);
    else if (!isScreenDrawn()) process.stderr.write(`${message}\n`);
  } catch {
    // A context of a session that is gone: nobody is left to tell.
  }
}

/** Says something at the end of a session, when a terminal interface may have left its screen already. */
export function lastWord(ctx: HostContext, message: string): void {
  if (isScreenDrawn()) notify(ctx, message, "warning");
  else process.stderr.write(`${message}\n`);
}

/** What the session tells its model first; empty when the host cannot say it now. */
export function systemPromptOf(ctx: HostContext): string {
  try {
    return ctx.getSystemPrompt();
  } catch {
    return "";
  }
}

/** Without a person or a client, as in print mode, the process may end with the run: nothing is started behind it. */
export function endsWithRun(ctx: HostContext): boolean {
  return !ctx.hasUI;
}

/** Whether a run that was just started is going on already. 1.x starts it only after its own handlers. */
export function hasStarted(ctx: HostContext): boolean {
  return !ctx.isIdle();
}

/** A host compaction made now, awaited. Fails when the host has nothing to compact. */
export function compact(ctx: HostContext): Promise<void> {
  return new Promise((resolve, reject) => ctx.compact({ onComplete: () => resolve(), onError: reject }));
}

/** Whether a person watches a terminal interface or an RPC client does. */
export function hasScreen(ctx: HostContext): boolean {
  return ctx.hasUI;
}

export function entriesOf(ctx: HostContext): EntrySource {
  const manager = ctx.sessionManager;
  // A last line without an id leaves the host without a leaf.
  return {
    leafId: () => manager.getLeafId() ?? null,
    entry: (id) => manager.getEntry(id),
    file: () => manager.getSessionFile(),
  };
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

/** The session file that this session was forked from, or was begun after; undefined when its header names none. */
export function parentSessionOf(ctx: HostContext): string | undefined {
  return ctx.sessionManager.getHeader()?.parentSession;
}

export function modelTakesImages(ctx: HostContext): boolean {
  return ctx.model?.input.includes("image") ?? false;
}

/** A project's own settings count unless the host says that the person has not trusted them. */
export function projectSettingsCount(ctx: HostContext): boolean {
  return ctx.isProjectTrusted?.() ?? true;
}

/** 0.73.1 writes the newest message a moment after it shows it: waits for it, but not for long. */
export async function waitForEntry(ctx: HostContext, isMissing: () => boolean): Promise<void> {
  if (ctx.mode !== undefined) return;
  const until = performance.now() + LATE_ENTRY_WAIT_MS;
  while (isMissing() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 1));
}
