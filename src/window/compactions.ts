// The compactions of one session: what becomes of those that the host makes, the checkpoint turn of a person's, and the
// consolidations of our own. What each of them comes to is the machine's decision.
import { randomUUID } from "node:crypto";
import type { CompactionAnswer, HostMessage } from "../host/api.ts";
import type { Compaction } from "../host/host.ts";
import { OPENED_ENTRY, type OpenerCause } from "../log/marks.ts";
import * as prompts from "../prompts.ts";
import { consolidation, isConsolidationDue } from "./consolidation.ts";
import { controlMessage, reminderFacts } from "./controls.ts";
import type { WindowEffects } from "./effects.ts";
import { unconsolidated } from "./facts.ts";
import type { LiveWindow } from "./live.ts";
import type { WindowLoop } from "./loop.ts";
import type { Effect, LiveEvent } from "./machine.ts";
import { type Checkpoint, type ControlTurn, runControlTurn } from "./manual.ts";
import * as notices from "./notices.ts";
import { openingCompaction } from "./openings.ts";
import { isFinished, newestResponse } from "./responses.ts";
import { heldTokens } from "./usage.ts";

export interface CompactionParts {
  /** Whether windows are on in this session. */
  readonly enabled: () => boolean;
  /** Whether windows are on and this session has a tool that can save a checkpoint. */
  readonly canCheckpoint: () => boolean;
  /** Starts a run with this message. */
  readonly send: (message: HostMessage, delivery: "turn") => void;
  /** Whether this package resumes after a window change; otherwise another extension does. */
  readonly continues: () => boolean;
  /** What the host keeps of a session when it compacts, in tokens. */
  readonly keepRecentTokens: number;
  /** Tells the person something, in one line. */
  readonly report: (problem: string) => void;
  /** Says something to a person at a screen, and nothing where there is none. */
  readonly remark: (text: string) => void;
  /** Writes a data entry on the log. */
  readonly mark: (customType: string, data: unknown) => void;
}

/** What became of a window that a person asked for. */
export type OpenedByHand =
  /** `failed`: without a note, because the provider answered the request for it with this error. */
  | { readonly type: "opened"; readonly failed?: string }
  | { readonly type: "nothing_to_leave" | "under_way" | "no_checkpoint" };

/** How the host runs a control turn that `start` sets off. */
export type StartControlTurn = (start: () => void) => Omit<ControlTurn, "runSignal">;

export class WindowCompactions {
  readonly #live: LiveWindow;
  readonly #effects: WindowEffects;
  readonly #loop: WindowLoop;
  readonly #parts: CompactionParts;
  #consolidating = false;
  /** Of the newest compaction. */
  #signal: AbortSignal | undefined;
  #compacting = false;
  #cancellingIsExplained = false;
  /** The window in which the host refused a consolidation. */
  #refusedIn: number | undefined;
  /** The manual compaction under way has stopped a running turn. */
  #interrupted = false;

  constructor(live: LiveWindow, effects: WindowEffects, loop: WindowLoop, parts: CompactionParts) {
    this.#live = live;
    this.#effects = effects;
    this.#loop = loop;
    this.#parts = parts;
  }

  /** Whether the compaction under way is one of our own, which only repeats the bootstrap. */
  get consolidating(): boolean {
    return this.#consolidating;
  }

  /** Whether the host compacts right now. */
  get compacting(): boolean {
    return this.#compacting;
  }

  /** Whether a checkpoint or a compaction of ours is under way, which must land on the branch where it began. */
  get bindsBranch(): boolean {
    const { manual } = this.#live.state.live;
    const waits = manual !== undefined && manual.phase !== "compacting";
    return waits || this.#consolidating || (this.#compacting && this.#signal?.aborted !== true);
  }

  // --- compactions of the host ---

