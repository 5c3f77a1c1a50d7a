// Literal, case-sensitive search of one item's text: where the matches are and the text around them, in code points.
// Pure: it never reads the log, never joins items, and never looks at more of a text than the page needs.
import type { ItemText, TextRegion } from "../log/item.ts";
import { type CodePointText, countCodePoints } from "../storage/text.ts";

/** At most so many regions are shown of one item. */
export const REGIONS_MAX = 3;

/** Matches listed of one region; a region is short, so more would only repeat the query. */
export const MATCHES_PER_REGION_MAX = 10;

/** Fewer regions are shown before a match has less than this around it. */
const CONTEXT_MIN_CODE_POINTS = 40;

/** What is searched for, measured once. */
export interface Needle {
  readonly text: string;
  readonly codePoints: number;
  /** It begins or ends with half a surrogate pair, so a hit may lie inside a character of the text. */
  readonly maySplitPair: boolean;
}

/** Code points of the item's text, as `history_read_item` counts them; `end` is exclusive. */
export interface MatchRange {
  readonly start: number;
  readonly end: number;
}

/** A match and its place. */
export interface Match extends MatchRange {
  /** Code-unit offset of its start. */
  readonly unit: number;
  readonly region: TextRegion;
}

/** A stretch of text around matches; `offset_chars` and `limit_chars` read exactly `text` back. */
export interface SearchRegion {
  readonly text: string;
  readonly offset_chars: number;
  readonly limit_chars: number;
  readonly matches: readonly MatchRange[];
}

/** Regions that are neither searched nor previewed. */
export type IsHidden = (region: TextRegion) => boolean;

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

export function needleOf(query: string): Needle {
  return {
    text: query,
    codePoints: countCodePoints(query),
    maySplitPair: isLow(query.charCodeAt(0)) || isHigh(query.charCodeAt(query.length - 1)),
  };
}

function splitsPair(text: string, unit: number): boolean {
  return isHigh(text.charCodeAt(unit - 1)) && isLow(text.charCodeAt(unit));
}

/** A text is looked through in pieces of so many code units; behind each, a search may pause. */
export const PIECE_UNITS = 1_048_576;

/** There are no more matches. */
const NO_MORE = -1;
/** A piece was looked through, or a place where no match can be. */
const NOT_YET = -2;

/** The matches of one item in order, found as they are asked for. They do not overlap and never span two regions. */
export class MatchScan {
  readonly #text: ItemText;
  readonly #needle: Needle;
  readonly #isHidden: IsHidden;
  readonly #found: Match[] = [];
  #from = 0;
  #region = 0;

  constructor(text: ItemText, needle: Needle, isHidden: IsHidden) {
    this.#text = text;
    this.#needle = needle;
    this.#isHidden = isHidden;
  }

  /** The match number `index`, counted from 0; undefined past the last. */
  at(index: number): Match | undefined {
    while (this.#found.length <= index) {
      const match = this.next();
      if (!match) return undefined;
      this.#found.push(match);
    }
    return this.#found[index];
  }

  /** The next match, without keeping it: for a caller that only walks through. */
  next(): Match | undefined {
    for (;;) {
      const unit = this.#advance();
      if (unit >= 0) return this.#matchAt(unit);
      if (unit === NO_MORE) return undefined;
    }
  }

  /** Finds so many matches, or all there are, with pauses: asking for one of them then takes no time. */
  *finding(count: number): Generator<void, void> {
    yield* this.#text.points.measuring();
    while (this.#found.length < count) {
      const unit = this.#advance();
      if (unit === NO_MORE) return;
      if (unit === NOT_YET) yield;
      else this.#found.push(this.#matchAt(unit));
    }
  }

  /** Whether there is one, found with pauses and without its code points. */
  *holding(): Generator<void, boolean> {
    for (;;) {
      const unit = this.#advance();
      if (unit !== NOT_YET) return unit !== NO_MORE;
      yield;
    }
  }

  #matchAt(unit: number): Match {
    const start = this.#text.points.toCodePoint(unit);
    const region = this.#text.regions[this.#region] as TextRegion;
    return { start, end: start + this.#needle.codePoints, unit, region };
  }

