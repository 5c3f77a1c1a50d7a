// The host as everything else sees it: its events, its tools and commands, what is written on its log, and what it can be asked.
// One class, since all of it hangs on one extension interface of the host.
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
import { endsWithRun, entriesOf, isScreenDrawn, notify } from "./context.ts";
import { type LogMessage, sentArguments } from "./entries.ts";
import { forksKeepLabelled, hasLabelBehind } from "./forks.ts";
import { LateNotices } from "./late-notices.ts";
import { type IsOverflow, isOverflowMessage } from "./overflow.ts";
import { Runs } from "./runs.ts";
import { type RetrySettings, type Settled, SettledBoundary } from "./settled.ts";
import { StandingAnswer } from "./standing-answer.ts";
import { TakenOutAnswers } from "./taken-out.ts";

export interface Compaction {
  readonly reason: CompactionReason;
  /** The host's estimate of the context before it. */
  readonly tokensBefore: number;
  readonly customInstructions: string | undefined;
  readonly signal: AbortSignal;
  /** A run is under way, or this compaction has just ended one. */
  readonly inRun: boolean;
  /** The process may end with the run: what starts later is lost. */
  readonly endsWithRun: boolean;
}

/** One step of an event. */
export type Step<N extends HostEventName> =
  | HostHandler<N>
  | {
      readonly run: HostHandler<N>;
      /** The answer when it fails. */
      readonly otherwise?: HostEvents[N]["answer"];
      /** What it throws reaches the program, as an error of this extension. */
      readonly throws?: true;
    };

export interface CompactionFailure {
  /** The host refused a person's command before any hook ran, because the session is short. */
  readonly isRefusal: boolean;
}

export class Host {
  readonly #api: HostApi;
  readonly #isOverflow: IsOverflow;
  readonly #quietTickMs: number;
  readonly #shown = new Set<string>();
  readonly #own = new Set<string>();
  readonly #takenOut = new TakenOutAnswers();
  /** Notices while the host is about to redraw the chat. */
  readonly notices = new LateNotices(notify, isScreenDrawn);
  /** Answers to a person's commands, and news of what a person has begun. */
  readonly answers = new StandingAnswer(notify, isScreenDrawn);
  /** Whether a run is under way, and what waits for its end. */
  readonly runs: Runs;
  #boundary: SettledBoundary | undefined;
  /** Whether a fork on this host is complete despite labels; undefined until the first label is set. */
  #keepsLabelled: boolean | undefined;

  constructor(api: HostApi, quietTickMs: number, isOverflow: IsOverflow = isOverflowMessage) {
    this.#api = api;
    this.#quietTickMs = quietTickMs;
    this.#isOverflow = isOverflow;
    this.runs = new Runs((content) => api.sendUserMessage(content, { deliverAs: "followUp" }));
  }

  /** Registers the steps of an event, in order. A step that fails does not stop the next ones. */
  at<N extends HostEventName>(name: N, ...steps: readonly Step<N>[]): void {
    for (const step of steps) {
      if (typeof step === "function") this.#on(name, step);
      else if (step.throws) this.#api.on(name, step.run);
      else this.#on(name, step.run, step.otherwise);
    }
  }

  /** Registers a handler; when it throws, `otherwise` is answered. */
  #on<N extends HostEventName>(name: N, handler: HostHandler<N>, otherwise?: HostEvents[N]["answer"]): void {
    // Not an async function: 0.73.1 does not wait for its handlers, and each promise would make its log later still.
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

  /** The settled boundary, at which `handler` is called; its own methods are steps of the events before it. */
  settledBoundary(
    handler: (settled: Settled, ctx: HostContext) => Promise<void> | void,
    retry: () => RetrySettings,
  ): SettledBoundary {
    const guarded = async (settled: Settled, ctx: HostContext) => {
      try {
        await handler(settled, ctx);
      } catch (error) {
        this.#report("settled", error, ctx);
      }
    };
    this.#boundary = new SettledBoundary(guarded, retry, this.#quietTickMs);
    return this.#boundary;
  }

