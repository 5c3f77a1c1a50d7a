// Rendered texts of items, kept so that they are not rendered twice, and bounded so that a search does not keep a copy of
// the whole session forever. A text is kept on its row: to find a hundred thousand of them in a map takes a third of a
// search. Pure.
import type { LogEntry } from "../host/entries.ts";
import { type ItemText, itemText, ownText } from "./item.ts";

/** What keeps a text; only the cache sets it. */
export interface TextHolder {
  readonly entry: LogEntry;
  keptText?: ItemText | undefined;
}

/** In UTF-16 code units. */
const KEPT_MAX_UNITS = 16 * 1024 * 1024;
/** What a kept text takes besides its characters, in the same units. */
const OVERHEAD_UNITS = 100;
/** So many that have let go are left in the list before it is cut. */
const GONE_MAX = 1_000;

/** A single text block is the entry's own string; everything else is a copy. */
function sizeOf(entry: LogEntry, { points }: ItemText): number {
  return OVERHEAD_UNITS + (ownText(entry) === undefined ? points.text.length : 0);
}

export class TextCache {
  /** Those that keep a text, oldest first, behind those that have let go. */
  #holders: TextHolder[] = [];
  #gone = 0;
  readonly #maxUnits: number;
  #units = 0;

  constructor(maxUnits: number = KEPT_MAX_UNITS) {
    this.#maxUnits = maxUnits;
  }

  get(holder: TextHolder): ItemText {
    return holder.keptText ?? this.#keep(holder);
  }

  #keep(holder: TextHolder): ItemText {
    const text = itemText(holder.entry);
    holder.keptText = text;
    this.#holders.push(holder);
    this.#units += sizeOf(holder.entry, text);
    while (this.#units > this.#maxUnits && this.#gone < this.#holders.length - 1) this.#letGo();
    return text;
  }

  #letGo(): void {
    const oldest = this.#holders[this.#gone++] as TextHolder;
    this.#units -= sizeOf(oldest.entry, oldest.keptText as ItemText);
    oldest.keptText = undefined;
    if (this.#gone <= GONE_MAX) return;
    this.#holders = this.#holders.slice(this.#gone);
    this.#gone = 0;
  }
}
