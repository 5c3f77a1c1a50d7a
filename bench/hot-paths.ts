// The hot paths that a long session goes through often, each against the best that could be had.
import { closeSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import type { ItemQuery } from "../src/history/filter.ts";
import { liveSource } from "../src/history/live.ts";
import { HistoryReader } from "../src/history/reader.ts";
import { MatchScan, needleOf } from "../src/history/search.ts";
import type { ItemSource } from "../src/history/source.ts";
import { blocksOf, type LogEntry, type LogMessage } from "../src/host/entries.ts";
import { BranchIndex } from "../src/log/branch.ts";
import { NotesStore } from "../src/notes/store.ts";
import { historyTools } from "../src/tools/history.ts";
import { projectRequest } from "../src/window/projection.ts";
import { ABSENT_COMMON_START, ABSENT_WORD, COMMON_WORD, GeneratedLog, mixedText } from "./generated.ts";
import type { Group, Made } from "./group.ts";
import { journalGroups } from "./journal.ts";
import type { Race } from "./measure.ts";
import { memoryGroups } from "./memory.ts";
import { processGroups } from "./processes.ts";
import { storedGroups } from "./stored.ts";

type Make = () => Made;

const PAGE = 20;
const QUERY: ItemQuery = { filter: {}, limit: PAGE, recentFirst: false, runningCallId: undefined };
const GIGABYTE = 2 ** 30;
/** A generated session of 100,000 items, its bytes once more in one buffer, and room to work. */
const LARGE_NEEDS_BYTES = 3 * GIGABYTE;
const LARGE = 100_000;
const MEDIUM = 10_000;
const SMALL = 1_000;

function indexed(log: GeneratedLog): { branch: BranchIndex; source: ItemSource } {
  const branch = new BranchIndex();
  branch.catchUp(log);
  return { branch, source: liveSource("/root", branch, log) };
}

function bytesOf(source: ItemSource): Buffer {
  return Buffer.concat(source.rows.map((row) => Buffer.from(`${source.text(row).points.text}\n`)));
}

function countInBuffer(bytes: Buffer, needle: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) count++;
  return count;
}

/** Every match of every item, with its code points; what surely holds none is passed over, as a search does. */
function countInItems(source: ItemSource, word: string): number {
  const needle = needleOf(word);
  const sieve = source.sieve?.(needle);
  let count = 0;
  for (let at = 0; at < source.rows.length; at++) {
    const row = sieve?.(at) === false ? undefined : source.rows.at(at);
    if (!row) continue;
    const scan = new MatchScan(source.text(row), needle, () => false);
    while (scan.next()) count++;
  }
  return count;
}

