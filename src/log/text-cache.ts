// Rendered texts of items, kept so that they are not rendered twice, and bounded so that a search does not keep a copy of
// the whole session forever. Pure.
import type { LogEntry } from "../host/entries.ts";
import { type ItemText, itemText, ownText } from "./item.ts";

/** In UTF-16 code units. */
const KEPT_MAX_UNITS = 16 * 1024 * 1024;
/** What a kept text takes besides its characters, in the same units. */
const OVERHEAD_UNITS = 100;

/** A single text block is the entry's own string; everything else is a copy. */
function sizeOf(entry: LogEntry, { points }: ItemText): number {
  return OVERHEAD_UNITS + (ownText(entry) === undefined ? points.text.length : 0);
}

export class TextCache {
  /** Oldest first. */
  readonly #texts = new Map<LogEntry, ItemText>();
  readonly #maxUnits: number;
  #units = 0;

  constructor(maxUnits: number = KEPT_MAX_UNITS) {
    this.#maxUnits = maxUnits;
  }

  get(entry: LogEntry): ItemText {
    const known = this.#texts.get(entry);
    if (known) return known;
    const text = itemText(entry);
    this.#texts.set(entry, text);
    this.#units += sizeOf(entry, text);
    for (const [oldest, old] of this.#texts) {
      if (this.#units <= this.#maxUnits || oldest === entry) break;
      this.#texts.delete(oldest);
      this.#units -= sizeOf(oldest, old);
    }
    return text;
  }
}
