// How many columns text takes in a terminal, and text cut to columns. Never fewer than a host counts: Pi stops when a
// line is wider than the terminal, so doubtful characters count as wide. Pure.
import { plainLine } from "../storage/text.ts";

const FIRST_WIDE = 0x1100;
/** Joiners take no column; hosts count an emoji that holds them as two. */
const ZERO_WIDTH_JOINERS = { from: 0x200c, to: 0x200d };
/** Dashes, quotes, bullets and the ellipsis. */
const NARROW_PUNCTUATION = { from: 0x2010, to: 0x2027 };

interface Range {
  readonly from: number;
  readonly to: number;
}

function isIn(point: number, { from, to }: Range): boolean {
  return point >= from && point <= to;
}

function columnsOfPoint(point: number): number {
  if (point < FIRST_WIDE || isIn(point, NARROW_PUNCTUATION)) return 1;
  return isIn(point, ZERO_WIDTH_JOINERS) ? 0 : 2;
}

/** The columns of plain text without control characters, or more. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text) columns += columnsOfPoint(char.codePointAt(0) as number);
  return columns;
}

/** The beginning of a plain text that fits into so many columns, in code units. */
function fittingUnits(text: string, columns: number): number {
  let used = 0;
  let units = 0;
  for (const char of text) {
    used += columnsOfPoint(char.codePointAt(0) as number);
    if (used > columns) break;
    units += char.length;
  }
  return units;
}

/** Any text on one line of at most so many columns, safe to show, with an ellipsis when it is cut. */
export function fitted(text: string, columns: number): string {
  if (columns <= 0) return "";
  // Beyond this nothing can fit, and a long text need not be looked at.
  const line = plainLine(text.slice(0, columns * 8 + 64));
  const isCut = text.length > columns * 8 + 64 || columnsOf(line) > columns;
  return isCut ? `${line.slice(0, fittingUnits(line, columns - 1))}…` : line;
}

/** Where the next line of a wrapped text ends: at a space if there is one in its second half. */
function lineUnits(text: string, columns: number): number {
  const fits = fittingUnits(text, columns);
  if (fits === text.length) return fits;
  const space = text.lastIndexOf(" ", fits);
  return space > fits / 2 ? space : fits;
}

/** One line made safe to show; its indent and runs of spaces stay. */
function safeLine(line: string): string {
  return line.replace(/\t/g, "  ").split(" ").map(plainLine).join(" ").trimEnd();
}

/** Any text on as many lines of at most so many columns as it takes, safe to show. Its own line ends stay. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    let rest = safeLine(line);
    if (rest === "") lines.push("");
    while (rest !== "") {
      const end = lineUnits(rest, columns);
      if (end > 0) lines.push(rest.slice(0, end));
      // A character that is wider than the terminal is skipped.
      const next = end > 0 ? end : String.fromCodePoint(rest.codePointAt(0) as number).length;
      rest = rest.slice(next).trimStart();
    }
  }
  return lines;
}

/** How far a line's continuation is indented. */
const HANGING_COLUMNS = 2;
/** On narrower terminals indenting gains nothing. */
const LEAST_COLUMNS = 20;

/** Where to break a text that does not fit: after its last space or slash, else anywhere. */
function breakUnits(text: string, columns: number): number {
  const fits = fittingUnits(text, columns);
  if (fits === text.length) return fits;
  const space = text.lastIndexOf(" ", fits);
  if (space > 0) return space;
  const slash = text.lastIndexOf("/", fits - 1);
  return slash > 0 ? slash + 1 : Math.max(fits, 1);
}

/** An answer of ours laid out for a terminal: continued lines are indented, and paths are broken after a slash. */
export function laidOut(text: string, columns: number): string {
  if (columns < LEAST_COLUMNS) return text;
  return text
    .split("\n")
    .flatMap((line) => laidOutLine(line, columns))
    .join("\n");
}

function laidOutLine(line: string, columns: number): string[] {
  const own = /^ */.exec(line)?.[0].length ?? 0;
  const lines: string[] = [];
  let rest = line.slice(own);
  const hanging = Math.min(own, Math.floor(columns / 2)) + HANGING_COLUMNS;
  for (let indent = Math.min(own, hanging); rest !== "" || lines.length === 0; indent = hanging) {
    const end = breakUnits(rest, columns - indent);
    lines.push(`${" ".repeat(indent)}${rest.slice(0, end).trimEnd()}`);
    rest = rest.slice(end).trimStart();
  }
  return lines;
}
