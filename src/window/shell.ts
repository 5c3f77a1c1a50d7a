// The windows of one live session, carried out: it turns the host's events into the machine's and the machine's effects
// into messages, opener details and compactions. It decides nothing itself.
import { randomUUID } from "node:crypto";
import { messageOf, TokenBudgetError } from "../errors.ts";
import type { CompactionAnswer, HostMessage, ToolCallEvent, ToolResultEvent } from "../host/api.ts";
import type { EntrySource, LogMessage } from "../host/entries.ts";
import type { Compaction } from "../host/host.ts";
import type { BranchIndex, Row, WindowRecord } from "../log/branch.ts";
import {
  CANCELLED_ENTRY,
  CHECKPOINT_ENTRY,
  controlOf,
  isNoteWriteTool,
  OPENED_ENTRY,
  type OpenerCause,
  type OpenerDetails,
  openerOfMessage,
} from "../log/marks.ts";
import * as prompts from "../prompts.ts";
import { isBlank } from "../storage/text.ts";
import type { AsideReason } from "./aside.ts";
import type { NotesIndex, RunningChild } from "./bootstrap.ts";
import { controlMessage, reminderFacts, standingRequests } from "./controls.ts";
import { callOf, unconsolidated } from "./facts.ts";
import { type WindowLabel, WindowLabels } from "./labels.ts";
import { LiveWindow } from "./live.ts";
import {
  BLOCKED_WRITES_MAX,
  type Delivery,
  type Effect,
  fenceOf,
  type ToolRefusal,
  type WindowState,
} from "./machine.ts";
import { type Checkpoint, type ControlTurn, runControlTurn } from "./manual.ts";
import * as notices from "./notices.ts";
import { consolidation, openerDetails, openingCompaction, openingMessage } from "./openings.ts";
import { newestIsMissing, projectRequest, type SentIds } from "./projection.ts";
import { promptTokens } from "./room.ts";
import { heldTokens } from "./usage.ts";
import { BudgetWatch, type BudgetWatchParts } from "./watch.ts";
import { UnwrittenWords } from "./words.ts";

export interface WindowShellParts extends Omit<BudgetWatchParts, "send"> {
  readonly source: EntrySource;
  readonly agent: string;
  readonly runId: string;
  /** Why the session could not join the root task that it was given; the same as long as it is open. */
  readonly apart: () => string | undefined;
  /** When the session was made; milliseconds since 1970. */
  readonly createdAt: number;
  /** The agent's own notes, newest update first. */
  readonly ownNotes: () => NotesIndex;
  /** Children that have not ended, newest first. */
  readonly children: () => readonly RunningChild[];
  /** What is wrong with a path as one of the agent's own notes; undefined when it is one. */
  readonly pathFault: (path: unknown) => string | undefined;
  /** Whether a call reaches the tool: the host has it, and its arguments are valid. */
  readonly canRun: (toolName: string, args: unknown) => boolean;
  readonly fenceMaxRequests: () => number;
  /** Hands a message to the host; `turn` starts a run, `quiet` only writes it down. */
  readonly send: (message: HostMessage, delivery: Delivery | "turn" | "quiet") => void;
  /** Whether this package goes on after a window change; otherwise the continuation is somebody else's. */
  readonly continues: () => boolean;
  /** What the host keeps of a session when it compacts, in tokens. */
  readonly keepRecentTokens: number;
  /** Tells the person something, in one line. */
  readonly report: (problem: string) => void;
  /** Says something to a person at a screen; to nobody else. */
  readonly remark: (text: string) => void;
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
  /** The run ends with it: the compaction that asked for it goes on, or the owner of the continuation does. */
  readonly terminate?: true;
}

/** What became of a window that a person asked for. */
export type OpenedByHand =
  /** `failed`: without a note, because the provider answered the request for it with this error. */
  | { readonly type: "opened"; readonly failed?: string }
  | { readonly type: "nothing_to_leave" | "under_way" | "no_checkpoint" };

/** How the host runs a control turn that `start` sets off. */
export type StartControlTurn = (start: () => void) => Omit<ControlTurn, "runSignal">;

