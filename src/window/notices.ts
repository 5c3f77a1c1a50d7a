// What the person is told when a window does not go the usual way: the reason, and what to do. Pure.
import type { WindowRecord } from "../log/branch.ts";
import type { AsideReason } from "./aside.ts";
import type { Checkpoint } from "./manual.ts";

export function withoutNote(left: string, opened: string, requests: number): string {
  return `The model was asked for its checkpoint in ${requests} requests in a row and saved none, so ${opened} opened without a note. Nothing is lost: the model can read all of ${left} back, and /windows ${left} shows it.`;
}

/** No request could ask for a note: it would not fit either. `refusal`: the provider's words, where they do not say so. */
export function overflowOpens({ id, number }: WindowRecord, refusal: string | undefined): string {
  const why =
    refusal === undefined
      ? "the last request was too long for the model"
      : `this window is full and the provider refused the last request (${becauseOf(refusal)})`;
  return `${why}, so window w${number + 1} opens without a new note; what was done since the last one stands in the history of ${id}, and the model is told so.`;
}

/** The same, where no window opens. */
export function overflowStays(refusal: string | undefined, hasWork: boolean): string {
  const why =
    refusal === undefined
      ? "the request does not fit the model's window, and one more fresh window would not change that"
      : `the provider refuses this fresh window's request too (${becauseOf(refusal)}), so another one is not opened by itself`;
  const others = hasWork
    ? ", choose a model with a larger window (/model), or type /context new"
    : " or choose a model with a larger window (/model)";
  return `${why}. Say how to go on with less${others}.`;
}

/** Why a compaction by hand was cancelled; the way on is the same for all. */
export function compactionCancelled(because: Exclude<Checkpoint, { type: "saved" | "stopped" }>): string {
  return `${unsavedBecause(because)}, so nothing was compacted. /context new asks once more and, where that request fails too, opens the next window without a note; /context new --without-note opens it without asking.`;
}

function unsavedBecause(because: Exclude<Checkpoint, { type: "saved" | "stopped" }>): string {
  switch (because.type) {
    case "failed":
      return `The request for the checkpoint failed (${becauseOf(because.error)})`;
    case "timed_out":
      return "The checkpoint took too long";
    case "unsaved":
      return "No checkpoint was saved";
  }
}

const ERROR_MAX_CHARACTERS = 200;

/** A provider's words in half a line. */
export function becauseOf(error: string): string {
  const line = error.replace(/\s+/g, " ").trim().replace(/[.]+$/, "");
  return line.length > ERROR_MAX_CHARACTERS ? `${line.slice(0, ERROR_MAX_CHARACTERS)}…` : line;
}

export function checkpointGivenUp(requests: number): string {
  return `In ${requests} requests no checkpoint was saved, so the window stays as it is. Try again, or tell the model what to note.`;
}

export function fenceRests(because: "no_tools" | "blocked"): string {
  return because === "no_tools"
    ? "Another extension took the tools that write notes away, so the checkpoint is not waited for: Pi compacts by itself until notes_write_file is back."
    : "Another extension blocks the write of the checkpoint, so it is not waited for in this window: Pi compacts by itself. Have that extension let notes_write_file pass.";
}

export function storageIsBroken(failure: string): AsideReason {
  return {
    short: "notes cannot be stored",
    because: `notes cannot be stored (${failure.replace(/[.\s]+$/, "")})`,
    wayBack: "Mend that, see /token-budget doctor, then /token-budget on.",
    wayBackInDoctor: "When what is named below is fixed: /token-budget on.",
  };
}

export function savesNothing(windows: number): AsideReason {
  return {
    short: "no notes saved",
    because: `no checkpoint was saved in ${windows} windows in a row, however often one was asked for`,
    wayBack:
      "Tell the model what to note, then /token-budget on; another model (/model) brings windows back by itself.",
    ofModel: true,
  };
}

/** Said once, below the host's own line about the cancelled compaction. */
export const HOST_COMPACTION_CANCELLED =
  "Pi says that a compaction was cancelled. That is meant: windows take its place here, and nothing is lost.";
