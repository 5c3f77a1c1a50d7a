// What /token-budget doctor says: one line per thing that was looked at, and how to mend it when it is wrong. Pure.
import { bounded, safeText } from "../ui/text.ts";

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly about: string;
  readonly text: string;
  /** How to mend it; undefined when nothing is wrong. */
  readonly mend: string | undefined;
}

const BOUNDS = { lines: 80, codePoints: 8_000 };

export function fine(about: string, text: string): Finding {
  return { about, text, mend: undefined };
}

export function problem(about: string, text: string, mend: string): Finding {
  return { about, text, mend };
}

export function doctorReport(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ about, text, mend }) => [
    `${mend === undefined ? "✓" : "✗"} ${about}: ${safeText(text)}`,
    ...(mend === undefined ? [] : [`  → ${safeText(mend)}`]),
  ]);
  const wrong = findings.filter(({ mend }) => mend !== undefined).length;
  const end = wrong === 0 ? "Nothing is wrong." : `${wrong} of ${findings.length} need mending.`;
  const shown = bounded(lines.join("\n"), BOUNDS);
  return [shown.text, ...(shown.omitted ? [`… ${shown.omitted.lines} more lines`] : []), end].join("\n");
}
