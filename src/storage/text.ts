// Text measured in Unicode code points and UTF-8 bytes. Everything a model sees counts code points.
import { isAscii } from "node:buffer";

/** Matches when a string holds anything beyond the basic plane, so that its length differs from its code points. */
const ASTRAL = /[\ud800-\udfff]/;

/** One checkpoint every so many code units: a lookup then scans at most this far. */
const CHECKPOINT_UNITS = 64;

/** Between two pauses; a multiple of the distance of checkpoints. */
const MEASURED_AT_ONCE_UNITS = 262_144;

/** Of a text without pairs. */
const NO_PAIRS = new Uint32Array(0);

export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

/** UTF-8 as text. Nearly all of it is ASCII, which is copied in place of decoded: ten times as fast. */
export function textOfUtf8(bytes: Uint8Array): string {
  // Types of this file are seen by programs that have none of Node.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(isAscii(bytes) ? "latin1" : "utf8");
}

/** Undefined for another encoding, and for bytes that are no text. */
export function textIfUtf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

function isPairAt(text: string, unit: number): boolean {
  const high = text.charCodeAt(unit);
  if (high < 0xd800 || high > 0xdbff || unit + 1 >= text.length) return false;
  const low = text.charCodeAt(unit + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}

/** Number of code points of a text. */
export function countCodePoints(text: string): number {
  return ASTRAL.test(text) ? text.length - countPairs(text, 0, text.length) : text.length;
}

/** Number of pairs that begin between two code-unit offsets. */
function countPairs(text: string, fromUnit: number, toUnit: number): number {
  let count = 0;
  for (let unit = fromUnit; unit < toUnit; unit++) if (isPairAt(text, unit)) count++;
  return count;
}

function advanceUnits(text: string, fromUnit: number, codePoints: number): number {
  let unit = fromUnit;
  for (let left = codePoints; left > 0 && unit < text.length; left--) unit += isPairAt(text, unit) ? 2 : 1;
  return unit;
}

/** At most `codePoints` code points from the start; a pair is never split. */
export function headOf(text: string, codePoints: number): string {
  if (text.length <= codePoints) return text;
  return text.slice(0, advanceUnits(text, 0, codePoints));
}

/** At most `codePoints` code points from the end; a pair is never split. */
export function tailOf(text: string, codePoints: number): string {
  if (text.length <= codePoints) return text;
  let unit = text.length;
  for (let left = codePoints; left > 0 && unit > 0; left--) unit -= unit >= 2 && isPairAt(text, unit - 2) ? 2 : 1;
  return text.slice(unit);
}

/** The head of a text with an ellipsis when something was cut: at most `codePoints` code points in all. */
export function shorten(text: string, codePoints: number): string {
  const head = headOf(text, codePoints);
  return head.length === text.length ? text : `${headOf(text, Math.max(0, codePoints - 1))}…`;
}

/** Nothing but white space and characters that are not seen. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{Cc}\p{Cf}]/u.test(text);
}

/** `text` on one line: runs of white space become one space. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Characters that a terminal obeys or that are not seen: controls, marks of direction, zero-width spaces. */
const UNSEEN = /[\p{Cc}\u061c\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/** `text` on one line that is safe to show: no control character reaches a terminal, and none changes the direction. */
export function plainLine(text: string): string {
  return oneLine(oneLine(text).replace(UNSEEN, "")).toWellFormed();
}

/**
 * A text with its code-point coordinates, measured when they are first asked for; converting an offset costs at most one
 * checkpoint's scan. A long text is measured with pauses by `measuring`, before anything here is asked.
 */
export class CodePointText {
  readonly text: string;
  /** Pairs that begin before each checkpoint; none where the text holds no pair. Undefined until it is measured. */
  #pairs: Uint32Array | undefined;
  #length = 0;

  constructor(text: string) {
    this.text = text;
  }

  get length(): number {
    this.#measure();
    return this.#length;
  }

  /** Measures it in pieces; afterwards nothing here takes long. */
  *measuring(): Generator<void, void> {
    if (this.#pairs !== undefined) return;
    const { text } = this;
    let pairs = NO_PAIRS;
    let count = 0;
    for (let from = 0; from < text.length; from += MEASURED_AT_ONCE_UNITS) {
      if (from > 0) yield;
      const to = Math.min(text.length, from + MEASURED_AT_ONCE_UNITS);
      const isPlain = !ASTRAL.test(from === 0 && to === text.length ? text : text.slice(from, to));
      if (isPlain && count === 0) continue;
      if (pairs.length === 0) pairs = new Uint32Array(Math.ceil(text.length / CHECKPOINT_UNITS));
      for (let unit = from; unit < to; unit += CHECKPOINT_UNITS) {
        pairs[unit / CHECKPOINT_UNITS] = count;
        if (!isPlain) count += countPairs(text, unit, Math.min(to, unit + CHECKPOINT_UNITS));
      }
    }
    this.#pairs = count === 0 ? NO_PAIRS : pairs;
    this.#length = text.length - count;
  }

  /** Code points before a code-unit offset that does not split a pair. */
  toCodePoint(unit: number): number {
    const pairs = this.#measure();
    if (pairs.length === 0) return unit;
    const slot = Math.min(pairs.length - 1, Math.floor(unit / CHECKPOINT_UNITS));
    return unit - (pairs[slot] as number) - countPairs(this.text, slot * CHECKPOINT_UNITS, unit);
  }

  /** Code-unit offset of a code-point offset; past the end is the end. */
  toUnit(codePoint: number): number {
    const pairs = this.#measure();
    if (codePoint >= this.#length) return this.text.length;
    if (pairs.length === 0) return Math.max(0, codePoint);
    let low = 0;
    let high = pairs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#checkpoint(middle) - (pairs[middle] as number) <= codePoint) low = middle;
      else high = middle - 1;
    }
    const unit = this.#checkpoint(low);
    return advanceUnits(this.text, unit, codePoint - (unit - (pairs[low] as number)));
  }

  /** The text between two code-point offsets. */
  slice(from: number, to: number): string {
    return this.text.slice(this.toUnit(from), this.toUnit(to));
  }

  /**
   * The offset so many code points after `unit` (before it, when negative), at most to `limit`, and how many they were.
   * What lies further away is not measured for it.
   */
  step(unit: number, codePoints: number, limit: number): { readonly unit: number; readonly moved: number } {
    if (codePoints === 0) return { unit, moved: 0 };
    if (this.#pairs === NO_PAIRS) {
      const to = codePoints < 0 ? Math.max(limit, unit + codePoints) : Math.min(limit, unit + codePoints);
      return { unit: to, moved: to - unit };
    }
    let at = unit;
    let moved = 0;
    for (; moved < codePoints && at < limit; moved++) at += isPairAt(this.text, at) ? 2 : 1;
    for (; moved > codePoints && at > limit; moved--) at -= at >= 2 && isPairAt(this.text, at - 2) ? 2 : 1;
    return { unit: at, moved };
  }

  /** Where a checkpoint is: behind a pair that it would split. */
  #checkpoint(slot: number): number {
    const unit = slot * CHECKPOINT_UNITS;
    return unit > 0 && isPairAt(this.text, unit - 1) ? unit + 1 : unit;
  }

  #measure(): Uint32Array {
    if (this.#pairs === undefined) for (const _pause of this.measuring());
    return this.#pairs ?? NO_PAIRS;
  }
}