function search(items: number): Make {
  return () => {
    const { source } = indexed(new GeneratedLog(items));
    const bytes = bytesOf(source);
    const reader = new HistoryReader();
    const small = indexed(new GeneratedLog(1_000)).source;
    const size = `${items / 1_000}k items, ${Math.round(bytes.length / 1e6)} MB`;
    const scan = (word: string) => () => reader.searchItems(source, needleOf(word), QUERY).total;
    const absent = (word: string, what: string): Race => {
      const needle = Buffer.from(word);
      return {
        name: `search, ${what}, ${size}`,
        against: "Buffer.indexOf over the same bytes",
        goal: 1.5,
        ours: scan(word),
        reference: () => bytes.indexOf(needle),
      };
    };
    const common = Buffer.from(COMMON_WORD);
    if (countInItems(source, COMMON_WORD) !== countInBuffer(bytes, common)) throw new Error("the counts differ");
    const toolPage = (from: ItemSource) => {
      const tools = toolsOf(from);
      return () => tools.history_search_contents({ query: COMMON_WORD }, { id: "none", signal: undefined });
    };
    const firstPage = (from: ItemSource) => () => reader.findItems(from, needleOf(COMMON_WORD), QUERY).length;
    return {
      races: [
        absent(ABSENT_WORD, "nothing found"),
        absent(ABSENT_COMMON_START, "nothing found, common first character"),
        {
          name: `search, all hits of a common word with coordinates, ${size}`,
          against: "Buffer.indexOf, all hits",
          goal: 1.3,
          ours: () => countInItems(source, COMMON_WORD),
          reference: () => countInBuffer(bytes, common),
        },
        {
          name: `search, first page of a common word, ${size}`,
          against: "the full scan",
          goal: 0.01,
          ours: firstPage(source),
          reference: scan(ABSENT_WORD),
          times: { ours: 50, reference: 1 },
        },
        {
          name: `search, first page of a common word, ${items / 1_000}k items`,
          against: "the same, 1k items",
          goal: 1.5,
          ours: firstPage(source),
          reference: firstPage(small),
          times: { ours: 200, reference: 200 },
        },
        {
          name: `search, first page by the tool, ${size}`,
          against: "the full scan",
          goal: 0.01,
          ours: toolPage(source),
          reference: scan(ABSENT_WORD),
          times: { ours: 20, reference: 1 },
        },
        {
          name: `search, first page by the tool, ${items / 1_000}k items`,
          against: "the same, 1k items",
          goal: 1.5,
          ours: toolPage(source),
          reference: toolPage(small),
          times: { ours: 20, reference: 20 },
        },
      ],
    };
  };
}

const LIMITS = { maxToolOutputChars: 12_000, historyItemPreviewChars: 400 };

function toolsOf(source: ItemSource) {
  return historyTools({ sourceOf: () => source, limits: () => LIMITS, takesImages: () => true });
}

function listing(items: number): Make {
  return () => {
    const [large, small] = [items, 1_000].map((count) => {
      const tools = toolsOf(indexed(new GeneratedLog(count)).source);
      return () => tools.history_list_items({ limit: 50 }, { id: "none", signal: undefined });
    });
    if (!large || !small) throw new Error("two sessions were made");
    return {
      races: [
        {
          name: `history_list_items, a page of 50, ${items / 1_000}k items`,
          against: "the same, 1k items",
          goal: 1.5,
          ours: large,
          reference: small,
          times: { ours: 20, reference: 20 },
        },
      ],
    };
  };
}

const LONG_ITEM_CODE_POINTS = 5_000_000;

function reading(): Made {
  const text = mixedText(LONG_ITEM_CODE_POINTS);
  const entry = {
    type: "message",
    id: "long",
    parentId: null,
    timestamp: new Date(0).toISOString(),
    message: { role: "user", content: [{ type: "text", text }], timestamp: 0 },
  } as unknown as LogEntry;
  const branch = new BranchIndex();
  const log = { leafId: () => "long", entry: (id: string) => (id === "long" ? entry : undefined) };
  branch.catchUp(log);
  const tools = toolsOf(liveSource("/root", branch, log));
  const where = { item_id: "long", window_id: "w1", offset_chars: LONG_ITEM_CODE_POINTS - 1_000, limit_chars: 1_000 };
  return {
    races: [
      {
        name: "history_read_item, 1,000 characters at the end of a 5 MB item",
        against: "Array.from(item)",
        goal: 0.005,
        ours: () => tools.history_read_item(where, { id: "none", signal: undefined }),
        reference: () => Array.from(text).length,
        times: { ours: 50, reference: 1 },
      },
    ],
  };
}

function projecting(): Made {
  const identity = { text: "[context] agent /root, window w1, root task bench.", timestamp: 0 };
  return {
    races: [900, 5_000].map((count) => {
      const log = new GeneratedLog(count);
      const { branch } = indexed(log);
      const messages = log.entries.map((entry) => entry.message as LogMessage);
      const input = { branch, identity, cancelled: new Set<string>() };
      const { sent } = projectRequest({ ...input, messages, sent: undefined });
      // The host hands over a copy of its own each time.
      let copies = messages;
      return {
        name: `context callback, ${count.toLocaleString("en-US")} messages`,
        against: "the host's structuredClone of them",
        goal: 0.1,
        prepare: () => {
          copies = structuredClone(messages);
        },
        ours: () => projectRequest({ ...input, messages: copies, sent }).messages.length,
        reference: () => structuredClone(messages).length,
      };
    }),
  };
}

