// The windows of one live session, carried out: it turns the host's events into the machine's and the machine's effects
// into messages, opener details and compactions. It decides nothing itself.
import { randomUUID } from "node:crypto";
import { TokenBudgetError } from "../errors.ts";
import type { CompactionAnswer, HostMessage, ToolResultEvent } from "../host/api.ts";
import {
  blocksOf,
  type EntrySource,
  isImageBlock,
  isTextBlock,
  isToolCallBlock,
  type LogMessage,
} from "../host/entries.ts";
import { type Compaction, waitForEntry } from "../host/host.ts";
import type { BranchIndex } from "../log/branch.ts";
import {
  CANCELLED_ENTRY,
  CHECKPOINT_ENTRY,
  type ControlDetails,
  controlOf,
  controlType,
  isNoteWriteTool,
  type OpenerCause,
  type OpenerDetails,
} from "../log/marks.ts";
import * as prompts from "../prompts.ts";
import { type NotesIndex, recentItems } from "./bootstrap.ts";
import { type BudgetSettings, budgetLevel, type HostFigures, thresholds } from "./budget.ts";
import { unconsolidated } from "./facts.ts";
import { LiveWindow } from "./live.ts";
import type { Delivery, Effect, ToolRefusal, WindowState } from "./machine.ts";
import { type ControlTurn, runControlTurn } from "./manual.ts";
import { consolidation, openerDetails, openingCompaction, openingMessage } from "./openings.ts";
import { usedTokens } from "./phase.ts";
import { newestIsMissing, projectRequest, type SentIds } from "./projection.ts";

export interface WindowShellParts {
  readonly source: EntrySource;
  readonly agent: string;
  readonly runId: string;
  /** When the session was made; milliseconds since 1970. */
  readonly createdAt: number;
  /** The agent's own notes, newest update first. */
  readonly ownNotes: () => NotesIndex;
  /** Whether a path is one of the agent's own notes. */
  readonly isOwnNote: (path: unknown) => boolean;
  /** Whether this session has a tool that could save a checkpoint; without one it is never fenced. */
  readonly canCheckpoint: () => boolean;
  readonly settings: () => BudgetSettings;
  /** What the host keeps free, in tokens. */
  readonly reserveTokens: number;
  readonly figures: () => HostFigures | undefined;
  /** Hands a message to the host; `turn` starts a run, `quiet` only writes it down. */
  readonly send: (message: HostMessage, delivery: Delivery | "turn" | "quiet") => void;
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
  /** The run ends with it: the compaction that asked for it goes on. */
  readonly terminate?: true;
}

/** How the host runs a control turn that `start` sets off. */
export type StartControlTurn = (start: () => void) => Omit<ControlTurn, "runSignal">;

const CODE_UNITS_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1_200;

/** Windows and messages that the host may still hold of closed windows before they are dropped at a settled boundary. */
const UNCONSOLIDATED_WINDOWS_MAX = 2;
const UNCONSOLIDATED_MESSAGES_MAX = 5_000;

function estimatedTokens(content: unknown): number {
  let tokens = 0;
  for (const block of blocksOf(content)) {
    if (isTextBlock(block)) tokens += block.text.length / CODE_UNITS_PER_TOKEN;
    else if (isImageBlock(block)) tokens += TOKENS_PER_IMAGE;
  }
  return Math.ceil(tokens);
}

export class WindowShell {
  readonly #parts: WindowShellParts;
  readonly #live: LiveWindow;
  #sent: SentIds | undefined;
  /** Results of the batch that runs now, by call: the host does not count them before they are written. */
  #unseen = new Map<string, number>();
  #runSignal: AbortSignal | undefined;
  #consolidating = false;
  #compacting = false;

  constructor(parts: WindowShellParts) {
    this.#parts = parts;
    this.#live = new LiveWindow(parts.source);
  }

  get branch(): BranchIndex {
    this.#live.refresh();
    return this.#live.branch;
  }

  get state(): WindowState {
    return this.#live.state;
  }

  /** Whether the host compacts right now. */
  get compacting(): boolean {
    return this.#compacting;
  }

