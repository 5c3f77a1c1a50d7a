// How big notes may be, and what is said when they get big. Pure.
import { TokenBudgetError } from "../errors.ts";

/** Hard cap per note (03); the setting `notesMaxFileBytes`. */
export const NOTES_MAX_FILE_BYTES = 1_000_000;

/** A note over this share of the cap is worth a warning, and so are an agent's notes over the other. */
const FILE_WARNING_SHARE = 1 / 16;
const AGENT_WARNING_SHARE = 1 / 4;

export function isLargeNote(bytes: number, maxFileBytes: number): boolean {
  return bytes > maxFileBytes * FILE_WARNING_SHARE;
}

export interface NoteSizes {
  /** The path as the model knows it. */
  readonly path: string;
  readonly bytes: number;
  /** All notes of that agent. */
  readonly totalBytes: number;
  readonly maxFileBytes: number;
}

/** What a write's answer says about sizes; empty when all is small. */
export function noteWarnings(sizes: NoteSizes): string[] {
  const warnings: string[] = [];
  const { path, bytes, totalBytes, maxFileBytes } = sizes;
  if (isLargeNote(bytes, maxFileBytes)) {
    warnings.push(
      `${path} is ${bytes} bytes long (the limit is ${maxFileBytes}). Rewrite it shorter or split it: it costs context to read.`,
    );
  }
  if (totalBytes > maxFileBytes * AGENT_WARNING_SHARE) {
    warnings.push(`The notes of this agent are ${totalBytes} bytes in all. Shorten what is out of date.`);
  }
  return warnings;
}

export function assertNoteFits(shown: string, bytes: number, maxFileBytes: number): void {
  if (bytes <= maxFileBytes) return;
  const message =
    `${shown} would be ${bytes} bytes long, over the limit of ${maxFileBytes}. Nothing was changed. ` +
    "Write less, or continue in another note.";
  throw new TokenBudgetError("too_large", message);
}
