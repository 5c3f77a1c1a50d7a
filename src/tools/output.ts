// The two forms in which tools answer: JSON Lines for lists and searches, a header line and exact text for reads.
// Everything is sized before it is made; nothing is cut afterwards, and no line is ever partial.
import { type CodePointText, countCodePoints, shorten } from "../storage/text.ts";
import type { ToolAnswer } from "./define.ts";

/** One line of output. */
export type JsonRow = Readonly<Record<string, unknown>>;

/** Previews are not shrunk below this to make room for more rows. */
export const PREVIEW_MIN_CODE_POINTS = 120;

/** A filter is repeated in the first line at most this long. */
export const FILTER_SHOWN_MAX_CODE_POINTS = 120;

export interface ListOutput<R> {
  /** Whose rows these are, and the filters that were given; undefined ones are left out. */
  readonly scope: { readonly agent: string } & JsonRow;
  /** How many there are in all, shown or not. */
  readonly total: number;
  /** They were not counted to the end: there are at least this many. */
  readonly isAtLeast?: boolean;
  /** The limit in use. */
  readonly limit: number;
  readonly rows: readonly R[];
  /** The first row that the limit left out. */
  readonly beyond?: R | undefined;
  /** A row with previews of about this many code points in all; 0 gives the smallest row. */
  readonly render: (row: R, previewChars: number) => JsonRow;
  /** The requested preview; rows without previews leave it out. */
  readonly previewChars?: number;
  /** What could not be made a row, and is left out as well. */
  readonly unreadable?: number;
  /** How to see what was left out; it must be true. */
  readonly hint: (left: LeftOut<R>) => string;
  /** Code points of the whole output. */
  readonly bound: number;
}

/** What a list leaves out, for its hint. */
export interface LeftOut<R> {
  /** Rows shown. */
  readonly returned: number;
  /** The first row that is not; undefined when none of the rows at hand was left out. */
  readonly next: R | undefined;
  /** The output's bound left out rows that the limit lets through. */
  readonly isFull: boolean;
  /** With a larger limit the output would hold more rows. */
  readonly limitHelps: boolean;
  /** There is room for one way only. */
  readonly isShort: boolean;
}

export interface ReadOutput {
  /** What was read, before the range. */
  readonly header: JsonRow;
  /** After the range; undefined fields are left out. */
  readonly footer?: JsonRow;
  readonly points: CodePointText;
  readonly offset: number;
  /** Omitted: as much as fits. */
  readonly limit: number | undefined;
  readonly bound: number;
}

interface Rendered {
  readonly rows: readonly JsonRow[];
  readonly lines: readonly string[];
}

/** The fields that are there. */
function present(row: JsonRow): JsonRow {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

/** A filter may be a text of any length, and the line that repeats it counts. */
function shownFilters(filters: JsonRow): JsonRow {
  const shown = Object.entries(present(filters)).map(([name, value]) => [
    name,
    typeof value === "string" ? shorten(value, FILTER_SHOWN_MAX_CODE_POINTS) : value,
  ]);
  return Object.fromEntries(shown);
}

/** The rows at one preview size, as many whole lines as fit into `room`; each line costs its newline too. */
function renderInto<R>(list: ListOutput<R>, count: number, previewChars: number, room: number): Rendered {
  const rows: JsonRow[] = [];
  const lines: string[] = [];
  let used = 0;
  for (const row of list.rows.slice(0, count)) {
    const rendered = list.render(row, previewChars);
    const line = JSON.stringify(rendered);
    used += countCodePoints(line) + 1;
    if (used > room) break;
    rows.push(rendered);
    lines.push(line);
  }
  return { rows, lines };
}

/** The most rows that fit, and those with the largest preview at which all of them still fit. */
function fit<R>(list: ListOutput<R>, count: number, room: number): Rendered {
  // A longer preview than the whole output never fits.
  const requested = Math.min(list.previewChars ?? 0, list.bound);
  const whole = renderInto(list, count, requested, room);
  const least = Math.min(requested, PREVIEW_MIN_CODE_POINTS);
  if (whole.lines.length === count || least === requested) return whole;
  let best = renderInto(list, count, least, room);
  const fitting = best.lines.length;
  let low = least;
  let high = Math.min(requested, Math.max(room, least));
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const tried = renderInto(list, fitting, middle, room);
    if (tried.lines.length === fitting) {
      best = tried;
      low = middle;
    } else {
      high = middle;
    }
  }
  return best;
}

/** A row that is shown although there is little room, and whether its hint is shortened for that. */
interface FirstRow extends Rendered {
  readonly isShort: boolean;
}

/**
 * The first row where none fits in full: its preview shrinks, then the hint, and at last the preview to nothing. It is shown
 * however small the bound, so that following the hints always makes progress. `rooms` is what the two hints leave.
 */