  /** Tokens used in this window; null when nobody knows. */
  used(): number | null {
    return usedTokens(this.#parts.figures(), this.state, () => this.#estimate());
  }

  // --- requests ---

  /** The messages of the request that is about to go out. */
  async request(messages: readonly LogMessage[], signal: AbortSignal | undefined): Promise<readonly LogMessage[]> {
    this.#runSignal = signal;
    this.#unseen.clear();
    await waitForEntry(() => newestIsMissing(messages, this.branch));
    const { branch } = this;
    const identity = prompts.identityText(this.#identity(branch.current.id));
    const { messages: projected, sent } = projectRequest({
      messages,
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

  /** Requests that were taken back: their messages are not shown again. */
  #cancelled(): ReadonlySet<string> {
    const { requestMarks } = this.branch;
    return new Set(requestMarks.filter(({ mark }) => mark.type === "cancelled").map(({ mark }) => mark.requestId));
  }

  // --- tools ---

  /** Why a tool call may not run now; undefined when it may. */
  refusal(toolName: string, toolCallId: string, input: Readonly<Record<string, unknown>>): string | undefined {
    const effect = this.#live.tell({
      type: "tool_called",
      toolCallId,
      ownNoteWrite: isNoteWriteTool(toolName) && this.#parts.isOwnNote(input.path),
      batchIsClosed: this.branch.batchIsClosed,
    });
    return effect?.type === "refuse_tool" ? this.#refusalReason(effect.because, toolName) : undefined;
  }

  /** A tool has ended in a running loop: the place where the budget is checked. */
  toolEnded({ toolCallId, isError, content, details }: ToolResultEvent): void {
    if (isError) this.#live.tell({ type: "tool_failed", toolCallId });
    // The result that opens a window is not on the branch yet, but the window it was measured in is over.
    if ((details as { opens?: unknown } | null | undefined)?.opens !== undefined) return;
    this.#unseen.set(toolCallId, estimatedTokens(content));
    this.#checkBudget("steer");
  }

  /** A note was saved. Under a fence it may be the checkpoint, if it reads back as written. */
  noteSaved(toolCallId: string, path: string, readsBack: () => boolean): SavedCheckpoint {
    if (this.state.live.claim !== toolCallId) return {};
    if (!readsBack()) throw new TokenBudgetError("storage_failed", prompts.notDurableReason(path));
    const effect = this.#live.tell({ type: "note_saved", toolCallId });
    switch (effect?.type) {
      case "open_window":
        return { details: this.#details(effect.cause) };
      case "mark_checkpoint":
        this.#parts.mark(CHECKPOINT_ENTRY, { requestId: effect.requestId });
        return { terminate: true };
      default:
        return {};
    }
  }

  /** What a call of new_context comes to. */
  newContext(): NewContext {
    const effect = this.#live.tell({ type: "new_context_called", batchIsClosed: this.branch.batchIsClosed });
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
  settled(overflowed: boolean): boolean {
    this.#live.tell({ type: "settled" });
    if (overflowed && this.#live.tell({ type: "overflow_settled" })?.type === "open_window") {
      this.#parts.send(openingMessage(this.#details("overflow")), "turn");
      return true;
    }
    this.#checkBudget("nextTurn");
    return false;
  }

  /** The budget may have changed outside a run: another model was selected. */
  budgetChanged(): void {
    this.#checkBudget("nextTurn");
  }

  /** Whether the newest response of the current window is an overflow that nothing has answered. */
  newestResponse(): LogMessage | undefined {
    const { rows, current } = this.branch;
    for (let i = rows.length - 1; i >= current.firstRow; i--)
      if (rows[i]?.head.role === "assistant") return rows[i]?.entry.message;
    return undefined;
  }

  // --- compactions ---

  /** What becomes of a compaction that the host is about to make; undefined leaves it to the host. */
  async compaction(compaction: Compaction, controlTurn: StartControlTurn): Promise<CompactionAnswer | undefined> {
    const { reason, tokensBefore } = compaction;
    const held = unconsolidated(this.branch).windows;
    if (this.#consolidating || (!this.#parts.canCheckpoint() && held > 0)) return this.#consolidation(tokensBefore);
    if (!this.#parts.canCheckpoint()) return undefined;
    const requestId = randomUUID();
    const effect = this.#live.tell({ type: "compaction_started", reason, unconsolidatedWindows: held, requestId });
    switch (effect?.type) {
      case "open_window":
        return this.#openingCompaction(effect.cause, tokensBefore);
      case "consolidate":
        return this.#consolidation(tokensBefore);
      case "run_checkpoint":
        return this.#manualCompaction(compaction, effect.requestId, controlTurn);
      default:
        // In a run the next tool result steers the fallback; outside one it rides along with the next prompt.
        if (reason === "threshold" && !compaction.inRun) this.#checkBudget("nextTurn");
        return { cancel: true };
    }
  }

  /** The host's compaction has ended, well or not. */
  compactionEnded(): void {
    this.#compacting = false;
    if (this.state.live.manual?.phase === "compacting") this.#live.tell({ type: "manual_ended" });
  }

  /** A checkpoint outside any compaction, for `/context new`. The window opens when its turn has ended. */
  async openByHand(
    instructions: string | undefined,
    signal: AbortSignal,
    controlTurn: StartControlTurn,
  ): Promise<"opened" | "nothing_to_leave" | "no_checkpoint"> {
    const effect = this.#live.tell({ type: "checkpoint_asked", requestId: randomUUID() });
    if (effect?.type !== "run_checkpoint") return "nothing_to_leave";
    const before = this.branch.current.number;
    const saved = await this.#checkpointTurn(effect.requestId, instructions, signal, controlTurn);
    this.#live.tell({ type: "manual_ended" });
    if (!saved) return "no_checkpoint";
    if (this.branch.current.number === before) this.#parts.send(openingMessage(this.#details("context_new")), "quiet");
    return "opened";
  }

  /** Whether the host holds so much of closed windows that they should be dropped now. */
  needsConsolidation(): boolean {
    const { windows, messages } = unconsolidated(this.branch);
    return windows > 0 && (windows >= UNCONSOLIDATED_WINDOWS_MAX || messages >= UNCONSOLIDATED_MESSAGES_MAX);
  }

  /** Runs a host compaction that only consolidates. */
  async consolidate(compact: () => Promise<void>): Promise<void> {
    this.#consolidating = true;
    try {
      await compact();
    } finally {
      this.#consolidating = false;
      this.compactionEnded();
    }
  }

  // --- the rest ---

  async #manualCompaction(
    { customInstructions, signal, tokensBefore }: Compaction,
    requestId: string,
    controlTurn: StartControlTurn,
  ): Promise<CompactionAnswer> {
    const before = this.branch.current.number;
    const saved = await this.#checkpointTurn(requestId, customInstructions, signal, controlTurn);
    this.#live.tell({ type: saved ? "manual_compacting" : "manual_ended" });
    if (!saved) return { cancel: true };
    // Under a fallback the write has opened the window already: the compaction only follows it.
    if (this.branch.current.number > before) return this.#consolidation(tokensBefore);
    return this.#openingCompaction("manual_compact", tokensBefore);
  }

  /** Whether the checkpoint was saved. */
  async #checkpointTurn(
    requestId: string,
    instructions: string | undefined,
    signal: AbortSignal,
    controlTurn: StartControlTurn,
  ): Promise<boolean> {
    this.#runSignal = undefined;
    const before = this.branch.current.number;
    const facts = { ...this.#reminderFacts(), instructions: instructions?.trim() || undefined };
    const message = this.#control("manual_checkpoint", requestId, prompts.manualCheckpointText(facts));
    const turn = controlTurn(() => this.#parts.send(message, "turn"));
    const outcome = await runControlTurn({ ...turn, runSignal: () => this.#runSignal }, signal);
    const { live } = this.state;
    const isSaved = live.manual?.phase === "saved" || this.branch.current.number > before;
    if (outcome === "ended" && isSaved) return true;
    this.#parts.mark(CANCELLED_ENTRY, { requestId });
    return false;
  }

  #openingCompaction(cause: OpenerCause, tokensBefore: number): CompactionAnswer {
    this.#compacting = true;
    return openingCompaction(this.#details(cause), tokensBefore);
  }

  #consolidation(tokensBefore: number): CompactionAnswer {
    this.#compacting = true;
    return consolidation(this.branch, tokensBefore, Date.now());
  }

  #checkBudget(via: Delivery): void {
    const host = this.#parts.figures();
    if (!host || !this.#parts.canCheckpoint()) return;
    const settings = this.#parts.settings();
    const known = this.used();
    const used = known === null ? null : known + this.#unseenTokens();
    const { hardRolloverUsedTokens: hard } = settings;
    const effect = this.#live.tell({
      type: "budget_checked",
      level: budgetLevel(used, host.contextWindow, thresholds(host.contextWindow, this.#parts.reserveTokens, settings)),
      hardTriggerTokens: hard > 0 && used !== null && used >= hard ? hard : undefined,
      via,
    });
    if (effect?.type === "send_control")
      this.#sendControl(effect, used === null ? undefined : host.contextWindow - used);
  }

  #sendControl(effect: Effect & { type: "send_control" }, remainingTokens: number | undefined): void {
    const { kind, via, hardTriggerTokens } = effect;
    const facts = { ...this.#reminderFacts(), remainingTokens };
    const text = kind === "reminder" ? prompts.reminderText(facts) : prompts.fallbackText(facts);
    this.#parts.send(this.#control(kind, randomUUID(), text, hardTriggerTokens), via);
  }

  /** What the host has not counted yet: results of this batch that are not on the branch. */
  #unseenTokens(): number {
    const { rows } = this.branch;
    for (let i = rows.length - 1; i >= 0 && rows[i]?.head.role === "tool"; i--)
      this.#unseen.delete(rows[i]?.head.toolCallId ?? "");
    let tokens = 0;
    for (const one of this.#unseen.values()) tokens += one;
    return tokens;
  }

  /** For providers that report no usage: the bootstrap and everything since. */
  #estimate(): number {
    const { rows, current } = this.branch;
    const { opener } = current;
    let tokens = opener && "details" in opener ? opener.details.bootstrap.length / CODE_UNITS_PER_TOKEN : 0;
    for (let i = current.firstRow; i < rows.length; i++) {
      const entry = rows[i]?.entry;
      if (entry) tokens += this.branch.text(entry).points.text.length / CODE_UNITS_PER_TOKEN;
    }
    return Math.ceil(tokens);
  }

  #reminderFacts(): prompts.ReminderFacts {
    return { windowId: this.branch.current.id, remainingTokens: undefined, items: recentItems(this.branch) };
  }

  #control(kind: ControlDetails["kind"], requestId: string, content: string, hardTriggerTokens?: number): HostMessage {
    const details: ControlDetails = {
      kind,
      requestId,
      windowId: this.branch.current.id,
      ...(hardTriggerTokens === undefined ? {} : { hardTriggerTokens }),
    };
    return { customType: controlType(kind), content, display: false, details };
  }

  /** Says that the work goes on after a change that interrupted it. */
  continueRun(): void {
    const { id } = this.branch.current;
    this.#parts.send(this.#control("continuation", randomUUID(), prompts.continuationText(id)), "turn");
  }

  #refusalReason(because: ToolRefusal, tool: string): string {
    const { id } = this.branch.current;
    switch (because) {
      case "window_closed":
        return prompts.windowClosedReason(tool, id);
      case "fence":
        return prompts.fenceReason(tool, id);
      case "claim_taken":
        return prompts.claimTakenReason(tool);
      case "checkpoint_saved":
        return prompts.checkpointSavedReason(tool);
    }
  }

  #identity(windowId: string): prompts.Identity {
    return { agent: this.#parts.agent, windowId, runId: this.#parts.runId };
  }

  #details(cause: OpenerCause): OpenerDetails {
    return openerDetails(this.branch, {
      agent: this.#parts.agent,
      runId: this.#parts.runId,
      notes: this.#parts.ownNotes(),
      cause,
      contextWindow: this.#parts.figures()?.contextWindow,
      now: Date.now(),
    });
  }

  /** The path argument of a call of the current window. */
  #pathOfCall(toolCallId: string | undefined): string | undefined {
    const { rows, current } = this.branch;
    for (let i = rows.length - 1; i >= current.firstRow; i--) {
      for (const block of blocksOf(rows[i]?.entry.message?.content)) {
        if (!isToolCallBlock(block) || block.id !== toolCallId) continue;
        const path = (block.arguments as { path?: unknown } | null | undefined)?.path;
        return typeof path === "string" ? path : undefined;
      }
    }
    return undefined;
  }
}
