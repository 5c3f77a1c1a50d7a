// The running loop of one session: requests, tool calls, notes, and the boundary at which a run has settled. Host events
// go to the machine as what they mean; the machine's effects become answers and messages.
import { messageOf, TokenBudgetError } from "../errors.ts";
import type { HostMessage, ToolCallEvent, ToolResultEvent } from "../host/api.ts";
import type { LogMessage } from "../host/entries.ts";
import { CHECKPOINT_ENTRY, controlOf, isNoteWriteTool, type OpenerDetails, openerOfMessage } from "../log/marks.ts";
import * as prompts from "../prompts.ts";
import { isBlank } from "../storage/text.ts";
import { newestIsMissing } from "./alignment.ts";
import { requestsOfWindow } from "./controls.ts";
import type { WindowEffects } from "./effects.ts";
import { callOf } from "./facts.ts";
import { type WindowLabel, WindowLabels } from "./labels.ts";
import type { LiveWindow } from "./live.ts";
import { type Delivery, type Effect, fenceOf } from "./machine.ts";
import { openingMessage } from "./openings.ts";
import { projectRequest, type SentIds } from "./projection.ts";
import { refusalReason } from "./refusals.ts";
import { isWriteBlocked, pathOfCall, refusedAsFull } from "./responses.ts";
import { PromptTokens } from "./room.ts";
import { UnwrittenMessages } from "./unwritten.ts";
import type { BudgetWatch } from "./watch.ts";

export interface LoopParts {
  readonly agent: string;
  readonly runId: string;
  /** Why the session could not join the root task that it was given; the same as long as it is open. */
  readonly apart: () => string | undefined;
  /** When the session was made; milliseconds since 1970. */
  readonly createdAt: number;
  /** What is wrong with a path as one of the agent's own notes; undefined when it is one. */
  readonly pathFault: (path: unknown) => string | undefined;
  /** Whether a call reaches the tool: the host has it, and its arguments are valid. */
  readonly canRun: (toolName: string, args: unknown) => boolean;
  /** Whether windows are on and this session has a tool that can save a checkpoint. */
  readonly canCheckpoint: () => boolean;
  readonly fenceMaxRequests: () => number;
  /** Hands a message to the host; `turn` starts a run, `quiet` only writes it down. */
  readonly send: (message: HostMessage, delivery: Delivery | "turn" | "quiet") => void;
  /** Whether this package resumes after a window change; otherwise another extension does. */
  readonly continues: () => boolean;
  /** Writes a data entry on the log. */
  readonly mark: (customType: string, data: unknown) => void;
}

export type NewContext =
  | { readonly type: "opened"; readonly details: OpenerDetails }
  | { readonly type: "nothing_to_leave" }
  | { readonly type: "refused"; readonly reason: string };

/** What a note write that answers a fence adds to its result. */
export interface SavedCheckpoint {
  readonly details?: OpenerDetails;
  /** The run ends with it: the compaction that asked for it resumes, or the owner of the continuation does. */
  readonly terminate?: true;
}

export class WindowLoop {
  readonly #live: LiveWindow;
  readonly #effects: WindowEffects;
  readonly #watch: BudgetWatch;
  readonly #parts: LoopParts;
  #sent: SentIds | undefined;
  /** Of the newest run; undefined before its first request. */
  #runSignal: AbortSignal | undefined;
  #isUnsent = false;
  readonly #unwritten = new UnwrittenMessages();
  readonly #labels = new WindowLabels();
  readonly #promptTokens = new PromptTokens();
  /** Calls of the newest batch that were judged by us or have run: another extension has stopped any other one. */
  readonly #seen = new Set<string>();

  constructor(live: LiveWindow, effects: WindowEffects, watch: BudgetWatch, parts: LoopParts) {
    this.#live = live;
    this.#effects = effects;
    this.#watch = watch;
    this.#parts = parts;
  }

  // --- requests ---

  /** A run begins with this prompt and these tools. */
  promptIs(systemPrompt: string, tools: readonly object[]): void {
    this.#watch.promptIs(this.#promptTokens.of(systemPrompt, tools));
  }