function firstRow<R>(list: ListOutput<R>, rooms: { readonly long: number; readonly short: number }): FirstRow {
  const sizes: number[] = [];
  for (let size = Math.min(list.previewChars ?? 0, PREVIEW_MIN_CODE_POINTS >> 1); size > 0; size >>= 1)
    sizes.push(size);
  const tries = [
    ...sizes.map((preview) => ({ preview, isShort: false })),
    ...[...sizes, 0].map((preview) => ({ preview, isShort: true })),
  ];
  for (const { preview, isShort } of tries) {
    const tried = renderInto(list, 1, preview, isShort ? rooms.short : rooms.long);
    if (tried.lines.length > 0) return { ...tried, isShort };
  }
  return { ...renderInto(list, 1, 0, Number.POSITIVE_INFINITY), isShort: true };
}

/** Whether one more row than the limit lets through would fit, with previews as small as they get. */
function limitHelps<R>(list: ListOutput<R>, room: number): boolean {
  if (list.beyond === undefined) return false;
  const more = { ...list, rows: [...list.rows, list.beyond] };
  const least = Math.min(list.previewChars ?? 0, PREVIEW_MIN_CODE_POINTS);
  return renderInto(more, more.rows.length, least, room).lines.length === more.rows.length;
}

/** Of all hints that may be needed, the longest: the rows are sized before it is known which one comes. */
function longestHint<R>(list: ListOutput<R>, isShort: boolean): string {
  let longest = "";
  const most = isShort ? Math.min(1, list.rows.length) : list.rows.length;
  for (let returned = 0; returned <= most; returned++) {
    const next = list.rows[returned] ?? list.beyond;
    const isFull = returned < list.rows.length;
    const hint = list.hint({ returned, next, isFull, limitHelps: !isFull, isShort });
    if (hint.length > longest.length) longest = hint;
  }
  return longest;
}

/**
 * JSON Lines: scope and counts, the rows, and what was left out. It stays within `bound`, except that the first line, one row
 * without its preview, and a last line with one way to continue are always there.
 */
export function listOutput<R>(list: ListOutput<R>): ToolAnswer {
  const { total, limit, unreadable = 0 } = list;
  const counted = list.isAtLeast ? { total, total_at_least: true } : { total };
  const { agent, ...given } = list.scope;
  const filters = shownFilters(given);
  const first = (returned: number) => ({ agent, ...counted, returned, limit, ...filters });
  const last = (returned: number, hint: string) => ({ omitted: total - returned + unreadable, hint });
  const firstSize = countCodePoints(JSON.stringify(first(list.rows.length)));
  // `omitted` has at most as many digits as with no row shown.
  const lastSize = (isShort: boolean) => countCodePoints(JSON.stringify(last(0, longestHint(list, isShort)))) + 1;
  const whole = list.bound - firstSize;
  const count = list.rows.length;
  const complete = total <= count && unreadable === 0;
  const whenComplete = complete ? fit(list, count, whole) : undefined;
  const isComplete = whenComplete?.lines.length === count;
  const room = isComplete ? whole : whole - lastSize(false);
  const fitting = isComplete ? whenComplete : fit(list, count, room);
  const isFirst = fitting.lines.length === 0 && count > 0;
  const alone = isFirst ? firstRow(list, { long: room, short: whole - lastSize(true) }) : undefined;
  const shown = alone ?? fitting;
  const returned = shown.lines.length;
  const head = first(returned);
  const isFull = returned < count;
  const left = () => ({
    returned,
    next: list.rows[returned] ?? list.beyond,
    isFull,
    limitHelps: !isFull && limitHelps(list, room),
    isShort: alone?.isShort ?? false,
  });
  const tail = total > returned || unreadable > 0 ? last(returned, list.hint(left())) : undefined;
  const lines = [JSON.stringify(head), ...shown.lines, ...(tail ? [JSON.stringify(tail)] : [])];
  return { text: lines.join("\n"), details: { ...head, rows: shown.rows, ...tail } };
}

function headerOf(read: ReadOutput, offset: number, end: number): JsonRow {
  const total = read.points.length;
  return present({
    ...read.header,
    offset_chars: offset,
    end_chars: end,
    total_chars: total,
    next_offset_chars: end < total ? end : undefined,
    ...read.footer,
  });
}

/** Room the header needs at most: with a next page, and no number longer than the total. */
function headerSize(read: ReadOutput): number {
  const total = read.points.length;
  const longest = { ...headerOf(read, total, total), next_offset_chars: total };
  return countCodePoints(JSON.stringify(longest)) + 1;
}

/**
 * One header line, a newline, and exactly the text of the range. Whatever the bound, the header and one character are there.
 * An offset past the end is the end.
 */
export function readOutput(read: ReadOutput): ToolAnswer {
  const room = Math.max(1, read.bound - headerSize(read));
  const offset = Math.min(read.offset, read.points.length);
  const end = Math.min(read.points.length, offset + Math.min(read.limit ?? room, room));
  const header = headerOf(read, offset, end);
  return { text: `${JSON.stringify(header)}\n${read.points.slice(offset, end)}`, details: header };
}