const CATCH_UPS = 60;
/** Untimed before each sample, so that neither side starts cold. */
const WARM_UPS = 5;
const CATCH_UP_ENTRIES = 2 * (CATCH_UPS + WARM_UPS);

/** An index over the first `items` entries of a longer log; each call shows it two more, which the host has just written. */
function catchUpOf(items: number) {
  const log = new GeneratedLog(items);
  for (let i = 0; i < CATCH_UP_ENTRIES; i++) log.say("assistant", "Done.");
  let shown = items;
  const source = { leafId: () => log.entries[shown - 1]?.id ?? null, entry: (id: string) => log.entry(id) };
  let branch = new BranchIndex();
  branch.catchUp(source);
  const next = () => {
    shown += 2;
    return branch.catchUp(source);
  };
  return {
    next,
    restart: () => {
      shown = items;
      branch = new BranchIndex();
      branch.catchUp(source);
      for (let i = 0; i < WARM_UPS; i++) next();
      // What has just been written is near the processor, however long the log is.
      const written = log.entries.slice(shown, shown + 2 * CATCH_UPS);
      return written.filter(({ id, message }) => log.entry(id)?.parentId !== null && blocksOf(message?.content)[0]);
    },
  };
}

function catchingUp(items: number): Make {
  return () => {
    const [large, small] = [catchUpOf(items), catchUpOf(100)];
    return {
      races: [
        {
          name: `branch index, 2 new entries, ${items / 1_000}k entries`,
          against: "the same, 100 entries",
          goal: 1.5,
          ours: large.next,
          reference: small.next,
          prepare: () => [large.restart(), small.restart()],
          times: { ours: CATCH_UPS, reference: CATCH_UPS },
        },
      ],
    };
  };
}

const NOTE_BYTES = 8_192;

function notes(): Made {
  const directory = mkdtempSync(join(tmpdir(), "pi-token-budget-bench-"));
  const store = new NotesStore({ root: join(directory, "notes"), agent: "/root" });
  const text = "n".repeat(NOTE_BYTES);
  const target = join(directory, "by-hand.md");
  return {
    races: [
      {
        name: "note write: lock, read, commit, unlock (8 KB)",
        against: "write, fsync, rename by hand",
        goal: 2.5,
        waitsFor: "disk",
        ours: () => store.write("checkpoint.md", text),
        reference: () => {
          const temporary = `${target}.tmp`;
          const file = openSync(temporary, "w");
          writeSync(file, text);
          fsyncSync(file);
          closeSync(file);
          renameSync(temporary, target);
        },
      },
    ],
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export interface Groups {
  readonly groups: readonly Group[];
  /** What was left out, and why. */
  readonly leftOut: string | undefined;
}

/** All rows, with sessions of at most so many items. */
export function hotPaths(itemsMax: number = LARGE): Groups {
  const isRoomy = freemem() > LARGE_NEEDS_BYTES;
  const large = Math.min(itemsMax, isRoomy ? LARGE : MEDIUM);
  const sizes = [...new Set([SMALL, MEDIUM, LARGE].map((size) => Math.min(size, large)))];
  const group = (topic: string, make: Make): Group => ({ topic, make });
  return {
    groups: [
      ...sizes.slice(1).map((size) => group("search", search(size))),
      group("listing", listing(large)),
      group("reading", reading),
      group("context", projecting),
      group("index", catchingUp(large)),
      ...memoryGroups(large),
      group("notes", notes),
      ...storedGroups(),
      ...journalGroups(large),
      ...processGroups(sizes),
    ],
    leftOut: isRoomy ? undefined : "sessions of 100,000 items: less than 3 GB of memory is free",
  };
}
