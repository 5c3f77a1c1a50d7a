// What every item source must do, whatever it reads from. The live branch and the journal pass this one suite; random
// trees are compared with an index that was read in one go.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemQuery } from "../../src/history/filter.ts";
import { HistoryReader, searchedFor } from "../../src/history/reader.ts";
import { MatchScan, regionsOf } from "../../src/history/search.ts";
import type { ItemSource } from "../../src/history/source.ts";
import type { EntrySource } from "../../src/host/entries.ts";
import type { Row } from "../../src/log/branch.ts";
import { itemImages } from "../../src/log/item.ts";
import { call, image, openerDetails, TestLog, text } from "../log/branches.ts";
import { anyText } from "../log/texts.ts";
import { historyCaller } from "../tools/calls.ts";
import { sourceOf } from "./sources.ts";
import { apply, moves } from "./trees.ts";

/** Makes a source over a log; each call of the result brings it up to the log. */
export type FollowLog = (log: EntrySource) => () => Promise<ItemSource>;

const SEED = 20_260_301;
const TREES = 40;
/** So many rows give a search something to find. */
const PIECES_OF_ROWS = 16;
const reader = new HistoryReader();

/** Everything there is to say of a row. */
function pictureOfRow(source: ItemSource, row: Row | undefined) {
  if (!row) return undefined;
  const { head, entry, window } = row;
  const { id, role, timestamp, calls, toolCallId, internal, fromUser } = head;
  const { points, regions } = source.text(row);
  return {
    head: { id, role, timestamp, calls, toolCallId, internal, fromUser },
    window,
    entry: JSON.stringify(entry),
    text: points.text,
    chars: points.length,
    regions: regions.map(({ start, end, internal: hidden, call: block }) => ({
      start,
      end,
      hidden,
      name: block?.name,
    })),
    images: itemImages(entry),
  };
}

function pictureOf(source: ItemSource) {
  return {
    rows: [...source.rows].map((row) => pictureOfRow(source, row)),
    windows: source.windows.map((window) => {
      const { id, number, opener, openerEntryId, writtenNumber, firstRow } = window;
      return { id, number, opener, openerEntryId, writtenNumber, firstRow, ...source.rowRange(window) };
    }),
  };
}

function query(more: Partial<ItemQuery> = {}): ItemQuery {
  return { filter: {}, limit: 1_000, recentFirst: false, runningCallId: undefined, ...more };
}

function found(source: ItemSource, wanted: string, more: Partial<ItemQuery> = {}) {
  const needle = searchedFor(wanted);
  const page = reader.searchItems(source, needle, query(more));
  return page.rows.map(({ row, text: { points }, isHidden }) => ({
    id: row.head.id,
    regions: regionsOf(points, new MatchScan(source.text(row), needle, isHidden), needle, 400),
  }));
}

/** Queries that a search over bytes may get wrong, and pieces of what the log says. */
function queriesFor(source: ItemSource): string[] {
  const step = Math.ceil(source.rows.length / PIECES_OF_ROWS);
  const pieces = [...source.rows].flatMap((row, at) => {
    if (at % step !== 0) return [];
    const all = source.text(row).points.text;
    const from = (at * 7) % Math.max(1, all.length);
    return [all.slice(from, from + 1), all.slice(from, from + 3), all.slice(from, from + 12)];
  });
  const fixed = [
    "n",
    "\n",
    "\\",
    '"',
    "u0000",
    "00",
    "]",
    "]\n",
    " ",
    "[tool_call ",
    "l bash",
    "bash c",
    "null",
    "$ ",
    "\n[",
    "[section ",
    "not understood",
  ];
  return [...new Set([...fixed, "\ud83d", "\ude00", "😀", "é", "call", "[exit 0]", ...pieces])].filter(
    (piece) => piece !== "",
  );
}

const FILTERS: readonly Partial<ItemQuery>[] = [
  {},
  { recentFirst: true, limit: 3 },
  { filter: { toolNamespace: "notes" } },
  { filter: { toolName: "bash" } },
  { filter: { windowId: "w2" } },
  { filter: { role: "tool" } },
  { filter: { role: "system" } },
];