  /** The end of a run that is started after this was called; see SettledBoundary. */
  turnEnd(ctx: HostContext): Promise<void> {
    if (!this.#boundary) throw new Error("settledBoundary comes first");
    return this.#boundary.turnEnd(ctx);
  }

  /** The end of a run outside any compaction that is started or steered after this was called, with its retries. */
  async runEnd(ctx: HostContext): Promise<void> {
    if (!this.#boundary) throw new Error("settledBoundary comes first");
    await this.#boundary.runEnd();
    await this.runs.written(ctx);
  }

  /** `turn` starts a run where none is under way; `quiet` only writes the message to the log. */
  send(message: HostMessage, delivery: "steer" | "nextTurn" | "turn" | "quiet"): void {
    if (delivery === "turn") this.#api.sendMessage(message, { triggerTurn: true });
    else if (delivery === "quiet") this.#api.sendMessage(message);
    else this.#api.sendMessage(message, { deliverAs: delivery });
  }

  /** Labels an entry in the host's tree, unless it has a label, or labels would cut off forks. */
  label(ctx: HostContext, entryId: string, label: string): void {
    if (this.#forksAreWhole(ctx) && ctx.sessionManager.getLabel(entryId) === undefined)
      this.#api.setLabel(entryId, label);
  }

  #forksAreWhole({ sessionManager }: HostContext): boolean {
    this.#keepsLabelled ??= forksKeepLabelled(sessionManager);
    return this.#keepsLabelled;
  }

  /**
   * Called before a fork that the host would cut off at a label, with the file of the session; true refuses the fork. Labels
   * may be a person's own, or those that this package once set on every host.
   */
  cutFork(isRefused: (sessionFile: string, ctx: HostContext) => boolean): HostHandler<"session_before_fork"> {
    return ({ entryId, position }, ctx) => {
      const { sessionManager: manager } = ctx;
      const file = manager.getSessionFile();
      if (file === undefined || this.#forksAreWhole(ctx)) return undefined;
      const leaf = position === "at" ? entryId : (manager.getEntry(entryId)?.parentId ?? null);
      if (!hasLabelBehind((id) => manager.getEntry(id), leaf)) return undefined;
      return isRefused(file, ctx) ? { cancel: true } : undefined;
    };
  }

  /** Writes a data entry on the log; it is in no request. */
  mark(customType: string, data: unknown): void {
    this.#api.appendEntry(customType, data);
  }

  /** Whether a response says that the request was too long for the model in use; a response of another model does not. */
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

  /** The descriptions and schemas of the model's tools. */
  activeToolInfos(): readonly object[] {
    const active = new Set(this.#api.getActiveTools());
    const infos = this.#api.getAllTools().filter(({ name }) => active.has(name));
    return infos.map(({ name, description, parameters }) => ({ name, description, parameters }));
  }

  /** Whether the model has this tool of ours; another package's tool of that name does not count. */
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
  compacting(
    handler: (compaction: Compaction, ctx: HostContext) => Promise<CompactionAnswer | undefined>,
  ): Step<"session_before_compact"> {
    return {
      run: (event, ctx) => {
        const reason = compactionReason(event, (message) => this.isOverflow(message, ctx));
        const { customInstructions, signal, preparation } = event;
        const inRun = this.runs.isInRun();
        const newest = event.branchEntries.findLast(({ message }) => message?.role === "assistant")?.message;
        if (reason === "overflow" && newest?.stopReason === "stop") this.#takenOut.keep(newest);
        return handler(
          {
            reason,
            tokensBefore: preparation.tokensBefore,
            customInstructions,
            signal,
            inRun,
            endsWithRun: endsWithRun(ctx),
          },
          ctx,
        );
      },
      otherwise: { cancel: true },
    };
  }

  /** The messages of a request, with the finished answers put back that the host has taken out. */
  requests(
    handler: (messages: readonly LogMessage[], ctx: HostContext) => Promise<readonly LogMessage[] | undefined>,
  ): {
    readonly build: HostHandler<"context">;
    /** The host reads its messages from the log again. */
    readonly logIsRead: () => void;
  } {
    return {
      logIsRead: () => this.#takenOut.forget(),
      build: async (event, ctx) => {
        const whole = this.#takenOut.putBack(event.messages);
        const messages = (await handler(whole, ctx)) ?? (whole === event.messages ? undefined : whole);
        return messages && { messages };
      },
    };
  }

  /** Only newer hosts report a failed compaction. */
  compactionFailed(
    handler: (failure: CompactionFailure, ctx: HostContext) => void,
  ): HostHandler<"session_compact_failed"> {
    return (event, ctx) => {
      const isRefusal = event.reason === "manual" && /nothing to compact/i.test(event.errorMessage ?? "");
      handler({ isRefusal }, ctx);
    };
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
    notify(ctx, `pi-token-budget: the ${hook} hook failed and was skipped: ${messageOf(error)}`, "error");
  }
}
