// The index of one branch: its items, its windows, and the latest of each custom entry, kept up with the log
// at the cost of what is new. Pure: it reads entries through an EntrySource and never asks the host for a copy.
import type { EntrySource, LogEntry } from "../host/entries.ts";
import { WayBack } from "./ancestry.ts";
import { type ItemHead, type ItemText, itemHead } from "./item.ts";
import { callsOf, nameIn, noBatch, placeItem, type ToolBatch } from "./item-place.ts";
import { KnownTools } from "./known-tools.ts";
import { consolidationOf, type Opener, type RequestMark, requestMarkOf } from "./marks.ts";
import { TextCache, type TextHolder } from "./text-cache.ts";

/** An item in its place on the branch. */
export interface Row extends TextHolder {
  readonly head: ItemHead;
  /** Number of its window; 1 for `w1`. */
  readonly window: number;
}

/** A stretch of the branch between two openers. Its rows run up to the next window's first. */
export interface WindowRecord {
  /** `w1`, `w2`, … */
  readonly id: string;
  readonly number: number;
  /** What opened it; none for the first window. */
  readonly opener: Opener | undefined;
  readonly openerEntryId: string | undefined;
  /** The number in its opener, when counting along the branch gives another. */
  readonly writtenNumber?: number | undefined;
  readonly firstRow: number;
}

/** A compaction entry of any kind, and where the host's context continues from it. */
export interface CompactionMark {
  readonly entry: LogEntry;
  /** Number of rows before it on the branch. */
  readonly rowsBefore: number;
  /** The window whose bootstrap it repeats, when it is a consolidation. */
  readonly consolidates: string | undefined;
}

/** What a data entry says of a request, and its place on the branch. */
export interface PlacedMark {
  readonly mark: RequestMark;
  /** Number of rows before it on the branch. */
  readonly rowsBefore: number;
}

/** A data entry in its place on the branch. */
export interface PlacedCustom {
  readonly entry: LogEntry;
  /** Number of its window. */
  readonly window: number;
  /** Number of messages of the user before it. */
  readonly userMessages: number;
}

/** What a catch-up did: nothing, added rows at the end, or threw rows away and read another branch. */
export type CatchUp = "same" | "grown" | "rebuilt";

export function windowId(number: number): string {
  return `w${number}`;
}

/** The number of a window id; undefined when it is none. */
export function windowNumber(id: string): number | undefined {
  const match = /^w([1-9]\d{0,8})$/.exec(id);
  return match ? Number(match[1]) : undefined;
}

export class BranchIndex {
  /** Oldest first. There is no map of ids: making one would cost more than all the rest of opening a long session. */
  #path: LogEntry[] = [];
  #source: EntrySource | undefined;
  /** The leaf that is being caught up with. */
  #target: string | null = null;
  /** Where the walk back from there to the newest entry of the path is. */
  #way: WayBack | undefined;
  /** How much of the path is folded into rows. */
  #folded = 0;
  #rows: Row[] = [];
  #windows: WindowRecord[] = [];
  /** The newest name of each call on the branch; undefined until a result answers a call before the newest batch. */
  #callNames: Map<string, string> | undefined;
  #lastCustom = new Map<string, PlacedCustom>();
  #lastCompaction: CompactionMark | undefined;
  #labelled = new Set<unknown>();
  #requestMarks: PlacedMark[] = [];
  /** The calls of the newest assistant message: the batch that an opener among their results closes. */
  #batch: ToolBatch = noBatch();
  #userMessages = 0;
  /** Rows have moved to another window since they were read. */
  #renumbered = false;
  #texts = new TextCache();
  readonly #tools = new KnownTools();

