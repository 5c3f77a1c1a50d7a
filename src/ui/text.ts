// Text of models, files and folders as it is shown to a person: nothing in it moves the cursor or hides anything, and it
// ends somewhere. Pure.
import { CodePointText, headOf } from "../storage/text.ts";

/** Control characters but for tab and line end, and marks that turn the direction of text around. */
const UNSAFE = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text with everything unsafe made visible. */
export function safeText(text: string): string {
  const lines = text.replace(/\r\n?/g, "\n").toWellFormed();
  return lines.replace(UNSAFE, (char) => `\\u${(char.codePointAt(0) as number).toString(16).padStart(4, "0")}`);
}

export interface Bounds {
  readonly lines: number;
  readonly codePoints: number;
}

export interface BoundedText {
  readonly text: string;
  /** What was left out at the end. */
  readonly omitted: { readonly lines: number; readonly codePoints: number } | undefined;
}

/** The beginning of a text that fits the bounds. */
export function bounded(text: string, { lines, codePoints }: Bounds): BoundedText {
  const head = headOf(text, codePoints);
  const kept = head.split("\n").slice(0, lines).join("\n");
  if (kept.length === text.length) return { text, omitted: undefined };
  const rest = text.slice(kept.length);
  return {
    text: kept,
    omitted: { lines: rest.split("\n").length, codePoints: new CodePointText(rest).length },
  };
}
