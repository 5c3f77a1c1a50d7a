// What the person is told when a checkpoint does not come about: the reason, and the way on. Pure.
import type { AsideReason } from "./aside.ts";
import type { Checkpoint } from "./manual.ts";

export function withoutNote(left: string, opened: string, requests: number): string {
  return `The model was asked for its checkpoint in ${requests} requests in a row and saved none, so ${opened} opened without a note. Nothing is lost: the model can read all of ${left} back, and /windows ${left} shows it.`;
}

/** Why a compaction by hand was cancelled; the way on is the same for all. */
export function compactionCancelled(because: Exclude<Checkpoint, { type: "saved" | "stopped" }>): string {
  return `${unsavedBecause(because)}, so nothing was compacted. /context new --without-note opens the next window without a note.`;
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
  };
}

/** For who sees the host's own word for it. */
export const HOST_COMPACTION_CANCELLED =
  "Pi says that a compaction was cancelled. That is meant: windows take its place here, and nothing is lost.";