/** Windows and messages that the host may still hold of closed windows before they are dropped at a settled boundary. */
const UNCONSOLIDATED_WINDOWS_MAX = 2;
const UNCONSOLIDATED_MESSAGES_MAX = 5_000;

const OVERFLOW_STAYS =
  "the request does not fit the model's window, and one more fresh window would not change that. Say how to go on with less, or choose a model with a larger window (/model).";

/** Nobody could be asked for a note: the request that would have done it does not fit either. */
function withoutNoteNotice({ id, number }: WindowRecord): string {
  return `the last request was too long for the model, so window w${number + 1} opens without a new note; what was done since the last one stands in the history of ${id}, and the model is told so.`;
}

export class WindowShell {
  readonly #parts: WindowShellParts;
  readonly #live: LiveWindow;
  readonly #watch: BudgetWatch;
  #sent: SentIds | undefined;
  #runSignal: AbortSignal | undefined;
  #consolidating = false;
  /** Of the newest compaction. */
  #signal: AbortSignal | undefined;
  #compacting = false;
  #cancellingIsExplained = false;
  /** The window whose overflow the person was told of. */
  #toldOverflowIn: number | undefined;
  /** The window in which the host refused a consolidation. */
  #refusedIn: number | undefined;
  /** The manual compaction that goes on now has stopped a running turn. */
  #interrupted = false;
  readonly #words = new UnwrittenWords();
  readonly #labels = new WindowLabels();
  /** Calls of the newest batch that were judged by us or have run: any other one was stopped by somebody else. */
  readonly #seen = new Set<string>();
  /** Ends the checkpoint turn that is going on. */
  #endTurn: (() => void) | undefined;
  #lastStorageFailure = "";

  constructor(parts: WindowShellParts) {
    this.#parts = parts;
    this.#live = new LiveWindow(parts.source, (path) => parts.pathFault(path) === undefined);
    this.#watch = new BudgetWatch(this.#live, { ...parts, canCheckpoint: () => this.#canCheckpoint() });
  }

