// Text measured in Unicode code points and UTF-8 bytes. Everything a model sees counts code points.

/** Matches when a string holds anything beyond the basic plane, so that its length differs from its code points. */
const ASTRAL = /[\ud800-\udfff]/;

/** One checkpoint every so many code units: a lookup then scans at most this far. */
const CHECKPOINT_UNITS = 1024;

/** Below this length a plain scan is as fast as a checkpoint table. */
const CHECKPOINT_MIN_UNITS = 16_384;

export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
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

/** Number of code points in `text` between two code-unit offsets that do not split a pair. */
export function countCodePoints(text: string, fromUnit = 0, toUnit = text.length): number {
  let count = 0;
  for (let unit = fromUnit; unit < toUnit; count++) unit += isPairAt(text, unit) ? 2 : 1;
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
  return /^[\s\p{Cc}\p{Cf}]*$/u.test(text);
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

/** A text with its code-point coordinates; converting an offset costs at most one checkpoint's scan. */
export class CodePointText {
  readonly text: string;
  readonly length: number;
  readonly #astral: boolean;
  readonly #checkpoints: Uint32Array | undefined;

  constructor(text: string) {
    this.text = text;
    this.#astral = ASTRAL.test(text);
    if (!this.#astral) {
      this.length = text.length;
    } else if (text.length < CHECKPOINT_MIN_UNITS) {
      this.length = countCodePoints(text);
    } else {
      const table = new Uint32Array(Math.ceil(text.length / CHECKPOINT_UNITS) + 1);
      let codePoints = 0;
      let unit = 0;
      for (let slot = 0; slot < table.length; slot++) {
        const limit = Math.min(slot * CHECKPOINT_UNITS, text.length);
        while (unit < limit) {
          unit += isPairAt(text, unit) ? 2 : 1;
          codePoints++;
        }
        // A pair across the boundary belongs to the slot before: its count then points one unit further.
        table[slot] = codePoints;
      }
      this.#checkpoints = table;
      this.length = codePoints;
    }
  }

  /** Code points before a code-unit offset that does not split a pair. */
  toCodePoint(unit: number): number {
    if (!this.#astral) return unit;
    if (this.#checkpoints === undefined) return countCodePoints(this.text, 0, unit);
    const slot = Math.floor(unit / CHECKPOINT_UNITS);
    let from = slot * CHECKPOINT_UNITS;
    if (from > 0 && isPairAt(this.text, from - 1)) from++;
    return (this.#checkpoints[slot] ?? 0) + countCodePoints(this.text, Math.min(from, unit), unit);
  }

  /** Code-unit offset of a code-point offset; past the end is the end. */
  toUnit(codePoint: number): number {
    if (codePoint >= this.length) return this.text.length;
    if (!this.#astral) return Math.max(0, codePoint);
    const table = this.#checkpoints;
    if (table === undefined) return advanceUnits(this.text, 0, codePoint);
    let low = 0;
    let high = table.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((table[middle] ?? 0) <= codePoint) low = middle;
      else high = middle - 1;
    }
    let unit = low * CHECKPOINT_UNITS;
    if (unit > 0 && isPairAt(this.text, unit - 1)) unit++;
    return advanceUnits(this.text, unit, codePoint - (table[low] ?? 0));
  }

  /** The text between two code-point offsets. */
  slice(from: number, to: number): string {
    return this.text.slice(this.toUnit(from), this.toUnit(to));
  }

  /** As `toCodePoint`, counted on from an offset whose count is known where that is nearer. */
  toCodePointFrom(unit: number, knownUnit: number, knownCodePoint: number): number {
    if (!this.#astral) return unit;
    const far = this.#checkpoints !== undefined && unit - knownUnit > CHECKPOINT_UNITS;
    if (far || unit < knownUnit) return this.toCodePoint(unit);
    return knownCodePoint + countCodePoints(this.text, knownUnit, unit);
  }

  /** The offset so many code points after `unit` (before it, when negative), at most to `limit`, and how many they were. */
  step(unit: number, codePoints: number, limit: number): { readonly unit: number; readonly moved: number } {
    if (codePoints === 0) return { unit, moved: 0 };
    if (!this.#astral) {
      const to = codePoints < 0 ? Math.max(limit, unit + codePoints) : Math.min(limit, unit + codePoints);
      return { unit: to, moved: to - unit };
    }
    let at = unit;
    let moved = 0;
    for (; moved < codePoints && at < limit; moved++) at += isPairAt(this.text, at) ? 2 : 1;
    for (; moved > codePoints && at > limit; moved--) at -= at >= 2 && isPairAt(this.text, at - 2) ? 2 : 1;
    return { unit: at, moved };
  }
}