/** Whether two sources say the same to every question. */
export function expectSame(actual: ItemSource, expected: ItemSource, everyId: Iterable<string>): void {
  expect(pictureOf(actual)).toEqual(pictureOf(expected));
  for (const filter of FILTERS) {
    const listed = reader.listItems(actual, query(filter));
    const wanted = reader.listItems(expected, query(filter));
    expect(listed.total).toBe(wanted.total);
    expect(listed.rows.map(({ row }) => row.head.id)).toEqual(wanted.rows.map(({ row }) => row.head.id));
  }
  const windows = (source: ItemSource) =>
    reader.listWindows(source, { limit: 500, recentFirst: false }).rows.map(({ window: _window, ...row }) => row);
  expect(windows(actual)).toEqual(windows(expected));
  for (const [at, wanted] of queriesFor(expected).entries()) {
    const filter = FILTERS[at % FILTERS.length];
    expect(found(actual, wanted), JSON.stringify(wanted)).toEqual(found(expected, wanted));
    expect(found(actual, wanted, filter), JSON.stringify(wanted)).toEqual(found(expected, wanted, filter));
  }
  for (const id of everyId) {
    const here = pictureOfRow(actual, actual.row(id));
    expect(here, id).toEqual(pictureOfRow(expected, expected.row(id)));
    expect(pictureOfRow(actual, here ? undefined : actual.rowElsewhere(id)), id).toEqual(
      pictureOfRow(expected, here ? undefined : expected.rowElsewhere(id)),
    );
  }
}

/** Two windows with a mixed batch, an image, and a branch that was left after it was read. */
async function story(follow: FollowLog) {
  const log = new TestLog();
  const upToDate = follow(log);
  const asked = log.user([text("look at this 😀"), image("pixels", "image/png")]);
  const mixed = log.assistant(
    text("I look"),
    call("c1", "bash", { command: 'grep "x\\n"' }),
    call("c2", "notes_write_file"),
  );
  const ran = log.result("c1", "bash", "漢字\n\ud83d lone");
  const noted = log.result("c2", "notes_write_file", "saved");
  const left = log.user("a question that is taken back");
  await upToDate();
  log.goTo(noted);
  const opening = log.assistant(call("c3", "new_context"), call("c4", "read"));
  const opened = log.result("c3", "new_context", "opened", openerDetails(2));
  const batch = log.result("c4", "read", "same batch");
  const next = log.user("next");
  return {
    log,
    upToDate,
    source: await upToDate(),
    ids: { asked, mixed, ran, noted, left, opening, opened, batch, next },
  };
}

