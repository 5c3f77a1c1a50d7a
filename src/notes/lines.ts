// Choosing lines of a note. Pure. All lines together are the note, byte for byte: a line keeps its line feed.
import { TokenBudgetError } from "../errors.ts";

const LINE_FEED = "\n";

export interface LineRange {
  /** 1-based; negative counts from the end; the first line when left out. */
  readonly start?: number | undefined;
  /** Inclusive; negative counts from the end; the last line when left out. */
  readonly stop?: number | undefined;
}

export interface Lines {
  /** The chosen lines with their line feeds. */
  readonly text: string;
  /** First and last line chosen; both 0 when there is none. */
  readonly startLine: number;
  readonly stopLine: number;
  readonly totalLines: number;
  /** A sentence about the part of the range past the end, if there is one. */
  readonly pastEnd?: string;
}

/** Lines of a text: each ends at a line feed; a final one starts no line. */
export function countLines(text: string): number {
  let lines = 0;
  for (let unit = text.indexOf(LINE_FEED); unit >= 0; unit = text.indexOf(LINE_FEED, unit + 1)) lines++;
  return text === "" || text.endsWith(LINE_FEED) ? lines : lines + 1;
}

/** Code-unit offset where a number of lines, counted from an offset, ends. */
function afterLines(text: string, fromUnit: number, lines: number): number {
  let unit = fromUnit;
  for (let left = lines; left > 0; left--) {
    const end = text.indexOf(LINE_FEED, unit);
    if (end < 0) return text.length;
    unit = end + 1;
  }
  return unit;
}

function lineNumber(line: number, totalLines: number): number {
  return line > 0 ? line : Math.max(1, totalLines + 1 + line);
}

function checkLine(field: string, line: number | undefined): void {
  if (line === undefined || (Number.isSafeInteger(line) && line !== 0)) return;
  const rule = "lines count from 1, or from the end with -1 for the last";
  throw new TokenBudgetError("invalid_argument", `${field} is ${line}: ${rule}. Leave it out to read from end to end.`);
}

function stopBeforeStart(start: number, stop: number, totalLines: number): TokenBudgetError {
  const message = `stop_line ${stop} lies before start_line ${start} (the note has ${linesOf(totalLines)}). Swap them.`;
  return new TokenBudgetError("invalid_argument", message);
}

function linesOf(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

/** The lines of a range. A range past the end answers with what exists and says so. */
export function selectLines(text: string, range: LineRange = {}): Lines {
  checkLine("start_line", range.start);
  checkLine("stop_line", range.stop);
  const totalLines = countLines(text);
  const { start = 1, stop = Math.max(totalLines, start) } = range;
  const sameSide = start > 0 === stop > 0;
  if (sameSide && stop < start) throw stopBeforeStart(start, stop, totalLines);
  const startLine = lineNumber(start, totalLines);
  if (startLine > totalLines) {
    const asked = range.start === undefined && range.stop === undefined;
    const pastEnd = `There is nothing there: the note has ${linesOf(totalLines)}.`;
    return { text: "", startLine: 0, stopLine: 0, totalLines, ...(asked ? {} : { pastEnd }) };
  }
  const wantedStop = lineNumber(stop, totalLines);
  if (wantedStop < startLine) throw stopBeforeStart(start, stop, totalLines);
  const stopLine = Math.min(wantedStop, totalLines);
  const from = afterLines(text, 0, startLine - 1);
  const chosen = text.slice(from, afterLines(text, from, stopLine - startLine + 1));
  const pastEnd = `The note ends at line ${totalLines}, before stop_line ${stop}.`;
  return { text: chosen, startLine, stopLine, totalLines, ...(wantedStop > totalLines ? { pastEnd } : {}) };
}