  /** The messages of the request that is about to go out. */
  async request(
    messages: readonly LogMessage[],
    signal: AbortSignal | undefined,
    waitForNewest: (isMissing: () => boolean) => Promise<void>,
  ): Promise<readonly LogMessage[]> {
    const wasStopped = this.#runSignal?.aborted === true;
    this.#runSignal = signal;
    this.#isUnsent = false;
    await waitForNewest(() => newestIsMissing(messages, this.#live.upToDate()));
    this.#watch.requestSent();
    if (!wasStopped && this.#isWriteBlocked()) this.#effects.carryOut(this.#live.step({ type: "write_blocked" }));
    this.#seen.clear();
    this.#effects.keepPromise();
    for (const requestId of this.#watch.lapsed()) this.#effects.cancel(requestId);
    const bound = { fenceMaxRequests: this.#parts.fenceMaxRequests(), canWrite: this.#parts.canCheckpoint() };
    this.#effects.carryOut(this.#live.step({ type: "request_due", ...bound }));
    const projected = this.#project(messages);
    const delivered = projected.flatMap((message) => controlOf(message)?.requestId ?? []);
    this.#live.step({ type: "request_sent", delivered });
    return projected;
  }

  #project(messages: readonly LogMessage[]): readonly LogMessage[] {
    const branch = this.#live.upToDate();
    if (this.#live.state.live.manual) this.#unwritten.keep(messages, branch);
    const { agent, runId, apart, createdAt } = this.#parts;
    const identity = prompts.identityText({ agent, windowId: branch.current.id, runId, apart: apart() });
    const { messages: projected, sent } = projectRequest({
      messages: this.#unwritten.heldBackFrom(messages),
      branch,
      identity: { text: identity, timestamp: createdAt },
      sent: this.#sent,
      cancelled: this.#cancelled(),
    });
    this.#sent = sent;
    return projected;
  }

  /** The signal of the newest run, once it has made a request. */
  get runSignal(): AbortSignal | undefined {
    return this.#runSignal;
  }

  /** The next request belongs to a new run. */
  forgetRun(): void {
    this.#runSignal = undefined;
  }

  /** What a person said that a control turn took in without an entry, to be said again now that it is over. */
  takeUnwritten(): readonly LogMessage[] {
    return this.#unwritten.take();
  }

  /** A person switches the package off or on: what this window still asks of the model is taken back. */
  cancelRequests(): void {
    for (const requestId of requestsOfWindow(this.#live.upToDate(), this.#cancelled())) this.#effects.cancel(requestId);
  }

  /** Requests that were taken back: their messages are not shown again. */
  #cancelled(): ReadonlySet<string> {
    const { requestMarks } = this.#live.upToDate();
    return new Set(requestMarks.filter(({ mark }) => mark.type === "cancelled").map(({ mark }) => mark.requestId));
  }

  #isWriteBlocked(): boolean {
    const { pathFault, canRun } = this.#parts;
    const isOwnNote = (path: unknown) => pathFault(path) === undefined;
    return isWriteBlocked(this.#live.upToDate(), { seen: this.#seen, isOwnNote, canRun });
  }

  // --- tools ---

  /** Why a call whose arguments the output limit may have cut off does not run; newer hosts never run one. */
  cutOff({ toolName, toolCallId }: ToolCallEvent): string | undefined {
    const isOurs = isNoteWriteTool(toolName) || toolName === "new_context" || toolName === "todo_write";
    if (!isOurs || callOf(this.#live.upToDate(), toolCallId)?.message?.stopReason !== "length") return undefined;
    this.#seen.add(toolCallId);
    return prompts.cutOffReason(toolName);
  }

  /** Why a tool call may not run now; undefined when it may. */
  refusal({ toolName, toolCallId, input, parentToolCallId }: ToolCallEvent): string | undefined {
    const writesNote = isNoteWriteTool(toolName);
    const pathFault = writesNote ? this.#parts.pathFault(input.path) : undefined;
    const effect = this.#live.step({
      type: "tool_called",
      toolCallId,
      ownNoteWrite: writesNote && pathFault === undefined,
      blank: typeof input.text === "string" && isBlank(input.text),
      canWrite: this.#parts.canCheckpoint(),
      opensWindow: toolName === "new_context",
      nested: parentToolCallId !== undefined,
      batchIsClosed: this.#live.upToDate().batchIsClosed,
    });
    if (effect?.type !== "refuse_tool") {
      this.#effects.carryOut(effect);
      return undefined;
    }
    this.#seen.add(toolCallId);
    return refusalReason(effect.because, {
      tool: toolName,
      windowId: this.#live.upToDate().current.id,
      pathFault,
      requests: fenceOf(this.#live.state)?.requests ?? 0,
      fenceMaxRequests: this.#parts.fenceMaxRequests(),
    });
  }

  /** A tool has ended in a running loop: the place where the budget is checked. */
  toolEnded(event: ToolResultEvent): void {
    const { toolCallId, isError, content } = event;
    if (isError) this.#live.step({ type: "tool_failed", toolCallId });
    // The result that opens a window is not on the branch yet, but the window it was measured in is over.
    if (openerOfMessage({ role: "toolResult", ...event })) return;
    this.#watch.resultArrived(toolCallId, content);
    this.#watch.check("steer");
  }

  noteFailed(toolCallId: string, error: unknown): void {
    this.#seen.add(toolCallId);
    const code = error instanceof TokenBudgetError ? error.code : "storage_failed";
    const ofStorage = code === "storage_failed" || code === "lock_unavailable";
    if (ofStorage) this.#effects.storageFailed(messageOf(error));
    this.#live.step({ type: "note_failed", toolCallId, ofStorage });
  }

  /** A note was saved. Under a fence it may be the checkpoint, if it reads back as written. */
  noteSaved(toolCallId: string, path: string, readsBack: () => boolean): SavedCheckpoint {
    this.#seen.add(toolCallId);
    if (this.#live.state.live.claim === toolCallId && !readsBack())
      throw new TokenBudgetError("storage_failed", prompts.notDurableReason(path));
    const effect = this.#live.step({ type: "note_saved", toolCallId });
    switch (effect?.type) {
      case "open_window":
        return { details: this.#effects.openerDetails(effect.cause), ...this.#endOfRun(!this.#parts.continues()) };
      case "mark_checkpoint":
        this.#parts.mark(CHECKPOINT_ENTRY, { requestId: effect.requestId });
        return this.#endOfRun(false);
      default:
        return {};
    }
  }

  /** The run ends with a checkpoint that a compaction waits for, and where another extension resumes. */
  #endOfRun(othersContinue: boolean): SavedCheckpoint {
    return othersContinue || this.#live.state.live.manual ? { terminate: true } : {};
  }

  /** What a call of new_context comes to. */
  newContext(toolCallId: string): NewContext {
    const { batchIsClosed } = this.#live.upToDate();
    const effect = this.#live.step({ type: "new_context_called", toolCallId, batchIsClosed });
    switch (effect?.type) {
      case "open_window":
        return { type: "opened", details: this.#effects.openerDetails(effect.cause) };
      case "refuse_new_context":
        return { type: "refused", reason: this.#newContextRefusal(effect) };
      default:
        return { type: "nothing_to_leave" };
    }
  }

  #newContextRefusal(effect: Extract<Effect, { type: "refuse_new_context" }>): string {
    const branch = this.#live.upToDate();
    return effect.because === "write_failed"
      ? prompts.writeFailedReason(pathOfCall(branch, effect.toolCallId))
      : prompts.windowClosedReason("new_context", branch.current.id);
  }

  // --- boundaries ---

  /** Nothing runs and nothing is queued. True when a run was started that answers an overflow. */
  settled({ overflowed, aborted }: { readonly overflowed: boolean; readonly aborted: boolean }): boolean {
    this.#effects.keepPromise();
    this.#effects.carryOut(this.#live.step({ type: "settled", aborted }));
    const refusal = overflowed || aborted ? undefined : this.refusedRequest();
    const isTooLong = overflowed || refusal !== undefined;
    const overflow = isTooLong ? this.#live.step({ type: "overflow_settled" }) : undefined;
    if (overflow?.type === "open_window") {
      const continues = this.#parts.continues();
      this.#parts.send(openingMessage(this.#effects.openerDetails("overflow", refusal)), continues ? "turn" : "quiet");
      return continues;
    }
    this.#effects.carryOut(overflow, refusal);
    this.budgetChanged();
    return false;
  }

  /** The request was stopped here: no provider has seen it. */
  nothingSent(): void {
    this.#isUnsent = true;
  }

  /** The provider's words for the newest request, when they count as too long. */
  refusedRequest(): string | undefined {
    if (this.#isUnsent || !this.#parts.canCheckpoint()) return undefined;
    return refusedAsFull(this.#live.branch, this.#live.state, this.#watch.isFull());
  }

  /** The starts of windows that have no label in the host's tree yet. */
  labelsDue(): readonly WindowLabel[] {
    const { manual } = this.#live.state.live;
    // A running compaction must find the log as it was.
    return manual && !manual.opensByWrite ? [] : this.#labels.due(this.#live.upToDate());
  }

  /** The budget may have changed outside a run: another model was selected. */
  budgetChanged(): void {
    this.#watch.check("nextTurn");
  }
}