  /** The code-unit offset of the next match, in the region that is then the current one. */
  #advance(): number {
    const { points, regions } = this.#text;
    const needle = this.#needle;
    const text = points.text;
    const unit = this.#hit(text);
    if (unit === NOT_YET) return NOT_YET;
    while ((regions[this.#region]?.end ?? Number.POSITIVE_INFINITY) <= unit) this.#region++;
    const region = unit === NO_MORE ? undefined : regions[this.#region];
    if (!region) {
      this.#from = Number.POSITIVE_INFINITY;
      return NO_MORE;
    }
    const end = unit + needle.text.length;
    const split = needle.maySplitPair && (splitsPair(text, unit) || splitsPair(text, end));
    if (unit < region.start || end > region.end || split) {
      this.#from = unit + 1;
      return NOT_YET;
    }
    const isHidden = this.#isHidden(region);
    this.#from = isHidden ? region.end : end;
    return isHidden ? NOT_YET : unit;
  }

  /** Where the needle comes next, as far as the end of a piece. */
  #hit(text: string): number {
    const from = this.#from;
    const needle = this.#needle.text;
    if (text.length - from <= PIECE_UNITS) return text.indexOf(needle, from);
    const hit = text.slice(from, from + PIECE_UNITS + needle.length - 1).indexOf(needle);
    if (hit !== -1) return from + hit;
    this.#from += PIECE_UNITS;
    return NOT_YET;
  }
}

/**
 * Whether a text holds a visible match. A short one costs one `indexOf` up to the first hit, a long one is gone through with
 * pauses.
 */
export function holdsMatch(text: ItemText, needle: Needle, isHidden: IsHidden): boolean | Generator<void, boolean> {
  if (text.points.text.length > PIECE_UNITS) return new MatchScan(text, needle, isHidden).holding();
  if (!text.points.text.includes(needle.text)) return false;
  const only = text.regions.length === 1 ? text.regions[0] : undefined;
  if (only && !needle.maySplitPair) return !isHidden(only);
  return new MatchScan(text, needle, isHidden).next() !== undefined;
}

interface Neighbourhood {
  readonly region: TextRegion;
  readonly startUnit: number;
  readonly start: number;
  endUnit: number;
  end: number;
  readonly matches: MatchRange[];
}

/** `share` code points with the match in their middle, moved to stay in its region; of a longer match, its beginning. */
function around(points: CodePointText, match: Match, needle: Needle, share: number): Neighbourhood {
  const { region } = match;
  const before = Math.max(0, Math.floor((share - needle.codePoints) / 2));
  const left = points.step(match.unit, -before, region.start);
  const right = points.step(left.unit, share, region.end);
  const missing = share - right.moved;
  const more = missing > 0 ? points.step(left.unit, -missing, region.start) : { unit: left.unit, moved: 0 };
  const start = match.start + left.moved;
  return {
    region,
    startUnit: more.unit,
    start: start + more.moved,
    endUnit: right.unit,
    end: start + right.moved,
    matches: [{ start: match.start, end: match.end }],
  };
}

interface Placed {
  readonly neighbourhoods: readonly Neighbourhood[];
  /** Neighbourhoods taken, merged ones counted apart. */
  readonly slots: number;
  /** Every match of the text lies in one of them. */
  readonly complete: boolean;
}

function place(points: CodePointText, scan: MatchScan, needle: Needle, share: number, slotsMax: number): Placed {
  const neighbourhoods: Neighbourhood[] = [];
  let slots = 0;
  for (let index = 0; ; index++) {
    const match = scan.at(index);
    if (!match) return { neighbourhoods, slots, complete: true };
    const last = neighbourhoods.at(-1);
    const near = last?.region === match.region ? last : undefined;
    if (near && match.end <= near.end) {
      addMatch(near, match);
      continue;
    }
    if (slots === slotsMax) return { neighbourhoods, slots, complete: false };
    slots++;
    const neighbourhood = around(points, match, needle, share);
    if (near && neighbourhood.start <= near.end) {
      near.endUnit = Math.max(near.endUnit, neighbourhood.endUnit);
      near.end = Math.max(near.end, neighbourhood.end);
      addMatch(near, match);
    } else {
      neighbourhoods.push(neighbourhood);
    }
  }
}

function addMatch(neighbourhood: Neighbourhood, match: Match): void {
  if (neighbourhood.matches.length < MATCHES_PER_REGION_MAX)
    neighbourhood.matches.push({ start: match.start, end: match.end });
}

/**
 * The first matches of an item with the text around them: at most `REGIONS_MAX` regions, `previewChars` code points in
 * all, and none of no code points. Neighbourhoods that touch are one region; a match that is longer than its share is
 * shown from its start, with its true end.
 */
export function regionsOf(
  points: CodePointText,
  scan: MatchScan,
  needle: Needle,
  previewChars: number,
): readonly SearchRegion[] {
  if (previewChars === 0) return [];
  const fitting = Math.floor(previewChars / (needle.codePoints + CONTEXT_MIN_CODE_POINTS));
  let slots = Math.min(REGIONS_MAX, Math.max(1, fitting));
  let placed = place(points, scan, needle, Math.max(1, Math.floor(previewChars / slots)), slots);
  // Fewer neighbourhoods than room for: each may be wider.
  while (placed.complete && placed.slots < slots) {
    slots = placed.slots;
    placed = place(points, scan, needle, Math.max(1, Math.floor(previewChars / slots)), slots);
  }
  return placed.neighbourhoods.map((neighbourhood) => ({
    text: points.text.slice(neighbourhood.startUnit, neighbourhood.endUnit),
    offset_chars: neighbourhood.start,
    limit_chars: neighbourhood.end - neighbourhood.start,
    matches: neighbourhood.matches,
  }));
}

/** So many matches of an item, and no more, are asked for to show its regions: all within them, and one beyond. */
export function shownMatchesMax(previewChars: number): number {
  return previewChars + REGIONS_MAX + 1;
}

/** The first `codePoints` code points of what is not hidden. */
export function previewOf(text: ItemText, isHidden: IsHidden, codePoints: number): string {
  const { points, regions } = text;
  if (!regions.some(isHidden)) return points.text.slice(0, points.step(0, codePoints, points.text.length).unit);
  const shown: string[] = [];
  let left = codePoints;
  for (const region of regions) {
    if (left <= 0) break;
    if (isHidden(region)) continue;
    const { unit, moved } = points.step(region.start, left, region.end);
    shown.push(points.text.slice(region.start, unit));
    left -= moved + 1;
  }
  return shown.join("\n");
}
