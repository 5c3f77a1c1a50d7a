// Renders extracted content as bounded text whose last line says what was cut. Pure.
import { countCodePoints, headOf, oneLine } from "../storage/text.ts";
import type { SheetContent } from "./answers.ts";

export interface Extracted {
  readonly text: string;
  readonly cut: boolean;
}

const READ_ON = "read the original for the rest";

export interface TextForm {
  /** What it is called where it is cut. Default "text". */
  readonly name?: string | undefined;
  /** The encoding that was guessed, if one was. */
  readonly guess?: string | undefined;
  /** Lines are rows of a table, whose cells may hold line breaks in quotation marks. */
  readonly isTable?: boolean | undefined;
}

function withTail(head: string, tail: string): Extracted {
  return { text: `${head.trimEnd()}\n[cut: ${tail}; ${READ_ON}]\n`.toWellFormed(), cut: true };
}

/** The text, cut at the end of a line where it has one. */
export function boundedText(
  text: string,
  maxChars: number,
  { name = "text", guess, isTable }: TextForm = {},
): Extracted {
  const told = guess ? `[encoding guessed: ${guess}; where words look wrong, read the original]\n` : "";
  const head = headOf(text, maxChars);
  if (head.length === text.length) return { text: `${told}${text}`.toWellFormed(), cut: false };
  const ends = isTable ? rowEnds(text) : undefined;
  const end = ends ? lastAtMost(ends, head.length) : head.lastIndexOf("\n") + 1;
  // A line that is longer than all there is room for is cut within.
  const shown = end > 0 ? text.slice(0, end) : head;
  if (ends && end > 0)
    return withTail(
      `${told}${shown}`,
      `this table has ${rows(ends.length)} in all, here are the first ${ends.indexOf(end) + 1}`,
    );
  const all = countCodePoints(text);
  return withTail(
    `${told}${shown}`,
    `this ${name} has ${all} characters in all, here are the first ${countCodePoints(shown)}`,
  );
}

function rows(count: number): string {
  return count === 1 ? "1 row" : `${count} rows`;
}

/**
 * Where each row of a table ends. In quotation marks, which open only where a cell begins, a line break is part of the cell;
 * with a mark that never closes, each line is a row.
 */
function rowEnds(text: string): number[] {
  const rows: number[] = [];
  const lines: number[] = [];
  let isQuoted = false;
  let doubled = -1;
  for (const { 0: found, index } of text.matchAll(/["\n]/g)) {
    if (found === "\n") {
      lines.push(index + 1);
      if (!isQuoted) rows.push(index + 1);
    } else if (isQuoted && text[index + 1] === '"' && index !== doubled) doubled = index + 1;
    else if (index !== doubled && (isQuoted || /[,;\n]/.test(text[index - 1] ?? "\n"))) isQuoted = !isQuoted;
  }
  const ends = isQuoted ? lines : rows;
  if (ends.at(-1) !== text.length) ends.push(text.length);
  return ends;
}

function lastAtMost(ends: readonly number[], max: number): number {
  return ends.findLast((end) => end <= max) ?? 0;
}

/** One section per sheet, one line per row, tabs between cells. */
export function sheetsText(sheets: readonly SheetContent[], leftOut: number, maxChars: number): Extracted {
  const parts: string[] = [];
  let left = maxChars;
  let hidden = leftOut;
  for (const { name, rows, totalRows } of sheets) {
    const heading = `# Sheet: ${oneLine(name)}\n`;
    if (left <= heading.length) {
      hidden++;
      continue;
    }
    left -= countCodePoints(heading);
    const lines: string[] = [];
    for (const row of rows) {
      const line = `${row.map((cell) => oneLine(cell)).join("\t")}\n`;
      const length = countCodePoints(line);
      if (length > left) break;
      left -= length;
      lines.push(line);
    }
    parts.push(heading + lines.join(""));
    if (lines.length === totalRows) continue;
    parts.push(`[cut: this sheet has ${totalRows} rows in all, here are the first ${lines.length}; ${READ_ON}]\n`);
    left = 0;
  }
  const more = hidden === 0 ? "" : `[cut: ${hidden} more sheets; ${READ_ON}]\n`;
  const text = [parts.join("\n"), more].filter((part) => part !== "").join("\n");
  return { text: text.toWellFormed(), cut: text.includes(`; ${READ_ON}]\n`) && (left === 0 || hidden > 0) };
}

export function pagesText(pages: readonly string[], totalPages: number, maxChars: number): Extracted {
  const all = pages.map((page, index) => `# Page ${index + 1}\n${page.trim()}\n`).join("\n");
  const head = headOf(all, maxChars);
  if (head.length === all.length && pages.length === totalPages) return { text: all.toWellFormed(), cut: false };
  const shown = head.length === all.length ? head : head.slice(0, head.lastIndexOf("\n") + 1) || head;
  return withTail(
    shown,
    `this document has ${totalPages} pages in all, here are the first ${countCodePoints(shown)} characters`,
  );
}
