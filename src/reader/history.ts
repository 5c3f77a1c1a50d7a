// The histories of a task's agents, in the shapes of a program.
import { shownValue, TokenBudgetError } from "../errors.ts";
import type { ItemQuery } from "../history/filter.ts";
import { HistoryReader, itemNamed, type ListedItem, searchedFor } from "../history/reader.ts";
import { MatchScan, type Needle, previewOf, regionsOf } from "../history/search.ts";
import type { ItemSource } from "../history/source.ts";
import { type Row, windowId, windowNumber } from "../log/branch.ts";
import { itemImages } from "../log/item.ts";
import {
  assertArgument,
  assertObject,
  FILLED_TEXT,
  fieldOf,
  oneOf,
  optional,
  POSITIVE_COUNT,
  YES_NO,
} from "../options.ts";
import type { ReadAccess } from "./access.ts";
import type {
  HistoriesReader,
  HistoryItem,
  HistoryPage,
  HistoryQuery,
  HistoryRegion,
  ReadHistoryItem,
} from "./types.ts";

const LIMIT_DEFAULT = 100;
const PREVIEW_CHARS_DEFAULT = 400;

const LIMIT = optional(POSITIVE_COUNT);
const WINDOW = fieldOf("the id of a window, such as w1", (value) => typeof value === "string" && !!windowNumber(value));

const HISTORY_FIELDS = {
  windowId: optional(WINDOW),
  role: optional(oneOf("user", "assistant", "tool", "system", "developer")),
  toolName: optional(FILLED_TEXT),
  recentFirst: optional(YES_NO),
  limit: LIMIT,
  from: optional(FILLED_TEXT),
  previewChars: LIMIT,
};

export function historyOf(access: ReadAccess): HistoriesReader {
  const reader = new HistoryReader();
  return {
    windows: async (agentName) => {
      assertArgument("history.windows", "agentName", agentName, FILLED_TEXT);
      const all = { limit: Number.POSITIVE_INFINITY, recentFirst: false };
      return access.history(agentName, (source) =>
        reader.listWindows(source, all).rows.map(({ window, ...rest }) => ({ windowId: window.id, ...rest })),
      );
    },
    list: async (agentName, query = {}) => {
      assertQuery("history.list", agentName, query);
      return access.history(agentName, (source) => {
        const { total, rows } = reader.listItems(source, itemQuery(source, query));
        return page(total, rows, query, ({ row, text, isHidden }, previewChars) => ({
          ...itemOf(source, row),
          preview: previewOf(text, isHidden, previewChars),
        }));
      });
    },
    read: async (agentName, itemId) => {
      assertArgument("history.read", "agentName", agentName, FILLED_TEXT);
      assertArgument("history.read", "itemId", itemId, FILLED_TEXT);
      return access.history(agentName, (source) => readItem(source, itemId));
    },
    search: async (agentName, text, query = {}) => {
      assertArgument("history.search", "text", text, FILLED_TEXT);
      assertQuery("history.search", agentName, query);
      const needle = searchedFor(text);
      return access.history(agentName, (source) => {
        const { total, rows } = reader.searchItems(source, needle, itemQuery(source, query));
        return page(total, rows, query, (item, previewChars) => ({
          ...itemOf(source, item.row),
          regions: regionsIn(item, needle, previewChars),
        }));
      });
    },
  };
}

function assertQuery(of: string, agentName: string, query: HistoryQuery): void {
  assertArgument(of, "agentName", agentName, FILLED_TEXT);
  assertObject(query, { of, what: "the query", fields: HISTORY_FIELDS });
}

/** One item more than the limit is asked for: the one to continue with. */
function itemQuery(source: ItemSource, query: HistoryQuery): ItemQuery {
  const { windowId: inWindow, role, toolName, from, limit = LIMIT_DEFAULT, recentFirst = false } = query;
  const first = from === undefined ? undefined : source.row(from);
  const isElsewhere = inWindow !== undefined && first !== undefined && windowId(first.window) !== inWindow;
  if (from !== undefined && (first === undefined || isElsewhere))
    throw noItem(source, from, inWindow, "Leave from out to begin at the end, or give next of the page before");
  const filter = { windowId: inWindow, role, toolName, from };
  return { filter, limit: limit + 1, recentFirst, runningCallId: undefined };
}

function noItem(source: ItemSource, id: string, inWindow: string | undefined, wayOut: string): TokenBudgetError {
  const where = inWindow === undefined ? source.agent : `${inWindow} of ${source.agent}`;
  return new TokenBudgetError("unknown_item", `${shownValue(id)} is no item of ${where}. ${wayOut}.`);
}

function page<T>(
  total: number,
  rows: readonly ListedItem[],
  { limit = LIMIT_DEFAULT, previewChars = PREVIEW_CHARS_DEFAULT }: HistoryQuery,
  shown: (item: ListedItem, previewChars: number) => T,
): HistoryPage<T> {
  const items = rows.slice(0, limit).map((item) => shown(item, previewChars));
  return { total, items, next: rows[limit]?.row.head.id ?? null };
}

function itemOf(source: ItemSource, row: Row): HistoryItem {
  const { entry, head, window } = row;
  return {
    itemId: head.id,
    windowId: windowId(window),
    role: head.role,
    timestamp: head.timestamp,
    tools: head.calls.map(({ name }) => name),
    chars: source.text(row).points.length,
    images: itemImages(entry).length,
  };
}

function regionsIn({ text, isHidden }: ListedItem, needle: Needle, previewChars: number): HistoryRegion[] {
  const scan = new MatchScan(text, needle, isHidden);
  const regions = regionsOf(text.points, scan, needle, previewChars);
  return regions.map(({ text: shown, offset_chars: offset, matches }) => ({ text: shown, offset, matches }));
}

function readItem(source: ItemSource, itemId: string): ReadHistoryItem {
  const item = itemNamed(source, itemId);
  if (item === undefined)
    throw noItem(source, itemId, undefined, "history.list and history.search give the ids of items");
  const { row, text, branch } = item;
  return {
    ...itemOf(source, row),
    text: text.points.text,
    imageData: itemImages(row.entry).map(({ mimeType, data }) => ({ mimeType, data })),
    branch,
  };
}
