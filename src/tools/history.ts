// The four history tools: ask the reader, shape the answer, and nothing else. They never write, and only a read shows more of
// an image than its kind and size.

import type { ItemQuery } from "../history/filter.ts";
import { HistoryReader, type ListedItem, type ListedWindow, searchedFor } from "../history/reader.ts";
import { MatchScan, type Needle, PIECE_UNITS, previewOf, regionsOf, shownMatchesMax } from "../history/search.ts";
import type { ItemSource } from "../history/source.ts";
import type { ImageBlock } from "../host/entries.ts";
import { windowId, windowNumber } from "../log/branch.ts";
import { type ItemRole, imageBytes, itemImages } from "../log/item.ts";
import { typedHead } from "../log/pasted.ts";
import { leftOutHint } from "../prompts.ts";
import { inSlices } from "../storage/slices.ts";
import { shorten } from "../storage/text.ts";
import type { Execute, ToolCall } from "./define.ts";
import { usedLimit } from "./define.ts";
import { type JsonRow, type LeftOut, listOutput, readOutput } from "./output.ts";
import { TOOL_SPECS, type ToolName } from "./specs.ts";

/** Lists and searches stay below this, however large outputs may be. */
export const HISTORY_LIST_MAX_CODE_POINTS = 6_000;

/** A page costs a page: beyond a full one, matches are counted in this many more items. */
const COUNTED_BEYOND_PAGE_ROWS = 800;

/** Kinds of images named in a row, and how long a kind may be: both come from the log and may be anything. */
const IMAGE_TYPES_MAX = 3;
const IMAGE_TYPE_MAX_CODE_POINTS = 40;

export interface HistoryLimits {
  readonly maxToolOutputChars: number;
  readonly historyItemPreviewChars: number;
}

export interface HistoryToolDeps {
  /** The history of an agent, the own one without a name; throws when it may not or cannot be read. */
  readonly sourceOf: (agentName: string | undefined) => ItemSource | Promise<ItemSource>;
  readonly limits: () => HistoryLimits;
  /** Whether the current model is given images. */
  readonly takesImages: () => boolean;
}

type HistoryTool = Extract<ToolName, `history_${string}`>;

export type HistoryTools = { readonly [N in HistoryTool]: Execute<N> };

interface FilterParams {
  readonly window_id?: string;
  readonly role?: ItemRole;
  readonly tool_namespace?: string;
  readonly tool_name?: string;
  readonly recent_first?: boolean;
}

/** A parameter that says which row to begin with, as hints give it: `w3 from 1a2b3c4d`, `from w33`. */
const FROM_ITEM = /^(?:(w\d+) )?from (.+)$/s;
const FROM_WINDOW = /^(?:(\S+) )?from (w\d+)$/;

/** `value` with the row that comes next: of the same window or agent, or of all. */
function goingOn(value: string | undefined, next: string): string {
  return value === undefined ? `from ${next}` : `${value} from ${next}`;
}

function windowFilter(given: string | undefined): { readonly windowId?: string | undefined; readonly from?: string } {
  const [, windowId, from] = FROM_ITEM.exec(given ?? "") ?? [];
  return from === undefined ? { windowId: given } : { windowId, from };
}

function windowsOf(given: string | undefined): { readonly agentName?: string | undefined; readonly from?: number } {
  const [, agentName, id] = FROM_WINDOW.exec(given ?? "") ?? [];
  const from = id === undefined ? undefined : windowNumber(id);
  return from === undefined ? { agentName: given } : { agentName, from };
}

/** How to continue a list of items, and what else makes it shorter. */
function itemsHint(params: FilterParams, limit: number, narrowing: string): (left: LeftOut<ListedItem>) => string {
  const { windowId } = windowFilter(params.window_id);
  return ({ next, limitHelps, isShort }) =>
    leftOutHint({
      isShort,
      goOn: next && { field: "window_id", value: goingOn(windowId, next.row.head.id) },
      raise: limitHelps && limit < TOOL_SPECS.history_list_items.params.limit.maximum ? ["limit"] : [],
      narrowing,
    });
}

