// The short texts of a branch, joined in stretches of rows, so that a search goes through one string in place of many:
// most items of a coding session are calls of a few words, and each would have to be rendered and looked through alone.
// Derived from the rows, made when a search comes by, bounded, and thrown away with them. Pure.
import type { Row } from "../log/branch.ts";
import { itemText, ownText } from "../log/item.ts";
import { PIECE_UNITS } from "./search.ts";

/** Rows of one stretch; only whole stretches are kept. */
export const STRETCH_ROWS = 64;
/** Up to here a text counts as short, in code units. */
const SHORT_MAX_UNITS = 1_024;
/** Of all stretches that are kept; those beyond are made again by each search. */
const KEPT_MAX_UNITS = 16 * 1_048_576;

/** What a search looks through of a stretch of rows. */
export interface Stretch {
  /** Of a row whose text is longer and the entry's one string: that string, where it lies. */
  readonly own: readonly (string | undefined)[];
  /** The short texts, one behind the other. */
  readonly short: string;
  /** Where each row's text begins in there, and at last where the last one ends. Rows without a short text take no room. */
  readonly starts: Uint32Array;
  /** What a row without `own` is. */
  readonly kinds: Uint8Array;
}

/** A short text that is the entry's one string: nothing of it is ever hidden. */
const PLAIN = 0;
/** A short text that was rendered. */
const RENDERED = 1;
/** A text that is in no stretch. */
const APART = 2;

function stretchOf(rows: readonly Row[], first: number): Stretch {
  const own: (string | undefined)[] = [];
  const short: string[] = [];
  const starts = new Uint32Array(STRETCH_ROWS + 1);
  const kinds = new Uint8Array(STRETCH_ROWS);
  let length = 0;
  for (let at = 0; at < STRETCH_ROWS; at++) {
    const { entry } = rows[first + at] as Row;
    const plain = ownText(entry);
    const text = plain ?? itemText(entry).points.text;
    starts[at] = length;
    if (text.length <= SHORT_MAX_UNITS) {
      own.push(undefined);
      kinds[at] = plain === undefined ? RENDERED : PLAIN;
      short.push(text);
      length += text.length;
    } else {
      own.push(text.length > PIECE_UNITS ? undefined : plain);
      kinds[at] = APART;
    }
  }
  starts[STRETCH_ROWS] = length;
  return { own, short: short.join(""), starts, kinds };
}

export class ShortTexts {
  readonly rows: readonly Row[];
  readonly #stretches: (Stretch | undefined)[] = [];
  #units = 0;

  constructor(rows: readonly Row[]) {
    this.rows = rows;
  }

  /** The stretch with this number; undefined while the branch has fewer rows. */
  stretch(number: number): Stretch | undefined {
    const known = this.#stretches[number];
    if (known) return known;
    if ((number + 1) * STRETCH_ROWS > this.rows.length) return undefined;
    const made = stretchOf(this.rows, number * STRETCH_ROWS);
    if (this.#units + made.short.length > KEPT_MAX_UNITS) return made;
    this.#stretches[number] = made;
    this.#units += made.short.length;
    return made;
  }
}

/** What the short texts say of a row. */
const NONE = 0;
const SURE = 1;
const LOOK = 2;

/** One search of a branch by the places of its rows. */
export class StretchSieve {
  readonly #texts: ShortTexts;
  readonly #needle: string;
  /** The stretch that was looked through last. */
  #number = -1;
  #stretch: Stretch | undefined;
  readonly #verdicts = new Uint8Array(STRETCH_ROWS);

  constructor(texts: ShortTexts, needle: string) {
    this.#texts = texts;
    this.#needle = needle;
  }

  /** Whether a row surely holds a match, or surely none; undefined when its text has to be looked at. */
  holds(at: number): boolean | undefined {
    const number = Math.floor(at / STRETCH_ROWS);
    if (number !== this.#number) this.#goTo(number);
    if (!this.#stretch) return this.#holdsAlone(at);
    const place = at - number * STRETCH_ROWS;
    const own = this.#stretch.own[place];
    if (own !== undefined) return own.includes(this.#needle);
    const verdict = this.#verdicts[place];
    return verdict === LOOK ? undefined : verdict === SURE;
  }

  /** The newest rows are in no stretch yet. */
  #holdsAlone(at: number): boolean | undefined {
    const row = this.#texts.rows[at];
    const own = row && ownText(row.entry);
    return own === undefined || own.length > PIECE_UNITS ? undefined : own.includes(this.#needle);
  }

  #goTo(number: number): void {
    this.#number = number;
    this.#stretch = this.#texts.stretch(number);
    if (this.#stretch) this.#lookThrough(this.#stretch);
  }

  /** One hit in a row's text is enough; one that runs on into the next text is looked at. */
  #lookThrough({ short, starts, kinds }: Stretch): void {
    for (let place = 0; place < STRETCH_ROWS; place++) this.#verdicts[place] = kinds[place] === APART ? LOOK : NONE;
    let place = 0;
    for (let hit = short.indexOf(this.#needle); hit !== -1; hit = short.indexOf(this.#needle, starts[place])) {
      while ((starts[place + 1] as number) <= hit) place++;
      const isInside = hit + this.#needle.length <= (starts[place + 1] as number);
      this.#verdicts[place] = isInside && kinds[place] === PLAIN ? SURE : LOOK;
      place++;
    }
  }
}
