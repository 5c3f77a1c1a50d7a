// Lists, searches and reads the items of any source: the live branch or a journal. It decides what belongs in an answer
// and in which order; it never shapes output, writes anything, or looks at more of a branch than an answer needs.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { type Row, type WindowRecord, windowId, windowNumber } from "../log/branch.ts";
import type { ItemText } from "../log/item.ts";
import { atOnce } from "../storage/slices.ts";
import { HistoryCounts } from "./counts.ts";
import { hasToolFilter, hiddenRegions, type ItemQuery, listedAt } from "./filter.ts";
import { holdsMatch, type IsHidden, type Needle, needleOf } from "./search.ts";
import type { ItemBranch, WindowContents } from "./shapes.ts";
import type { ItemSource } from "./source.ts";

export interface ListedWindow extends WindowContents {
  readonly window: WindowRecord;
}

export interface ListedItem {
  readonly row: Row;
  readonly text: ItemText;
  /** Regions that a list or search must not show. */
  readonly isHidden: IsHidden;
}

export interface ReadItem {
  readonly row: Row;
  readonly text: ItemText;
  readonly branch: ItemBranch;
}

/** A page and the count of everything it was taken from. */
export interface Page<T> {
  readonly total: number;
  readonly rows: readonly T[];
}

/** The page of a search. */
export interface FoundPage extends Page<ListedItem> {
  /** Counting ended before the last row: there are so many at least. */
  readonly isAtLeast: boolean;
}

/** Rows gone through between two pauses of a long search. */
const ROWS_PER_STEP = 64;

interface Range {
  readonly from: number;
  readonly to: number;
}

function windowOf(source: ItemSource, id: string): WindowRecord | undefined {
  const number = windowNumber(id);
  return number === undefined ? undefined : source.windows[number - 1];
}

function windowRange(source: ItemSource, id: string | undefined): Range {
  if (id === undefined) return { from: 0, to: source.rows.length };
  const window = windowOf(source, id);
  return window ? source.rowRange(window) : { from: 0, to: 0 };
}

/** The rows a filter can mean; none for a window that is not there. Throws when the first of them is not among these. */
function rangeOf(source: ItemSource, { filter, recentFirst }: ItemQuery): Range {
  const range = windowRange(source, filter.windowId);
  if (filter.from === undefined) return range;
  const first = source.rowIndex(filter.from);
  if (first === undefined || first < range.from || first >= range.to)
    throw new TokenBudgetError(
      "unknown_item",
      `window_id says from ${shownValue(filter.from)}, which is no item of ${filter.windowId ?? "this branch"}; leave that part out to begin at its end.`,
    );
  return recentFirst ? { from: range.from, to: first + 1 } : { from: first, to: range.to };
}

/** What a walk over rows is to find. */
interface Walk {
  /** The row is there where it had to be made anyway. A long item is gone through with pauses. */
  passes(at: number, row: Row | undefined): boolean | Generator<void, boolean>;
  /** The number of all rows that pass, where it is known. */
  readonly knownTotal?: number | undefined;
  /** Rows that are still counted when the page is full. Default: all. */
  readonly countOn?: number | undefined;
}

type Walked = Page<Row> & { readonly isAtLeast: boolean };

