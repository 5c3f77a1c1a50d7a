// Rendered texts of items, kept so that a second search does not render again, and bounded so that a search does not
// keep a copy of the whole session for ever. Pure.
import type { LogEntry } from "../host/entries.ts";
import { type ItemText, itemText } from "./item.ts";

/** Copies are made of items of several blocks only; a single block is the entry's own string. In UTF-16 code units. */
const COPIES_MAX_UNITS = 64 * 1024 * 1024;

export class TextCache {
  readonly #own = new WeakMap<LogEntry, ItemText>();
  /** Oldest first. */
  readonly #copies = new Map<LogEntry, ItemText>();
  readonly #maxUnits: number;
  #units = 0;

  constructor(maxUnits: number = COPIES_MAX_UNITS) {
    this.#maxUnits = maxUnits;
  }

  get(entry: LogEntry): ItemText {
    const known = this.#own.get(entry) ?? this.#copies.get(entry);
    if (known) return known;
    const text = itemText(entry);
    if (text.regions.length <= 1) this.#own.set(entry, text);
    else this.#keepCopy(entry, text);
    return text;
  }

  #keepCopy(entry: LogEntry, text: ItemText): void {
    this.#copies.set(entry, text);
    this.#units += text.points.text.length;
    for (const [oldest, { points }] of this.#copies) {
      if (this.#units <= this.#maxUnits) return;
      this.#copies.delete(oldest);
      this.#units -= points.text.length;
    }
  }
}