  #canCheckpoint(): boolean {
    return this.#parts.canCheckpoint() && this.state.live.blocked < BLOCKED_WRITES_MAX;
  }

  /** Reads the log in slices; whatever is asked for meanwhile reads the rest at once. */
  warmUp(): Promise<void> {
    return this.#live.warmUp();
  }

  get branch(): BranchIndex {
    this.#live.refresh();
    return this.#live.branch;
  }

  get state(): WindowState {
    return this.#live.state;
  }

  /** Whether the compaction that goes on is one of our own, which only repeats the bootstrap. */
  get consolidating(): boolean {
    return this.#consolidating;
  }

  /** Whether a checkpoint or a compaction of ours is under way, which must land on the branch where it began. */
  get carriesOut(): boolean {
    const { manual } = this.state.live;
    const waits = manual !== undefined && manual.phase !== "compacting";
    return waits || this.#consolidating || (this.#compacting && this.#signal?.aborted !== true);
  }

  /** Whether the host compacts right now. */
  get compacting(): boolean {
    return this.#compacting;
  }

  /** Tokens used in this window; null when nobody knows. */
  used(): number | null {
    return this.#watch.used();
  }

  // --- requests ---

  /** A run begins with this prompt and these tools. */
  promptIs(systemPrompt: string, tools: readonly object[]): void {
    this.#watch.promptIs(promptTokens(systemPrompt, tools));
  }

  /** Why this model has no room for windows; undefined when it has, or nobody knows. */
  lacksRoom(): AsideReason | undefined {
    this.#live.refresh();
    return this.#watch.lacksRoom();
  }

  /** The messages of the request that is about to go out. */
  async request(
    messages: readonly LogMessage[],
    signal: AbortSignal | undefined,
    waitForNewest: (isMissing: () => boolean) => Promise<void>,
  ): Promise<readonly LogMessage[]> {
    const wasStopped = this.#runSignal?.aborted === true;
    this.#runSignal = signal;
    await waitForNewest(() => newestIsMissing(messages, this.branch));
    this.#watch.requestSent();
    if (!wasStopped && this.#isWriteBlocked()) this.#carryOut(this.#live.tell({ type: "write_blocked" }));
    this.#seen.clear();
    this.#keepPromise();
    for (const requestId of this.#watch.lapsed()) this.#parts.mark(CANCELLED_ENTRY, { requestId });
    const isBound = this.#parts.canCheckpoint() || this.state.live.manual !== undefined;
    const fenceMaxRequests = this.#parts.fenceMaxRequests();
    if (isBound) this.#carryOut(this.#live.tell({ type: "request_due", fenceMaxRequests }));
    const { branch } = this;
    if (this.state.live.manual) this.#words.keep(messages, branch);
    const identity = prompts.identityText(this.#identity(branch.current.id));
    const { messages: projected, sent } = projectRequest({
      messages: this.#words.heldBackFrom(messages),
      branch,
      identity: { text: identity, timestamp: this.#parts.createdAt },
      sent: this.#sent,
      cancelled: this.#cancelled(),
    });
    this.#sent = sent;
    const delivered = projected.flatMap((message) => controlOf(message)?.requestId ?? []);
    this.#live.tell({ type: "request_sent", delivered });
    return projected;
  }

  /** A person's words that a control turn took in without a trace, to be said once now that it is over. */
  takeWords(): readonly LogMessage[] {
    return this.#words.take();
  }

  /** A person switches the package off or on: what was asked of the model in this window is asked no more. */
  takeBack(): void {
    for (const requestId of standingRequests(this.branch, this.#cancelled()))
      this.#parts.mark(CANCELLED_ENTRY, { requestId });
  }

  /** Requests that were taken back: their messages are not shown again. */
  #cancelled(): ReadonlySet<string> {
    const { requestMarks } = this.branch;
    return new Set(requestMarks.filter(({ mark }) => mark.type === "cancelled").map(({ mark }) => mark.requestId));
  }

  // --- tools ---

  /** Why a call whose arguments the output limit may have cut off does not run; newer hosts never run one. */
  cutOff({ toolName, toolCallId }: ToolCallEvent): string | undefined {
    const isOurs = isNoteWriteTool(toolName) || toolName === "new_context" || toolName === "todo_write";
    if (!isOurs || callOf(this.branch, toolCallId)?.message?.stopReason !== "length") return undefined;
    this.#seen.add(toolCallId);
    return prompts.cutOffReason(toolName);
  }

  /** Why a tool call may not run now; undefined when it may. */
  refusal({ toolName, toolCallId, input, parentToolCallId }: ToolCallEvent): string | undefined {
    const fault = isNoteWriteTool(toolName) ? this.#parts.pathFault(input.path) : undefined;
    const effect = this.#live.tell({
      type: "tool_called",
      toolCallId,
      ownNoteWrite: isNoteWriteTool(toolName) && fault === undefined,
      blank: typeof input.text === "string" && isBlank(input.text),
      canWrite: this.#parts.canCheckpoint(),
      opensWindow: toolName === "new_context",
      nested: parentToolCallId !== undefined,
      batchIsClosed: this.branch.batchIsClosed,
    });
    if (effect?.type !== "refuse_tool") {
      this.#carryOut(effect);
      return undefined;
    }
    this.#seen.add(toolCallId);
    return this.#refusalReason(effect.because, toolName, fault);
  }

  /** What the machine asks for beside an answer to a call or a compaction. */
  #carryOut(effect: Effect | undefined): void {
    switch (effect?.type) {
      case "open_window": {
        const { id } = this.branch.current;
        this.#parts.mark(OPENED_ENTRY, this.#details(effect.cause));
        const requests = this.#parts.fenceMaxRequests();
        if (effect.cause === "without_note")
          this.#parts.report(notices.withoutNote(id, this.branch.current.id, requests));
        return;
      }
      case "rest_fence":
        this.#parts.mark(CANCELLED_ENTRY, { requestId: effect.requestId });
        this.#parts.report(notices.fenceRests(effect.because));
        return;
      case "step_aside":
        this.#parts.stepAside(notices.storageIsBroken(this.#lastStorageFailure));
        return;
      case "end_checkpoint_turn":
        if (effect.storageIsBroken) this.#parts.stepAside(notices.storageIsBroken(this.#lastStorageFailure));
        else this.#parts.report(notices.checkpointGivenUp(this.#parts.fenceMaxRequests()));
        this.#endTurn?.();
        return;
      default:
        return;
    }
  }

  /** Whether the newest batch holds a sound write of an own note that ended in an error before it came to us. */
  #isWriteBlocked(): boolean {
    const { rows, current } = this.branch;
    for (let i = rows.length - 1; i >= current.firstRow && rows[i]?.head.role === "tool"; i--) {
      const { head, entry } = rows[i] as Row;
      const { toolCallId = "" } = head;
      const call = entry.message?.isError === true && !this.#seen.has(toolCallId) && callOf(this.branch, toolCallId);
      if (!call || !isNoteWriteTool(call.name) || call.message?.stopReason === "length") continue;
      const { path } = (call.arguments ?? {}) as { path?: unknown };
      if (this.#parts.pathFault(path) === undefined && this.#parts.canRun(call.name, call.arguments)) return true;
    }
    return false;
  }

  /** Opens by an entry of ours what a result should have opened, when somebody else has changed that result. */
  #keepPromise(): void {
    const { promised } = this.state.live;
    const result = promised && this.branch.rows.findLast(({ head }) => head.toolCallId === promised.toolCallId);
    if (!result) return;
    // A person may have walked meanwhile: a branch without the call has nothing of its window.
    const isMeant = result.entry.message?.isError !== true && callOf(this.branch, promised.toolCallId) !== undefined;
    this.#carryOut(this.#live.tell({ type: "promise_broken", isMeant }));
  }

  /** A tool has ended in a running loop: the place where the budget is checked. */
  toolEnded(event: ToolResultEvent): void {
    const { toolCallId, isError, content } = event;
    if (isError) this.#live.tell({ type: "tool_failed", toolCallId });
    // The result that opens a window is not on the branch yet, but the window it was measured in is over.
    if (openerOfMessage({ role: "toolResult", ...event })) return;
    this.#watch.resultArrived(toolCallId, content);
    this.#watch.check("steer");
  }

  /** A write of a note has failed, whoever is to blame. */
  noteFailed(toolCallId: string, error: unknown): void {
    this.#seen.add(toolCallId);
    const code = error instanceof TokenBudgetError ? error.code : "storage_failed";
    const ofStorage = code === "storage_failed" || code === "lock_unavailable";
    if (ofStorage) this.#lastStorageFailure = messageOf(error);
    this.#live.tell({ type: "note_failed", toolCallId, ofStorage });
  }

  /** A note was saved. Under a fence it may be the checkpoint, if it reads back as written. */
  noteSaved(toolCallId: string, path: string, readsBack: () => boolean): SavedCheckpoint {
    this.#seen.add(toolCallId);
    if (this.state.live.claim === toolCallId && !readsBack())
      throw new TokenBudgetError("storage_failed", prompts.notDurableReason(path));
    const effect = this.#live.tell({ type: "note_saved", toolCallId });
    switch (effect?.type) {
      case "open_window":
        return { details: this.#details(effect.cause), ...this.#endOfRun(!this.#parts.continues()) };
      case "mark_checkpoint":
        this.#parts.mark(CHECKPOINT_ENTRY, { requestId: effect.requestId });
        return this.#endOfRun(false);
      default:
        return {};
    }
  }

  /** The run ends with a checkpoint that a compaction waits for, and where somebody else goes on. */
  #endOfRun(isOthers: boolean): SavedCheckpoint {
    return isOthers || this.state.live.manual ? { terminate: true } : {};
  }

  /** What a call of new_context comes to. */
  newContext(toolCallId: string): NewContext {
    const { batchIsClosed } = this.branch;
    const effect = this.#live.tell({ type: "new_context_called", toolCallId, batchIsClosed });
    switch (effect?.type) {
      case "open_window":
        return { type: "opened", details: this.#details(effect.cause) };
      case "refuse_new_context":
        return {
          type: "refused",
          reason:
            effect.because === "write_failed"
              ? prompts.writeFailedReason(this.#pathOfCall(effect.toolCallId))
              : prompts.windowClosedReason("new_context", this.branch.current.id),
        };
      default:
        return { type: "nothing_to_leave" };
    }
  }

  // --- boundaries ---

  /** Nothing runs and nothing is queued. True when a run was started that answers an overflow. */
  settled({ overflowed, aborted }: { readonly overflowed: boolean; readonly aborted: boolean }): boolean {
    this.#keepPromise();
    this.#carryOut(this.#live.tell({ type: "settled", aborted }));
    const overflow = overflowed ? this.#live.tell({ type: "overflow_settled" }) : undefined;
    if (overflow?.type === "leave_overflow") this.#tellOverflow();
    if (overflow?.type === "open_window") {
      const continues = this.#parts.continues();
      this.#parts.send(openingMessage(this.#details("overflow")), continues ? "turn" : "quiet");
      return continues;
    }
    this.#watch.check("nextTurn");
    return false;
  }

  /** The starts of windows that have no label in the host's tree yet. */
  labelsDue(): readonly WindowLabel[] {
    const { manual } = this.state.live;
    // A compaction that goes on finds the log as it was.
    return manual && !manual.opensByWrite ? [] : this.#labels.due(this.branch);
  }

  /** The budget may have changed outside a run: another model was selected. */
  budgetChanged(): void {
    this.#watch.check("nextTurn");
  }

  /** Whether the newest response is a whole answer. */
  isFinished(): boolean {
    return this.newestResponse()?.stopReason === "stop";
  }

  /** The newest response of the current window. */
  newestResponse(): LogMessage | undefined {
    const { rows, current } = this.branch;
    for (let i = rows.length - 1; i >= current.firstRow; i--)
      if (rows[i]?.head.role === "assistant") return rows[i]?.entry.message;
    return undefined;
  }

  // --- compactions ---

  /** What becomes of a compaction that the host is about to make; undefined leaves it to the host. */
  async compaction(compaction: Compaction, controlTurn: StartControlTurn): Promise<CompactionAnswer | undefined> {
    const { tokensBefore } = compaction;
    this.#signal = compaction.signal;
    this.#keepPromise();
    // A finished answer needs no other attempt, however much it used.
    const reason = compaction.reason === "overflow" && this.isFinished() ? "threshold" : compaction.reason;
    const held = unconsolidated(this.branch).windows;
    if (this.#consolidating || (!this.#canCheckpoint() && held > 0)) return this.#consolidation(tokensBefore);
    if (!this.#canCheckpoint()) return undefined;
    const requestId = randomUUID();
    const effect = this.#live.tell({ type: "compaction_started", reason, unconsolidatedWindows: held, requestId });
    switch (effect?.type) {
      case "open_window":
        this.#interrupted = reason === "manual" && compaction.inRun;
        return this.#openingCompaction(effect.cause, tokensBefore);
      case "consolidate":
        return this.#consolidation(tokensBefore);
      case "run_checkpoint":
        return this.#manualCompaction(compaction, effect.requestId, controlTurn);
      case "leave_overflow":
        this.#tellOverflow();
        return { cancel: true };
      default:
        // In a run the next tool result steers the fallback; outside one it rides along with the next prompt.
        if (reason === "threshold" && !compaction.inRun) this.#watch.check("nextTurn");
        if (reason === "threshold") this.#explainCancelling();
        return { cancel: true };
    }
  }

  /** Switched off, the host compacts by itself; what it holds of closed windows is only dropped, never summarized again. */
  compactionWhileOff({ reason, tokensBefore }: Compaction): CompactionAnswer | undefined {
    const isDrop = this.#consolidating || (reason === "threshold" && unconsolidated(this.branch).windows > 0);
    return isDrop ? this.#consolidation(tokensBefore) : undefined;
  }

  /** The host's compaction has ended. True when it had stopped a running turn and the work should go on. */
  compactionEnded(succeeded: boolean): boolean {
    this.#compacting = false;
    if (this.state.live.manual?.phase === "compacting") this.#live.tell({ type: "manual_ended" });
    const goesOn = succeeded && this.#interrupted && this.#parts.continues();
    this.#interrupted = false;
    return goesOn;
  }

  /** A checkpoint outside any compaction, for `/context new`: the saved note opens the window. */
  async openByHand(
    instructions: string | undefined,
    signal: AbortSignal,
    controlTurn: StartControlTurn,
  ): Promise<OpenedByHand> {
    if (this.state.live.manual) return { type: "under_way" };
    this.#keepPromise();
    const effect = this.#live.tell({ type: "checkpoint_asked", requestId: randomUUID() });
    if (effect?.type !== "run_checkpoint") return { type: "nothing_to_leave" };
    const checkpoint = await this.#checkpointTurn(effect.requestId, instructions, signal, controlTurn);
    this.#live.tell({ type: "manual_ended" });
    if (checkpoint.type === "saved") return { type: "opened" };
    if (checkpoint.type !== "failed") return { type: "no_checkpoint" };
    // The provider refuses this window, in whatever words: nobody can be asked for its note.
    const { type } = this.openWithoutNote();
    return type === "opened" ? { type, failed: checkpoint.error } : { type };
  }

  /** The next window, though nothing was noted for it. */
  openWithoutNote(): OpenedByHand {
    if (this.state.live.manual) return { type: "under_way" };
    this.#keepPromise();
    const effect = this.#live.tell({ type: "left_without_note" });
    if (effect?.type !== "open_window") return { type: "nothing_to_leave" };
    this.#parts.mark(OPENED_ENTRY, this.#details(effect.cause));
    return { type: "opened" };
  }

  /** Whether the host holds so much of closed windows that they should be dropped now; switched off, any is much. */
  needsConsolidation(isOff = false): boolean {
    // The end of a control turn is a settled boundary too, but its compaction is not over.
    if (this.state.live.manual || this.branch.current.number === this.#refusedIn) return false;
    const { windows, messages } = unconsolidated(this.branch);
    const isMuch = isOff || windows >= UNCONSOLIDATED_WINDOWS_MAX || messages >= UNCONSOLIDATED_MESSAGES_MAX;
    // The host refuses, and newer ones say so in red, when what it holds is little anyway.
    return windows > 0 && isMuch && heldTokens(this.branch) > this.#parts.keepRecentTokens;
  }

  /** Runs a host compaction that only consolidates. One that is refused is tried again in a later window. */
  async consolidate(compact: () => Promise<void>): Promise<void> {
    this.#consolidating = true;
    try {
      await compact();
    } catch {
      this.#refusedIn = this.branch.current.number;
    } finally {
      this.#consolidating = false;
      this.compactionEnded(false);
    }
  }

  // --- the rest ---

  /** Once in a session: the host shows every compaction that is cancelled. */
  #explainCancelling(): void {
    if (!this.#cancellingIsExplained) this.#parts.remark(notices.HOST_COMPACTION_CANCELLED);
    this.#cancellingIsExplained = true;
  }

  /** Once in a window. */
  #tellOverflow(): void {
    const { number } = this.branch.current;
    if (this.#toldOverflowIn === number) return;
    this.#toldOverflowIn = number;
    this.#parts.report(OVERFLOW_STAYS);
  }

  async #manualCompaction(
    { customInstructions, signal, tokensBefore, inRun }: Compaction,
    requestId: string,
    controlTurn: StartControlTurn,
  ): Promise<CompactionAnswer> {
    const before = this.branch.current.number;
    const checkpoint = await this.#checkpointTurn(requestId, customInstructions, signal, controlTurn);
    this.#live.tell({ type: checkpoint.type === "saved" ? "manual_compacting" : "manual_ended" });
    if (checkpoint.type !== "saved") {
      if (checkpoint.type !== "stopped") this.#parts.report(notices.compactionCancelled(checkpoint));
      return { cancel: true };
    }
    this.#interrupted = inRun;
    // Under a fallback the write has opened the window already: the compaction only follows it.
    if (this.branch.current.number > before) return this.#consolidation(tokensBefore);
    return this.#openingCompaction("manual_compact", tokensBefore);
  }

  async #checkpointTurn(
    requestId: string,
    instructions: string | undefined,
    signal: AbortSignal,
    controlTurn: StartControlTurn,
  ): Promise<Checkpoint> {
    this.#runSignal = undefined;
    const before = this.branch.current.number;
    const newestBefore = this.newestResponse();
    const facts = { ...reminderFacts(this.branch), instructions: instructions?.trim() || undefined };
    const details = { kind: "manual_checkpoint", requestId, windowId: this.branch.current.id } as const;
    const message = controlMessage(details, prompts.manualCheckpointText(facts));
    const turn = controlTurn(() => this.#parts.send(message, "turn"));
    const given = new AbortController();
    this.#endTurn = () => given.abort();
    const ends = AbortSignal.any([signal, given.signal]);
    const outcome = await runControlTurn({ ...turn, runSignal: () => this.#runSignal }, ends);
    this.#endTurn = undefined;
    this.#keepPromise();
    const { live } = this.state;
    const isSaved = live.manual?.phase === "saved" || this.branch.current.number > before;
    if (outcome === "ended" && isSaved) return { type: "saved" };
    this.#parts.mark(CANCELLED_ENTRY, { requestId });
    if (outcome === "aborted") return { type: "stopped" };
    if (outcome === "timed_out") return { type: "timed_out" };
    const newest = this.newestResponse();
    if (newest === newestBefore || newest?.stopReason !== "error") return { type: "unsaved" };
    return { type: "failed", error: newest.errorMessage ?? "it gave no reason" };
  }

  #openingCompaction(cause: OpenerCause, tokensBefore: number): CompactionAnswer {
    this.#compacting = true;
    return openingCompaction(this.#details(cause), tokensBefore);
  }

  #consolidation(tokensBefore: number): CompactionAnswer {
    this.#compacting = true;
    return consolidation(this.branch, tokensBefore, Date.now());
  }

  /** Says that the work goes on after a change that interrupted it. */
  continueRun(): void {
    const { id } = this.branch.current;
    const details = { kind: "continuation", requestId: randomUUID(), windowId: id } as const;
    this.#parts.send(controlMessage(details, prompts.continuationText(id)), "turn");
  }

  #refusalReason(because: ToolRefusal, tool: string, fault: string | undefined): string {
    const { id } = this.branch.current;
    switch (because) {
      case "window_closed":
        return prompts.windowClosedReason(tool, id);
      case "fence":
        return fault === undefined
          ? prompts.fenceReason(tool, id, fenceOf(this.state)?.requests ?? 0, this.#parts.fenceMaxRequests())
          : prompts.notOwnNoteReason(tool, fault);
      case "blank":
        return prompts.blankCheckpointReason(tool);
      case "claim_taken":
        return prompts.claimTakenReason(tool);
      case "checkpoint_saved":
        return prompts.checkpointSavedReason(tool);
      case "nested":
        return prompts.nestedReason(tool);
    }
  }

  #identity(windowId: string): prompts.Identity {
    return { agent: this.#parts.agent, windowId, runId: this.#parts.runId, apart: this.#parts.apart() };
  }

  #details(cause: OpenerCause): OpenerDetails {
    if (cause === "overflow") this.#parts.report(withoutNoteNotice(this.branch.current));
    return openerDetails(this.branch, {
      agent: this.#parts.agent,
      runId: this.#parts.runId,
      apart: this.#parts.apart(),
      notes: this.#parts.ownNotes(),
      children: this.#parts.children(),
      cause,
      contextWindow: this.#parts.contextWindow(),
      now: Date.now(),
    });
  }

  /** The path argument of a call of the current window. */
  #pathOfCall(toolCallId: string | undefined): string | undefined {
    const call = toolCallId === undefined ? undefined : callOf(this.branch, toolCallId);
    const path = (call?.arguments as { path?: unknown } | null | undefined)?.path;
    return typeof path === "string" ? path : undefined;
  }
}