export function itemSourceConformance(name: string, follow: FollowLog): void {
  describe(`${name} as an item source`, () => {
    test("has one empty window before anything was said", async () => {
      const source = await follow(new TestLog())();
      expect(source.rows.length).toBe(0);
      expect(source.rows.at(0)).toBeUndefined();
      expect(source.windows.map(({ id, firstRow }) => ({ id, firstRow }))).toEqual([{ id: "w1", firstRow: 0 }]);
      expect(source.rowRange(source.windows[0] as never)).toEqual({ from: 0, to: 0 });
      expect(source.row("00000001")).toBeUndefined();
      expect(source.rowElsewhere("00000001")).toBeUndefined();
    });

    test("has the items of a branch in their windows, the opener's batch in the one it closes", async () => {
      const { source, ids } = await story(follow);
      const { asked, mixed, ran, noted, opening, opened, batch, next } = ids;
      const first = [asked, mixed, ran, noted, opening, opened, batch];
      expect(source.rows.map(({ head, window }) => [head.id, window])).toEqual([
        ...first.map((id) => [id, 1]),
        [next, 2],
      ]);
      expect(source.windows.map((window) => [window.id, source.rowRange(window)])).toEqual([
        ["w1", { from: 0, to: 7 }],
        ["w2", { from: 7, to: 8 }],
      ]);
      expect(source.windows[1]).toMatchObject({ openerEntryId: opened, opener: { details: openerDetails(2) } });
    });

    test("gives texts and images back exactly", async () => {
      const { source, ids } = await story(follow);
      const row = source.row(ids.asked) as Row;
      expect(source.text(row).points.text).toBe("look at this 😀");
      expect(itemImages(row.entry)).toEqual([image("pixels", "image/png")]);
      expect(source.text(source.row(ids.ran) as Row).points.text).toBe("漢字\n\ud83d lone");
      expect(source.text(source.row(ids.mixed) as Row).points.text).toBe(
        'I look\n[tool_call bash c1]\n{"command":"grep \\"x\\\\n\\""}\n[tool_call notes_write_file c2]\n{}',
      );
    });

    test("finds what is in a text and nothing else", async () => {
      const { source, ids } = await story(follow);
      const idsOf = (wanted: string) => found(source, wanted).map(({ id }) => id);
      expect(idsOf("look")).toEqual([ids.asked, ids.mixed]);
      expect(idsOf("[tool_call bash c1]\n{")).toEqual([ids.mixed]);
      expect(idsOf('\\"x\\\\n')).toEqual([ids.mixed]);
      expect(idsOf("\ud83d")).toEqual([ids.ran]);
      expect(idsOf("taken back")).toEqual([]);
      expect(idsOf("toolResult")).toEqual([]);
      expect(idsOf("image/png")).toEqual([]);
      expect(idsOf("cGl4ZWxz")).toEqual([]);
    });

    test("reads items of a branch that was left, in the window they have there", async () => {
      const { source, ids } = await story(follow);
      expect(source.row(ids.left)).toBeUndefined();
      expect(source.rowElsewhere(ids.left)).toMatchObject({ window: 1 });
      expect(source.rowElsewhere("ffffffff")).toBeUndefined();
      const run = historyCaller(source);
      const answer = await run("history_read_item", { item_id: ids.left, window_id: "w1" });
      expect(answer.header()).toMatchObject({ branch: "other" });
      expect(answer.body()).toBe("a question that is taken back");
    });

    test("follows the branch as it grows and as it is left", async () => {
      const { log, source, upToDate, ids } = await story(follow);
      expect(source.rows.length).toBe(8);
      const grown = log.assistant(text("grown"));
      expect((await upToDate()).rows.at(8)?.head.id).toBe(grown);
      log.goTo(ids.left);
      const left = await upToDate();
      expect(left.rows.map(({ head }) => head.id).at(-1)).toBe(ids.left);
      expect(left.windows).toHaveLength(1);
      expect(left.rowElsewhere(ids.next)).toMatchObject({ window: 2 });
      log.goTo(null);
      expect((await upToDate()).rows.length).toBe(0);
    });

    test("reads every item back in pages", async () => {
      const log = new TestLog();
      for (const value of fc.sample(anyText, { numRuns: 40, seed: SEED })) log.user([text(value), image(value)]);
      const source = await follow(log)();
      const run = historyCaller(source);
      for (const row of source.rows) {
        let rebuilt = "";
        for (let offset: unknown = 0; offset !== undefined; ) {
          const place = { item_id: row.head.id, window_id: "w1", offset_chars: offset, limit_chars: 17 };
          const answer = await run("history_read_item", place);
          if (offset === 0) expect(answer.images).toEqual(itemImages(log.entry(row.head.id) as never));
          rebuilt += answer.body();
          offset = answer.header().next_offset_chars;
        }
        expect(rebuilt).toBe(source.text(row).points.text);
      }
    });

    test("says of any tree what an index says that reads it in one go", { timeout: 300_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(moves, async (path) => {
          const log = new TestLog();
          const upToDate = follow(log);
          for (const move of path) {
            apply(log, move);
            await upToDate();
          }
          expectSame(
            await upToDate(),
            sourceOf(log),
            log.entries.map(({ id }) => id),
          );
        }),
        { seed: SEED, numRuns: TREES },
      );
    });
  });
}