function filtersOf({ window_id, role, tool_namespace, tool_name }: FilterParams): JsonRow {
  return { window_id, role, tool_namespace, tool_name };
}

/** One row more than the limit is asked for: the one to continue with. */
function queryOf(params: FilterParams, limit: number, call: ToolCall): ItemQuery {
  return {
    filter: {
      ...windowFilter(params.window_id),
      role: params.role,
      toolNamespace: params.tool_namespace,
      toolName: params.tool_name,
    },
    limit: limit + 1,
    recentFirst: params.recent_first ?? false,
    runningCallId: call.id,
  };
}

function windowRow({ window, items, firstItemId, lastItemId, startedAt, endedAt, current }: ListedWindow): JsonRow {
  return {
    window_id: window.id,
    items,
    first_item_id: firstItemId,
    last_item_id: lastItemId,
    started_at: startedAt,
    ended_at: endedAt,
    current,
  };
}

/** The description of an item's images; undefined when it has none. */
function describedImages(images: readonly ImageBlock[]): JsonRow | undefined {
  if (images.length === 0) return undefined;
  const types = [...new Set(images.map((image) => shorten(image.mimeType, IMAGE_TYPE_MAX_CODE_POINTS)))];
  return {
    count: images.length,
    types: types.slice(0, IMAGE_TYPES_MAX),
    bytes: images.reduce((sum, image) => sum + imageBytes(image), 0),
  };
}

function toolLink({ row }: ListedItem): JsonRow {
  const [tool, ...others] = row.head.calls;
  if (!tool) return {};
  if (others.length > 0) return { tool_calls: row.head.calls.length };
  return { tool_namespace: tool.namespace, tool_name: tool.name };
}

/** What a person sent, with nothing hidden in it: a preview shows what was typed, not what was pasted before it. */
function isPlainRequest({ row, text, isHidden }: ListedItem): boolean {
  return row.head.role === "user" && !text.regions.some(isHidden);
}

function itemRow(item: ListedItem, previewChars: number): JsonRow {
  const { row, text, isHidden } = item;
  const images = describedImages(itemImages(row.entry));
  return {
    item_id: row.head.id,
    window_id: windowId(row.window),
    role: row.head.role,
    ...toolLink(item),
    chars: text.points.length,
    ...(images && { images }),
    preview: isPlainRequest(item) ? typedHead(text.points.text, previewChars) : previewOf(text, isHidden, previewChars),
  };
}

/** A found item whose matches are searched once, however often its row is sized. */
interface FoundRow extends ListedItem {
  readonly scan: MatchScan;
}

function foundRow({ row, text, scan }: FoundRow, needle: Needle, previewChars: number): JsonRow {
  const images = describedImages(itemImages(row.entry));
  return {
    item_id: row.head.id,
    window_id: windowId(row.window),
    role: row.head.role,
    chars: text.points.length,
    ...(images && { images }),
    regions: regionsOf(text.points, scan, needle, previewChars),
  };
}

/** Long items are searched before they are laid out: as many matches as their rows can show, or all there are. */
function* findingShown(rows: readonly FoundRow[], previewChars: number): Generator<void, void> {
  for (const { text, scan } of rows)
    if (text.points.text.length > PIECE_UNITS) yield* scan.finding(shownMatchesMax(previewChars));
}

/** Images come with the page that begins the item; every page's header mentions them. */
function readImages(images: readonly ImageBlock[], offset: number, takesImages: boolean) {
  const described = describedImages(images);
  if (!described) return { attached: [], header: undefined };
  const count = images.length === 1 ? "1 image" : `${images.length} images`;
  if (!takesImages)
    return { attached: [], header: { ...described, note: `this model takes no images: ${count} not attached` } };
  if (offset > 0) return { attached: [], header: { ...described, note: `${count} attached at offset_chars 0` } };
  return { attached: images, header: described };
}

