// Searches a journal without parsing it: the bytes of its log are gone through once, in blocks, and only entries that may
// hold a match are read. It must never say that an item holds a match, or none, when a look at its text says otherwise.

import type { Needle } from "../history/search.ts";
import type { JournalFiles } from "./files.ts";
import { isInsideEscape, type NeedlePatterns, patternsOf } from "./patterns.ts";
import { FLAG } from "./record.ts";
import type { JournalIndex } from "./records.ts";

const BLOCK_BYTES = 1_048_576;

/** What the bytes say of one entry. */
const NONE = 0;
const MAYBE = 1;
const SURE = 2;

export class JournalSieve {
  readonly #files: JournalFiles;
  readonly #index: JournalIndex;
  readonly #patterns: NeedlePatterns;
  /** The block gone through last: the entries whose lines begin in it. */
  #first = 0;
  #verdicts = new Uint8Array(0);
  #buffer = Buffer.allocUnsafe(BLOCK_BYTES + BLOCK_BYTES / 4);
  /** The next place of the text's pattern in the block; -1 when there is none. */
  #hit = -1;

  constructor(files: JournalFiles, index: JournalIndex, needle: Needle) {
    this.#files = files;
    this.#index = index;
    this.#patterns = patternsOf(needle, index.toolNames());
  }

  /** Whether the entry of a record holds a match; undefined when its text has to be looked at. */
  holds(at: number): boolean | undefined {
    if (at < this.#first || at >= this.#first + this.#verdicts.length) this.#goThroughBlockOf(at);
    const verdict = this.#verdicts[at - this.#first];
    return verdict === MAYBE ? undefined : verdict === SURE;
  }

  #goThroughBlockOf(at: number): void {
    const index = this.#index;
    const block = Math.floor(index.lineStart(at) / BLOCK_BYTES);
    const isIn = (other: number) => !index.isEntry(other) || Math.floor(index.lineStart(other) / BLOCK_BYTES) === block;
    let first = at;
    while (first > 0 && isIn(first - 1)) first--;
    let last = at;
    while (last + 1 < index.length && isIn(last + 1)) last++;
    while (!index.isEntry(first)) first++;
    while (!index.isEntry(last)) last--;
    const offset = index.lineStart(first);
    const length = index.lineEnd(last) - offset;
    if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(length);
    const bytes = this.#files.log.reading((log) => log.read({ offset, length }, this.#buffer)) ?? Buffer.alloc(0);
    this.#first = first;
    this.#verdicts = new Uint8Array(last - first + 1);
    this.#goThrough(bytes, offset);
  }

  #goThrough(bytes: Buffer, offset: number): void {
    const index = this.#index;
    this.#hit = bytes.indexOf(this.#patterns.text);
    for (let place = 0; place < this.#verdicts.length; place++) {
      const at = this.#first + place;
      if (index.isEntry(at)) this.#verdicts[place] = this.#verdictOf(at, bytes, offset);
    }
  }

  #verdictOf(at: number, bytes: Buffer, offset: number): number {
    const index = this.#index;
    const flags = index.flags(at);
    if (flags & FLAG.composed) return MAYBE;
    const span = index.textSpan(at);
    if (span) return this.#isIn(bytes, span.offset - offset, span.length) ? SURE : NONE;
    const start = index.lineStart(at) - offset;
    const end = index.lineEnd(at) - offset;
    this.#hitFrom(bytes, start);
    if (this.#hit !== -1 && this.#hit < end) return MAYBE;
    return flags & FLAG.hasCalls && this.#mayHoldInCalls(bytes, start, end) ? MAYBE : NONE;
  }

  /** Whether the needle is in a text: not across its end, and not beginning inside an escape. */
  #isIn(bytes: Buffer, from: number, length: number): boolean {
    const lastPlace = from + length - this.#patterns.text.length;
    this.#hitFrom(bytes, from);
    while (this.#hit !== -1 && this.#hit <= lastPlace) {
      if (!isInsideEscape(bytes, this.#hit, from)) return true;
      this.#hitFrom(bytes, this.#hit + 1);
    }
    return false;
  }

  /** Every byte is gone through once: the next hit is only looked for when the last one is passed. */
  #hitFrom(bytes: Buffer, place: number): void {
    if (this.#hit !== -1 && this.#hit < place) this.#hit = bytes.indexOf(this.#patterns.text, place);
  }

  #mayHoldInCalls(bytes: Buffer, start: number, end: number): boolean {
    const { calls } = this.#patterns;
    if (calls === "all") return true;
    if (calls.length === 0) return false;
    const line = bytes.subarray(start, end);
    return calls.some((pattern) => line.includes(pattern));
  }
}
