// What the person is told when a checkpoint does not come about: the reason, and the way on. Pure.
import type { AsideReason } from "./aside.ts";

export function withoutNote(left: string, opened: string, requests: number): string {
  return `The model was asked for its checkpoint in ${requests} requests in a row and saved none, so ${opened} opened without a note. Nothing is lost: the model can read all of ${left} back, and /windows ${left} shows it.`;
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
    because: `notes cannot be stored (${failure.replace(/[.\s]+$/, "")})`,
    wayBack: "Mend that, see /token-budget doctor, then /token-budget on.",
  };
}