/** The rows that pass, in order, up to a limit, and how many there are; it pauses now and then. */
function* walkRows(source: ItemSource, query: ItemQuery, walk: Walk): Generator<void, Walked> {
  const { from, to } = rangeOf(source, query);
  const { rows: all } = source;
  const { knownTotal, countOn = Number.POSITIVE_INFINITY } = walk;
  const enough = Math.min(query.limit, knownTotal ?? query.limit);
  const countsMost = knownTotal === undefined ? countOn : 0;
  const rows: Row[] = [];
  let total = 0;
  let counted = 0;
  let step = 0;
  for (; step < to - from; step++) {
    if (rows.length >= enough && counted++ >= countsMost) break;
    if (step % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
    const at = query.recentFirst ? to - 1 - step : from + step;
    const isWanted = rows.length < query.limit;
    // Beyond the page they are only counted.
    const row = isWanted || !all.brief ? all.at(at) : undefined;
    const passes = walk.passes(at, row);
    if (!(typeof passes === "boolean" ? passes : yield* passes)) continue;
    total++;
    if (isWanted && row) rows.push(row);
  }
  return { total: knownTotal ?? total, rows, isAtLeast: knownTotal === undefined && step < to - from };
}

function foundBy(source: ItemSource, needle: Needle, query: ItemQuery): Walk {
  const isHidden = hiddenRegions(query);
  // As they are now: a search pauses, and the source may have gone to another branch meanwhile.
  const { rows } = source;
  const isListed = listedAt(rows, query);
  const sieve = source.sieve?.(needle);
  const holds = (row: Row | undefined) => row !== undefined && holdsMatch(source.text(row), needle, isHidden);
  // What leaves most rows out is asked first.
  const isFiltered = query.filter.role !== undefined || hasToolFilter(query.filter);
  return {
    passes: (at, row) => {
      if (isFiltered && !isListed(at, row)) return false;
      const said = sieve?.(at);
      if (said === false || !(isFiltered || isListed(at, row))) return false;
      return said ?? holds(row ?? rows.at(at));
    },
  };
}

function* listed(source: ItemSource, query: ItemQuery, page: Page<Row>): Generator<void, Page<ListedItem>> {
  const isHidden = hiddenRegions(query);
  const rows = page.rows.map((row) => ({ row, text: source.text(row), isHidden }));
  for (const { text } of rows) yield* text.points.measuring();
  return { total: page.total, rows };
}

/** Reads any number of sources; holds nothing but running counts. */
export class HistoryReader {
  readonly #counts = new HistoryCounts();

  /** `from` is the number of the window with which the rows begin, in their order. */
  listWindows(source: ItemSource, query: { limit: number; recentFirst: boolean; from?: number }): Page<ListedWindow> {
    const count = source.windows.length;
    const first = query.from ?? (query.recentFirst ? count : 1);
    const total = Math.max(0, query.recentFirst ? Math.min(first, count) : count - first + 1);
    const returned = Math.min(query.limit, total);
    const rows: ListedWindow[] = [];
    for (let step = 0; step < returned; step++) {
      const window = source.windows[query.recentFirst ? Math.min(first, count) - 1 - step : first - 1 + step];
      if (window) rows.push(this.#listedWindow(source, window));
    }
    return { total, rows };
  }

  listItems(source: ItemSource, query: ItemQuery): Page<ListedItem> {
    return atOnce(this.listing(source, query));
  }

  /** The same, with pauses; the items are measured. */
  *listing(source: ItemSource, query: ItemQuery): Generator<void, Page<ListedItem>> {
    const { filter } = query;
    // Without a window or a tool the count is kept up to date, so the walk ends with the page.
    const known = filter.windowId === undefined && filter.from === undefined && !hasToolFilter(filter);
    const total = known ? this.#counts.total(source, filter.role) : undefined;
    const walk = { passes: listedAt(source.rows, query), knownTotal: total };
    return yield* listed(source, query, yield* walkRows(source, query, walk));
  }

  /** The items that hold the needle. Beyond the page an item costs one `indexOf` up to its first match. */
  searchItems(source: ItemSource, needle: Needle, query: ItemQuery): Page<ListedItem> {
    return atOnce(this.searching(source, needle, query));
  }

  /** The same, with pauses. When the page is full, no more than `countOn` rows are gone through to count others. */
  *searching(source: ItemSource, needle: Needle, query: ItemQuery, countOn?: number): Generator<void, FoundPage> {
    const found = yield* walkRows(source, query, { ...foundBy(source, needle, query), countOn });
    return { ...(yield* listed(source, query, found)), isAtLeast: found.isAtLeast };
  }

  /** The first items of a search, for a caller that needs no total: the walk ends with the page. */
  findItems(source: ItemSource, needle: Needle, query: ItemQuery): readonly ListedItem[] {
    return atOnce(this.searching(source, needle, query, 0)).rows;
  }

  /** The item with this id, on this branch or an abandoned one; throws when it is not in that window. */
  readItem(source: ItemSource, itemId: string, inWindow: string): ReadItem {
    return atOnce(this.reading(source, itemId, inWindow));
  }

  /** The same, with pauses; the item is measured. */
  *reading(source: ItemSource, itemId: string, inWindow: string): Generator<void, ReadItem> {
    const item = yield* findingItem(source, itemId);
    if (!item)
      throw new TokenBudgetError(
        "unknown_item",
        `item_id ${shownValue(itemId)} is no item of ${source.agent}; history_list_items and history_search_contents give item ids.`,
      );
    const rightWindow = windowId(item.row.window);
    if (rightWindow !== inWindow)
      throw new TokenBudgetError(
        "wrong_window",
        `window_id ${shownValue(inWindow)} does not hold item ${shownValue(itemId)} of ${source.agent}; it belongs to window_id ${shownValue(rightWindow)}: call again with that.`,
      );
    return item;
  }

  #listedWindow(source: ItemSource, window: WindowRecord): ListedWindow {
    const { from, to } = source.rowRange(window);
    const { items, first, last } = this.#counts.window(source, window);
    const timeOf = (at: number) => (at >= from && at < to ? (source.rows.at(at)?.head.timestamp ?? null) : null);
    return {
      window,
      items,
      firstItemId: first?.head.id ?? null,
      lastItemId: last?.head.id ?? null,
      startedAt: timeOf(from),
      endedAt: timeOf(to - 1),
      current: window.number === source.windows.length,
    };
  }
}

/** The item with this id, on this branch or an abandoned one. */
export function itemNamed(source: ItemSource, itemId: string): ReadItem | undefined {
  return atOnce(findingItem(source, itemId));
}

/** The same, with pauses; the item is measured. */
function* findingItem(source: ItemSource, itemId: string): Generator<void, ReadItem | undefined> {
  const here = source.row(itemId);
  const row = here ?? (yield* elsewhere(source, itemId));
  if (!row) return undefined;
  const text = source.text(row);
  yield* text.points.measuring();
  return { row, text, branch: here ? "current" : "other" };
}

function* elsewhere(source: ItemSource, itemId: string): Generator<void, Row | undefined> {
  return source.findingElsewhere ? yield* source.findingElsewhere(itemId) : source.rowElsewhere(itemId);
}

/** The needle of a query; throws on an empty one, which every text holds. */
export function searchedFor(query: string): Needle {
  if (query === "")
    throw new TokenBudgetError(
      "invalid_argument",
      'query is ""; it must hold at least one character to search for. To see everything, list instead.',
    );
  return needleOf(query);
}