  constructor() {
    this.#resetFolds();
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get windows(): readonly WindowRecord[] {
    return this.#windows;
  }

  get current(): WindowRecord {
    const window = this.#windows.at(-1);
    if (!window) throw new Error("a branch always has a window");
    return window;
  }

  get lastCompaction(): CompactionMark | undefined {
    return this.#lastCompaction;
  }

  /** Number of messages that the user sent on this branch. */
  get userMessages(): number {
    return this.#userMessages;
  }

  get requestMarks(): readonly PlacedMark[] {
    return this.#requestMarks;
  }

  /** The tool-call ids of the newest assistant message. */
  get newestBatch(): ReadonlyMap<string, string> {
    return this.#batch.calls;
  }

  /** Whether the newest assistant message's batch holds the current window's opener. */
  get batchIsClosed(): boolean {
    return this.#batch.closing;
  }

  /** The latest data entry of a custom type on this branch. */
  lastCustom(customType: string): PlacedCustom | undefined {
    return this.#lastCustom.get(customType);
  }

  /** Whether an entry was given a label, or lost it, on this branch. */
  wasLabelled(id: string): boolean {
    return this.#labelled.has(id);
  }

  row(id: string): Row | undefined {
    const at = this.rowIndex(id);
    return at === undefined ? undefined : this.#rows[at];
  }

  /** The index of an item among the rows. */
  rowIndex(id: string): number | undefined {
    const entry = this.#source?.entry(id);
    const position = entry === undefined ? -1 : this.#path.lastIndexOf(entry);
    // Rows are in the order of the path, and only entries that are no items are missing.
    let at = Math.min(position, this.#rows.length - 1);
    while (at >= 0 && this.#rows[at]?.entry !== entry) at--;
    return at < 0 ? undefined : at;
  }

  /** The rows of a window as a half-open range. */
  rowRange(window: WindowRecord): { from: number; to: number } {
    const next = this.#windows[window.number];
    return { from: window.firstRow, to: next ? next.firstRow : this.#rows.length };
  }

  /** The text of an item, cached. */
  text(row: Row): ItemText {
    return this.#texts.get(row);
  }

  /** Whether the last catch-up stopped before the leaf. */
  get isBehind(): boolean {
    return this.#way !== undefined || this.#folded < this.#path.length;
  }

  /** Reads what the branch has gained; with a number, no more steps than that: the next call continues from there. */
  catchUp(source: EntrySource, steps = Number.POSITIVE_INFINITY): CatchUp {
    this.#source = source;
    const leaf = source.leafId();
    const newest = this.#path.at(-1)?.id;
    if (!this.isBehind && leaf === (newest ?? null)) return "same";
    if (!this.isBehind || leaf !== this.#target) {
      this.#target = leaf;
      this.#way = new WayBack(source, leaf, newest);
    }
    this.#renumbered = false;
    const before = this.#folded;
    let left = steps;
    for (; this.#way && left > 0; left--) this.#lookBack(this.#way);
    const rebuilt = this.#folded < before;
    for (; !this.#way && this.#folded < this.#path.length && left > 0; left--) this.#fold();
    return rebuilt || this.#renumbered ? "rebuilt" : "grown";
  }

  /** One step back from the leaf. A walk that does not lead to the path is on another branch, which is read from its root. */
  #lookBack(way: WayBack): void {
    way.step();
    if (!way.hasEnded) return;
    this.#way = undefined;
    const found = way.entries.reverse();
    if (way.hasMet) {
      for (const entry of found) this.#path.push(entry);
      return;
    }
    this.#path = found;
    this.#resetFolds();
  }

  #resetFolds(): void {
    this.#folded = 0;
    this.#rows = [];
    this.#texts = new TextCache();
    this.#windows = [{ id: windowId(1), number: 1, opener: undefined, openerEntryId: undefined, firstRow: 0 }];
    this.#callNames = undefined;
    this.#lastCustom = new Map();
    this.#lastCompaction = undefined;
    this.#labelled = new Set();
    this.#requestMarks = [];
    this.#userMessages = 0;
    this.#batch = noBatch();
  }

  /** Folds the next entry of the path into rows and windows. */
  #fold(): void {
    const entry = this.#path[this.#folded++] as LogEntry;
    if (entry.type === "custom") this.#addData(entry);
    if (entry.type === "label") this.#labelled.add(entry.targetId);
    if (entry.type === "compaction") {
      const consolidates = consolidationOf(entry)?.consolidates;
      this.#lastCompaction = { entry, rowsBefore: this.#rows.length, consolidates };
      // A consolidation opens nothing and is no item.
      if (consolidates !== undefined) return;
    }
    const head = itemHead(entry, this.#nameOfCall, this.#tools.named);
    if (!head) return;
    const { opener, opens, stays, batch } = placeItem(entry, head, this.#batch);
    if (opens === "before") this.#open(opener, entry.id, this.#rows.length);
    this.#addRow(entry, head, stays ? this.current.number - 1 : this.current.number);
    if (opens === "after") this.#open(opener, entry.id, this.#rows.length);
    this.#batch = batch;
    if (this.#callNames && head.role === "assistant")
      for (const [id, name] of batch.calls) this.#callNames.set(id, name);
  }

  #addData(entry: LogEntry): void {
    if (entry.customType !== undefined) {
      const placed = { entry, window: this.current.number, userMessages: this.#userMessages };
      this.#lastCustom.set(entry.customType, placed);
    }
    const mark = requestMarkOf(entry);
    if (mark) this.#requestMarks.push({ mark, rowsBefore: this.#rows.length });
  }

  readonly #nameOfCall = (toolCallId: string): string | undefined => {
    const newest = nameIn(this.#batch, toolCallId);
    if (newest !== undefined) return newest;
    this.#callNames ??= this.#namesOfCalls();
    return this.#callNames.get(toolCallId);
  };

  #namesOfCalls(): Map<string, string> {
    const names = new Map<string, string>();
    for (const { entry, head } of this.#rows)
      if (head.role === "assistant") for (const [id, name] of callsOf(entry)) names.set(id, name);
    return names;
  }

  #addRow(entry: LogEntry, head: ItemHead, window: number): void {
    this.#rows.push({ entry, head, window, keptText: undefined });
    if (head.fromUser) this.#userMessages++;
    if (window < this.current.number) this.#moveCurrentBehind(window);
  }

  /** One more result of the closing batch: the new window starts behind it, whatever came in between. */
  #moveCurrentBehind(closed: number): void {
    for (let i = this.current.firstRow; i < this.#rows.length; i++) {
      const row = this.#rows[i];
      if (!row || row.window === closed) continue;
      // The text stays with the row that is gone.
      this.#rows[i] = { ...row, window: closed, keptText: undefined };
      this.#renumbered = true;
    }
    this.#windows[this.#windows.length - 1] = { ...this.current, firstRow: this.#rows.length };
  }

  #open(opener: Opener | undefined, openerEntryId: string, firstRow: number): void {
    const number = this.#windows.length + 1;
    const written = opener && "details" in opener ? opener.details.number : number;
    const differs = written === number ? {} : { writtenNumber: written };
    this.#windows.push({ id: windowId(number), number, opener, openerEntryId, firstRow, ...differs });
  }
}