export function historyTools(deps: HistoryToolDeps): HistoryTools {
  const reader = new HistoryReader();
  const listBound = () => Math.min(deps.limits().maxToolOutputChars, HISTORY_LIST_MAX_CODE_POINTS);
  return {
    history_list_windows: async (params) => {
      const { agentName, from } = windowsOf(params.agent_name);
      const source = await deps.sourceOf(agentName);
      const limit = usedLimit(TOOL_SPECS.history_list_windows.params.limit, params.limit);
      const query = { limit: limit + 1, recentFirst: params.recent_first ?? false, ...(from && { from }) };
      const { total, rows } = reader.listWindows(source, query);
      return listOutput({
        scope: { agent: source.agent, ...(from && { from: windowId(from) }) },
        total,
        limit,
        rows: rows.slice(0, limit),
        beyond: rows[limit],
        render: windowRow,
        hint: ({ next, limitHelps, isShort }) =>
          leftOutHint({
            isShort,
            goOn: next && { field: "agent_name", value: goingOn(agentName, next.window.id) },
            raise: limitHelps && limit < TOOL_SPECS.history_list_windows.params.limit.maximum ? ["limit"] : [],
            narrowing: undefined,
          }),
        bound: listBound(),
      });
    },

    history_list_items: async (params, call) => {
      const source = await deps.sourceOf(params.agent_name);
      const limit = usedLimit(TOOL_SPECS.history_list_items.params.limit, params.limit);
      const { total, rows } = await inSlices(reader.listing(source, queryOf(params, limit, call)), call.signal);
      return listOutput({
        scope: { agent: source.agent, ...filtersOf(params) },
        total,
        limit,
        rows: rows.slice(0, limit),
        beyond: rows[limit],
        render: itemRow,
        previewChars: params.max_chars_per_item ?? deps.limits().historyItemPreviewChars,
        hint: itemsHint(params, limit, "narrow with window_id, role or tool_name"),
        bound: listBound(),
      });
    },

    history_read_item: async (params, call) => {
      const source = await deps.sourceOf(params.agent_name);
      const reading = reader.reading(source, params.item_id, params.window_id);
      const { row, text, branch } = await inSlices(reading, call.signal);
      const offset = params.offset_chars ?? 0;
      const { attached, header } = readImages(itemImages(row.entry), offset, deps.takesImages());
      const answer = readOutput({
        header: { agent: source.agent, window_id: windowId(row.window), item_id: row.head.id, role: row.head.role },
        footer: { images: header, branch: branch === "other" ? branch : undefined },
        points: text.points,
        offset,
        limit: params.limit_chars,
        bound: deps.limits().maxToolOutputChars,
      });
      return { ...answer, images: attached };
    },

    history_search_contents: async (params, call) => {
      const needle = searchedFor(params.query);
      const source = await deps.sourceOf(params.agent_name);
      const limit = usedLimit(TOOL_SPECS.history_search_contents.params.limit, params.limit);
      const search = reader.searching(source, needle, queryOf(params, limit, call), COUNTED_BEYOND_PAGE_ROWS);
      const { total, rows, isAtLeast } = await inSlices(search, call.signal);
      const found = rows.map((item): FoundRow => ({ ...item, scan: new MatchScan(item.text, needle, item.isHidden) }));
      const previewChars = Math.min(deps.limits().historyItemPreviewChars, listBound());
      await inSlices(findingShown(found, previewChars), call.signal);
      return listOutput({
        scope: { agent: source.agent, query: params.query, ...filtersOf(params) },
        total,
        isAtLeast,
        limit,
        rows: found.slice(0, limit),
        beyond: found[limit],
        render: (item, chars) => foundRow(item, needle, chars),
        previewChars,
        hint: itemsHint(params, limit, "use a longer query, or narrow with window_id, role or tool_name"),
        bound: listBound(),
      });
    },
  };
}
