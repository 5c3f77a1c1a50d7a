// The report of /token-budget doctor: one line per check, and how to fix what is wrong. Pure.

import { counted } from "../figures.ts";
import { bounded, safeText } from "../ui/text.ts";

export interface Finding {
  /** What was checked, in a word or two. */
  readonly about: string;
  readonly text: string;
  /** How to fix it; undefined when nothing is wrong. */
  readonly mend: string | undefined;
  /** It could not be found out: neither right nor wrong. */
  readonly isOpen?: boolean;
}

const BOUNDS = { lines: 80, codePoints: 8_000 };

export function fine(about: string, text: string): Finding {
  return { about, text, mend: undefined };
}

export function problem(about: string, text: string, mend: string): Finding {
  return { about, text, mend };
}

export function unknown(about: string, text: string): Finding {
  return { about, text, mend: undefined, isOpen: true };
}

function markOf({ mend, isOpen }: Finding): string {
  if (isOpen) return "?";
  return mend === undefined ? "✓" : "✗";
}

export function doctorReport(findings: readonly Finding[]): string {
  const lines = findings.flatMap((finding) => [
    `${markOf(finding)} ${finding.about}: ${safeText(finding.text)}`,
    ...(finding.mend === undefined ? [] : [`  → ${safeText(finding.mend)}`]),
  ]);
  const wrong = findings.filter(({ mend }) => mend !== undefined).length;
  const open = findings.filter(({ isOpen }) => isOpen).length;
  const rest = open === 0 ? "Nothing is wrong." : `Nothing else is wrong; ${open} could not be found out yet.`;
  const end = wrong === 0 ? rest : `${wrong} of ${findings.length} ${wrong === 1 ? "needs" : "need"} fixing.`;
  const shown = bounded(lines.join("\n"), BOUNDS);
  return [shown.text, ...(shown.omitted ? [`… ${counted(shown.omitted.lines, "more line")}`] : []), end].join("\n");
}