  /** What becomes of a compaction that the host is about to make; undefined leaves it to the host. */
  async start(compaction: Compaction, controlTurn: StartControlTurn): Promise<CompactionAnswer | undefined> {
    const enabled = this.#parts.enabled();
    if (enabled) {
      this.#signal = compaction.signal;
      this.#effects.keepPromise();
    }
    // Where the process ends with the run, the settled boundary opens the next window: the host waits for what that starts.
    const refusal = compaction.endsWithRun ? undefined : this.#loop.refusedRequest();
    const effect = this.#live.step(this.#startEvent(compaction, enabled, refusal !== undefined));
    switch (effect?.type) {
      case "leave_to_host":
        return undefined;
      case "consolidate":
        return this.#consolidation(compaction.tokensBefore);
      case "open_window":
        this.#interrupted = this.#isInterruption(effect.cause, compaction);
        return this.#openingCompaction(effect.cause, compaction.tokensBefore, refusal);
      case "run_checkpoint":
        return this.#manualCompaction(compaction, effect.requestId, controlTurn);
      case "cancel_compaction":
        this.#cancelled(effect, compaction);
        return { cancel: true };
      default:
        this.#effects.carryOut(effect, refusal);
        return { cancel: true };
    }
  }

  /** Whether a message of ours continues the work that the window cuts off; after an overflow of its own the host does it. */
  #isInterruption(cause: OpenerCause, { reason, inRun }: Compaction): boolean {
    if (cause === "overflow") return reason === "threshold" && this.#loop.runSignal !== undefined;
    return cause === "manual_compact" && inRun;
  }

  #startEvent({ reason }: Compaction, enabled: boolean, isRefused: boolean): LiveEvent {
    const branch = this.#live.upToDate();
    return {
      type: "compaction_started",
      reason,
      enabled,
      canWrite: this.#parts.canCheckpoint(),
      isOurs: this.#consolidating,
      isFinished: isFinished(branch),
      isRefused,
      unconsolidatedWindows: unconsolidated(branch).windows,
      requestId: randomUUID(),
    };
  }

  #cancelled({ reason }: Extract<Effect, { type: "cancel_compaction" }>, { inRun }: Compaction): void {
    if (reason !== "threshold") return;
    // In a run the next tool result steers the fallback; outside one it rides along with the next prompt.
    if (!inRun) this.#loop.budgetChanged();
    // Once in a session: the host shows every compaction that is cancelled.
    if (!this.#cancellingIsExplained) this.#parts.remark(notices.HOST_COMPACTION_CANCELLED);
    this.#cancellingIsExplained = true;
  }

  /** The host's compaction has ended. True when it had stopped a running turn that should now be resumed. */
  ended(succeeded: boolean): boolean {
    this.#compacting = false;
    if (this.#live.state.live.manual?.phase === "compacting") this.#live.step({ type: "manual_ended" });
    const resumes = succeeded && this.#interrupted && this.#parts.continues();
    this.#interrupted = false;
    return resumes;
  }

  /** Resumes the work after a change that interrupted it. */
  continueRun(): void {
    const { id } = this.#live.upToDate().current;
    const details = { kind: "continuation", requestId: randomUUID(), windowId: id } as const;
    this.#parts.send(controlMessage(details, prompts.continuationText(id)), "turn");
  }

  // --- windows that a person opens ---

  /** A checkpoint outside any compaction, for `/context new`: the saved note opens the window. */
  async openByHand(
    instructions: string | undefined,
    signal: AbortSignal,
    controlTurn: StartControlTurn,
  ): Promise<OpenedByHand> {
    this.#effects.keepPromise();
    const effect = this.#live.step({ type: "checkpoint_asked", requestId: randomUUID() });
    if (effect?.type !== "run_checkpoint") return notOpened(effect);
    const checkpoint = await this.#checkpointTurn(effect.requestId, instructions, signal, controlTurn);
    this.#live.step({ type: "manual_ended" });
    if (checkpoint.type === "saved") return { type: "opened" };
    if (checkpoint.type !== "failed") return { type: "no_checkpoint" };
    // The provider refuses this window, in whatever words: no request can ask for its note.
    const { type } = this.openWithoutNote();
    return type === "opened" ? { type, failed: checkpoint.error } : { type };
  }

  /** The next window, though nothing was noted for it. */
  openWithoutNote(): OpenedByHand {
    this.#effects.keepPromise();
    const effect = this.#live.step({ type: "left_without_note" });
    if (effect?.type !== "open_window") return notOpened(effect);
    this.#parts.mark(OPENED_ENTRY, this.#effects.openerDetails(effect.cause));
    return { type: "opened" };
  }

  // --- consolidations ---

  /** Whether the host holds so much of closed windows that they should be dropped now; switched off, any is much. */
  needsConsolidation(isOff = false): boolean {
    const branch = this.#live.upToDate();
    // The end of a control turn is a settled boundary too, but its compaction is not over.
    if (this.#live.state.live.manual || branch.current.number === this.#refusedIn) return false;
    return isConsolidationDue(branch, { isOff, keepRecentTokens: this.#parts.keepRecentTokens });
  }

  /** Runs a host compaction that only consolidates. One that is refused is tried again in a later window. */
  async consolidate(compact: () => Promise<void>): Promise<void> {
    this.#consolidating = true;
    try {
      await compact();
    } catch {
      this.#refusedIn = this.#live.upToDate().current.number;
    } finally {
      this.#consolidating = false;
      this.ended(false);
    }
  }

  // --- checkpoints ---

  async #manualCompaction(
    { customInstructions, signal, tokensBefore, inRun }: Compaction,
    requestId: string,
    controlTurn: StartControlTurn,
  ): Promise<CompactionAnswer> {
    const before = this.#live.upToDate().current.number;
    const checkpoint = await this.#checkpointTurn(requestId, customInstructions, signal, controlTurn);
    this.#live.step({ type: checkpoint.type === "saved" ? "manual_compacting" : "manual_ended" });
    if (checkpoint.type !== "saved") {
      if (checkpoint.type !== "stopped") this.#parts.report(notices.compactionCancelled(checkpoint));
      return { cancel: true };
    }
    this.#interrupted = inRun;
    // Under a fallback the write has opened the window already: the compaction only follows it.
    if (this.#live.upToDate().current.number > before) return this.#consolidation(tokensBefore);
    return this.#openingCompaction("manual_compact", tokensBefore);
  }

  async #checkpointTurn(
    requestId: string,
    instructions: string | undefined,
    signal: AbortSignal,
    controlTurn: StartControlTurn,
  ): Promise<Checkpoint> {
    this.#loop.forgetRun();
    const branch = this.#live.upToDate();
    const { id: windowId, number: before } = branch.current;
    const newestBefore = newestResponse(branch);
    const facts = { ...reminderFacts(branch), instructions: instructions?.trim() || undefined };
    const message = controlMessage(
      { kind: "manual_checkpoint", requestId, windowId },
      prompts.manualCheckpointText(facts),
    );
    const turn = controlTurn(() => this.#parts.send(message, "turn"));
    const given = new AbortController();
    this.#effects.endCheckpointTurn = () => given.abort();
    const ends = AbortSignal.any([signal, given.signal]);
    const outcome = await runControlTurn({ ...turn, runSignal: () => this.#loop.runSignal }, ends);
    this.#effects.endCheckpointTurn = undefined;
    this.#effects.keepPromise();
    const isSaved = this.#live.state.live.manual?.phase === "saved" || this.#live.branch.current.number > before;
    if (outcome === "ended" && isSaved) return { type: "saved" };
    this.#effects.cancel(requestId);
    if (outcome === "aborted") return { type: "stopped" };
    if (outcome === "timed_out") return { type: "timed_out" };
    const newest = newestResponse(this.#live.upToDate());
    if (newest === newestBefore || newest?.stopReason !== "error") return { type: "unsaved" };
    return { type: "failed", error: newest.errorMessage ?? "it gave no reason" };
  }

  #openingCompaction(cause: OpenerCause, tokensBefore: number, refusal?: string): CompactionAnswer {
    this.#compacting = true;
    return openingCompaction(this.#effects.openerDetails(cause, refusal), this.#sizeBefore(tokensBefore));
  }

  #consolidation(tokensBefore: number): CompactionAnswer {
    this.#compacting = true;
    return consolidation(this.#live.upToDate(), this.#sizeBefore(tokensBefore), Date.now());
  }

  /** The host shows the figure; where its provider reports no usage it has none, and our estimate is shown. */
  #sizeBefore(tokensBefore: number): number {
    return tokensBefore > 0 ? tokensBefore : heldTokens(this.#live.upToDate());
  }
}

function notOpened(effect: Effect | undefined): OpenedByHand {
  return { type: effect?.type === "answer_not_opened" ? effect.because : "nothing_to_leave" };
}
