// What the machine asks for, carried out on the log and towards the person. The running loop and the compactions share
// it, and the answers that only one of them gives stay with that one.
import { CANCELLED_ENTRY, OPENED_ENTRY, type OpenerCause, type OpenerDetails } from "../log/marks.ts";
import type { AsideReason } from "./aside.ts";
import type { NotesIndex, RunningChild } from "./bootstrap.ts";
import { callOf } from "./facts.ts";
import type { LiveWindow } from "./live.ts";
import { UNNOTED_IN_A_ROW_MAX } from "./log-state.ts";
import type { Effect } from "./machine.ts";
import * as notices from "./notices.ts";
import { openerDetails } from "./openings.ts";

export interface EffectParts {
  readonly agent: string;
  readonly runId: string;
  /** Why the session could not join the root task that it was given; the same as long as it is open. */
  readonly apart: () => string | undefined;
  /** The agent's own notes, newest update first. */
  readonly ownNotes: () => NotesIndex;
  /** Children that have not ended, newest first. */
  readonly children: () => readonly RunningChild[];
  /** The model's context window, in tokens; undefined without a model. */
  readonly contextWindow: () => number | undefined;
  readonly fenceMaxRequests: () => number;
  /** Windows would do harm in this session. */
  readonly stepAside: (reason: AsideReason) => void;
  /** Tells the person something, in one line. */
  readonly report: (problem: string) => void;
  /** Writes a data entry on the log. */
  readonly mark: (customType: string, data: unknown) => void;
}

export class WindowEffects {
  readonly #live: LiveWindow;
  readonly #parts: EffectParts;
  #storageFailure = "";
  /** The window whose overflow was reported to the person. */
  #toldOverflowIn: number | undefined;
  /** Ends the checkpoint turn of a compaction; undefined while there is none. */
  endCheckpointTurn: (() => void) | undefined;

  constructor(live: LiveWindow, parts: EffectParts) {
    this.#live = live;
    this.#parts = parts;
  }

  /** A note could not be stored: the newest failure is the one that is reported. */
  storageFailed(message: string): void {
    this.#storageFailure = message;
  }

  /** `refusal`: the provider's words for a request that was too long, where they do not say so. */
  carryOut(effect: Effect | undefined, refusal?: string): void {
    switch (effect?.type) {
      case "open_window":
        return this.#open(effect.cause);
      case "rest_fence":
        this.cancel(effect.requestId);
        return this.#parts.report(notices.fenceRests(effect.because));
      case "step_aside":
        return this.#parts.stepAside(
          effect.because === "unsaved"
            ? notices.savesNothing(UNNOTED_IN_A_ROW_MAX + 1)
            : notices.storageIsBroken(this.#storageFailure),
        );
      case "end_checkpoint_turn":
        if (effect.storageIsBroken) this.#parts.stepAside(notices.storageIsBroken(this.#storageFailure));
        else this.#parts.report(notices.checkpointGivenUp(this.#parts.fenceMaxRequests()));
        return this.endCheckpointTurn?.();
      case "leave_overflow":
        return this.#tellOverflow(refusal);
      default:
        return;
    }
  }

  /** Opens the next window by an entry of its own. */
  #open(cause: OpenerCause): void {
    const { id: left } = this.#live.upToDate().current;
    this.#parts.mark(OPENED_ENTRY, this.openerDetails(cause));
    if (cause !== "without_note") return;
    const { id: opened } = this.#live.upToDate().current;
    this.#parts.report(notices.withoutNote(left, opened, this.#parts.fenceMaxRequests()));
  }

  /** What is written with the opener of the next window. `refusal`: as in `carryOut`. */
  openerDetails(cause: OpenerCause, refusal?: string): OpenerDetails {
    const { agent, runId, apart, ownNotes, children, contextWindow, report } = this.#parts;
    const branch = this.#live.upToDate();
    if (cause === "overflow") report(notices.overflowOpens(branch.current, refusal));
    return openerDetails(branch, {
      agent,
      runId,
      apart: apart(),
      notes: ownNotes(),
      children: children(),
      cause,
      contextWindow: contextWindow(),
      now: Date.now(),
    });
  }

  /** Takes back what the model was asked for. */
  cancel(requestId: string): void {
    this.#parts.mark(CANCELLED_ENTRY, { requestId });
  }

  /** Opens by an entry of ours what a result should have opened, when another extension has changed that result. */
  keepPromise(): void {
    const { promised } = this.#live.state.live;
    const { branch } = this.#live;
    const result = promised && branch.rows.findLast(({ head }) => head.toolCallId === promised.toolCallId);
    if (!result) return;
    // A person may have walked the tree meanwhile: a branch without the call has nothing of its window.
    const isMeant = result.entry.message?.isError !== true && callOf(branch, promised.toolCallId) !== undefined;
    this.carryOut(this.#live.step({ type: "promise_broken", isMeant }));
  }

  /** Once in a window. */
  #tellOverflow(refusal: string | undefined): void {
    const { number } = this.#live.upToDate().current;
    const { hasWork } = this.#live.state.log;
    if (this.#toldOverflowIn === number) return;
    this.#toldOverflowIn = number;
    this.#parts.report(notices.overflowStays(refusal, hasWork));
  }
}
