// One branch of a journal: its rows and windows, folded from the records alone. Rows are made when they are asked for and
// read their entry when that is asked for, so that a page of a long branch costs a page.

import type { RowList } from "../history/source.ts";
import type { LogEntry } from "../host/entries.ts";
import { type Row, type WindowRecord, windowId } from "../log/branch.ts";
import type { ItemHead, ItemRole, ToolRef } from "../log/item.ts";
import { type Opener, openerOf } from "../log/marks.ts";
import { FLAG, roleOf } from "./record.ts";
import type { JournalIndex } from "./records.ts";
import type { LoadEntry } from "./state.ts";

class JournalHead implements ItemHead {
  readonly #index: JournalIndex;
  readonly #at: number;
  readonly #load: LoadEntry;

  constructor(index: JournalIndex, at: number, load: LoadEntry) {
    this.#index = index;
    this.#at = at;
    this.#load = load;
  }

  get id(): string {
    return this.#index.id(this.#at) ?? this.#entry.id;
  }

  get role(): ItemRole {
    return this.#index.role(this.#at) as ItemRole;
  }

  get timestamp(): string {
    return this.#index.timestamp(this.#at) ?? this.#entry.timestamp;
  }

  get calls(): readonly ToolRef[] {
    return this.#index.calls(this.#at);
  }

  get toolCallId(): string | undefined {
    if (this.role !== "tool") return undefined;
    const toolCallId: unknown = this.#entry.message?.toolCallId;
    return typeof toolCallId === "string" ? toolCallId : undefined;
  }

  get internal(): boolean {
    return Boolean(this.#index.flags(this.#at) & FLAG.internal);
  }

  get fromUser(): boolean {
    return Boolean(this.#index.flags(this.#at) & FLAG.fromUser);
  }

  get #entry(): LogEntry {
    return this.#load(this.#index, this.#at);
  }
}

export class JournalRow implements Row {
  /** Number of its record. */
  readonly at: number;
  readonly #place: number;
  readonly #branch: JournalBranch;

  constructor(branch: JournalBranch, at: number, place: number) {
    this.at = at;
    this.#place = place;
    this.#branch = branch;
  }

  get head(): ItemHead {
    return this.#branch.head(this.at);
  }

  get window(): number {
    return this.#branch.windowOf(this.#place);
  }

  get entry(): LogEntry {
    return this.#branch.entry(this.at);
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

type Brief = Pick<ItemHead, "role" | "internal">;

const BRIEF_FLAGS = FLAG.role | FLAG.internal;

export class JournalBranch implements RowList {
  readonly #index: JournalIndex;
  readonly #load: LoadEntry;
  /** Numbers of the records of its rows, ascending: a parent stands before its children. */
  #rows = new Int32Array(64);
  #length = 0;
  #leaf = -1;
  /** There are few of them; one for each value of the flags. */
  readonly #briefs: Brief[] = [];
  readonly #windows: JournalWindow[] = [new JournalWindow(1, 0, undefined)];

  constructor(index: JournalIndex, load: LoadEntry) {
    this.#index = index;
    this.#load = load;
  }

  get windows(): readonly WindowRecord[] {
    return this.#windows;
  }

  get length(): number {
    return this.#length;
  }

  at(row: number): Row | undefined {
    return row < 0 || row >= this.#length ? undefined : this.#row(row);
  }

  map<T>(each: (row: Row) => T): T[] {
    return Array.from(this, each);
  }

  *[Symbol.iterator](): Iterator<Row> {
    for (let row = 0; row < this.#length; row++) yield this.#row(row);
  }

  brief(row: number): Brief {
    const flags = this.#index.flags(this.#rows[row] as number) & BRIEF_FLAGS;
    const known = this.#briefs[flags];
    if (known) return known;
    const brief = { role: roleOf(flags) as ItemRole, internal: Boolean(flags & FLAG.internal) };
    this.#briefs[flags] = brief;
    return brief;
  }

  /** Number of a row's record. */
  record(row: number): number {
    return this.#rows[row] as number;
  }

  rowRange({ number, firstRow }: WindowRecord): { from: number; to: number } {
    return { from: firstRow, to: this.#windows[number]?.firstRow ?? this.#length };
  }

  /** The row of a record; undefined when it is no item of this branch. */
  rowOf(at: number): Row | undefined {
    const place = this.placeOf(at);
    return place === undefined ? undefined : this.#row(place);
  }

  /** Where the row of a record stands; undefined when it is no item of this branch. */
  placeOf(at: number): number | undefined {
    let low = 0;
    let high = this.#length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle] as number) < at) low = middle + 1;
      else high = middle;
    }
    return low < this.#length && this.#rows[low] === at ? low : undefined;
  }

  /** Goes on to a new leaf; false when that is on another branch, which takes a new index. */
  growTo(leaf: number): boolean {
    const chain = this.#index.chain(leaf, this.#leaf);
    if (!chain) return false;
    this.#makeRoom(chain.length);
    for (let place = 0; place < chain.length; place++) this.#append(chain[place] as number);
    this.#leaf = leaf;
    return true;
  }

  #makeRoom(rows: number): void {
    if (this.#length + rows <= this.#rows.length) return;
    const grown = new Int32Array(Math.max(this.#rows.length * 2, this.#length + rows));
    grown.set(this.#rows.subarray(0, this.#length));
    this.#rows = grown;
  }

  #append(at: number): void {
    const flags = this.#index.flags(at);
    if ((flags & FLAG.role) === 0) return;
    if (flags & FLAG.opensBefore) this.#open(at);
    this.#rows[this.#length++] = at;
    const current = this.#windows.at(-1);
    if (flags & FLAG.stays && current) this.#windows[this.#windows.length - 1] = current.startingAt(this.#length);
    if (flags & FLAG.opensAfter) this.#open(at);
  }

  #open(at: number): void {
    const openedBy = () => this.#load(this.#index, at);
    this.#windows.push(new JournalWindow(this.#windows.length + 1, this.#length, openedBy));
  }

  head(at: number): ItemHead {
    return new JournalHead(this.#index, at, this.#load);
  }

  entry(at: number): LogEntry {
    return this.#load(this.#index, at);
  }

  #row(row: number): JournalRow {
    return new JournalRow(this, this.#rows[row] as number, row);
  }

  /** Number of the last window that starts at or before the row. */
  windowOf(row: number): number {
    let low = 0;
    let high = this.#windows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#windows[middle] as JournalWindow).firstRow <= row) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }
}
