// One branch of a journal: its rows and windows, from the records alone. A row reads its entry when it is asked for, so
// that a page of a long branch costs a page.
//
// Kept beside the index of the live branch (log/branch.ts) for the row "another agent, newest 50 of a journal of 100k
// entries": that one is fed with entries, and would need all of them parsed. Both place items by one rule (log/item-place.ts).
import type { RowList } from "../history/source.ts";
import type { LogEntry } from "../host/entries.ts";
import { type Row, type WindowRecord, windowId } from "../log/branch.ts";
import type { ItemHead, ToolRef } from "../log/item.ts";
import { type Opener, openerOf } from "../log/marks.ts";
import type { Brief, JournalRecords } from "./records.ts";
import type { JournalState } from "./state.ts";

class JournalRow implements Row {
  readonly #branch: JournalBranch;
  readonly #place: number;
  #head: ItemHead | undefined;

  constructor(branch: JournalBranch, place: number) {
    this.#branch = branch;
    this.#place = place;
  }

  get head(): ItemHead {
    this.#head ??= this.#branch.state.head(this.#branch.record(this.#place));
    return this.#head;
  }

  get window(): number {
    return this.#branch.windowOf(this.#place);
  }

  get entry(): LogEntry {
    return this.#branch.state.entry(this.#branch.record(this.#place));
  }
}

/** What opened a window is read when it is asked for. */
class JournalWindow implements WindowRecord {
  readonly id: string;
  readonly number: number;
  readonly firstRow: number;
  readonly #openedBy: (() => LogEntry) | undefined;

  constructor(number: number, firstRow: number, openedBy: (() => LogEntry) | undefined) {
    this.id = windowId(number);
    this.number = number;
    this.firstRow = firstRow;
    this.#openedBy = openedBy;
  }

  get opener(): Opener | undefined {
    return this.#openedBy && openerOf(this.#openedBy());
  }

  get openerEntryId(): string | undefined {
    return this.#openedBy?.().id;
  }

  get writtenNumber(): number | undefined {
    const { opener } = this;
    const written = opener && "details" in opener ? opener.details.number : this.number;
    return written === this.number ? undefined : written;
  }

  /** The same window, as it starts behind one more row. */
  startingAt(firstRow: number): JournalWindow {
    return new JournalWindow(this.number, firstRow, this.#openedBy);
  }
}

/** The place in a sorted list of the last number up to this one; -1 when there is none. */
function lastUpTo(length: number, numberAt: (place: number) => number, number: number): number {
  let low = 0;
  for (let high = length; low < high; ) {
    const middle = (low + high) >> 1;
    if (numberAt(middle) <= number) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The numbers of the records from an entry back to one of its ancestors, which is left out; undefined when that is none. */
function chainOf(records: JournalRecords, from: number, to: number): Int32Array | undefined {
  let length = 0;
  let at = from;
  // A parent comes before its children; anything else would be no chain.
  for (let next = at; at > to; at = next, length++) {
    next = records.parent(at);
    if (next >= at) return undefined;
  }
  if (at !== to) return undefined;
  const chain = new Int32Array(length);
  at = from;
  for (let place = length - 1; place >= 0; place--) {
    chain[place] = at;
    at = records.parent(at);
  }
  return chain;
}

export class JournalBranch implements RowList {
  readonly state: JournalState;
  /** Numbers of the records of its rows, ascending: a parent comes before its children. */
  #rows = new Int32Array(64);
  #length = 0;
  #leaf = -1;
  readonly #windows: JournalWindow[] = [new JournalWindow(1, 0, undefined)];

  /** The branch that ends with a record; -1 for an empty one. */
  constructor(state: JournalState, leaf: number) {
    this.state = state;
    this.growTo(leaf);
  }

  get windows(): readonly WindowRecord[] {
    return this.#windows;
  }

  get length(): number {
    return this.#length;
  }

  at(row: number): Row | undefined {
    return row < 0 || row >= this.#length ? undefined : new JournalRow(this, row);
  }

  map<T>(each: (row: Row) => T): T[] {
    return Array.from(this, each);
  }

  *[Symbol.iterator](): Iterator<Row> {
    for (let row = 0; row < this.#length; row++) yield new JournalRow(this, row);
  }

  brief(row: number): Brief {
    return this.state.records.brief(this.record(row)) as Brief;
  }

  calls(row: number): readonly ToolRef[] {
    return this.state.calls(this.record(row));
  }

  /** Number of a row's record. */
  record(row: number): number {
    return this.#rows[row] as number;
  }

  rowRange({ number, firstRow }: WindowRecord): { from: number; to: number } {
    return { from: firstRow, to: this.#windows[number]?.firstRow ?? this.#length };
  }

  /** The index of a record's row; undefined when it is no item of this branch. */
  placeOf(record: number): number | undefined {
    const place = lastUpTo(this.#length, (row) => this.record(row), record);
    return place >= 0 && this.record(place) === record ? place : undefined;
  }

  /** Number of the last window that starts at or before the row. */
  windowOf(row: number): number {
    return lastUpTo(this.#windows.length, (window) => (this.#windows[window] as JournalWindow).firstRow, row) + 1;
  }

  /** Advances to a new leaf; false when that is on another branch. */
  growTo(leaf: number): boolean {
    const chain = chainOf(this.state.records, leaf, this.#leaf);
    if (!chain) return false;
    if (this.#length + chain.length > this.#rows.length) {
      const grown = new Int32Array(Math.max(this.#rows.length * 2, this.#length + chain.length));
      grown.set(this.#rows.subarray(0, this.#length));
      this.#rows = grown;
    }
    for (let place = 0; place < chain.length; place++) this.#append(chain[place] as number);
    this.#leaf = leaf;
    return true;
  }

  #append(record: number): void {
    const { records } = this.state;
    if (!records.brief(record)) return;
    const opens = records.opens(record);
    if (opens === "before") this.#open(record);
    this.#rows[this.#length++] = record;
    const current = this.#windows.at(-1);
    if (current && records.stays(record)) this.#windows[this.#windows.length - 1] = current.startingAt(this.#length);
    if (opens === "after") this.#open(record);
  }

  #open(record: number): void {
    const openedBy = () => this.state.entry(record);
    this.#windows.push(new JournalWindow(this.#windows.length + 1, this.#length, openedBy));
  }
}
