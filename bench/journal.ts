// The journal: what a sync costs one's own session, and what reading costs another agent. Real files in a folder of their
// own; what waits for the disk is timed by the clock on the wall.
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ItemQuery } from "../src/history/filter.ts";
import { HistoryReader, searchedFor } from "../src/history/reader.ts";
import type { EntrySource, LogEntry } from "../src/host/entries.ts";
import { journalFile } from "../src/journal/journal.ts";
import { PIECE_BYTES } from "../src/journal/plan.ts";
import { JournalReader } from "../src/journal/reader.ts";
import { FLUSH_BYTES, JournalWriter } from "../src/journal/writer.ts";
import { COMMON_WORD, GeneratedLog } from "./generated.ts";
import type { Group, Made } from "./group.ts";
import type { Race } from "./measure.ts";

const AGENT = "/root/other";
const SMALL = 100;
const PAGE_SMALL = 1_000;
/** Syncs of one timed sample. */
const SYNCS = 10;
/** Enough for every sample of two runs. */
const SPARE = 30_000;
const WIDE_WORD = "税率";
const NEWEST: ItemQuery = { filter: {}, limit: 50, recentFirst: true, runningCallId: undefined };

/** The first so many entries of a longer session; it grows two at a time. */
class Growing implements EntrySource {
  readonly #log: GeneratedLog;
  #shown: number;

  constructor(items: number, spare = SPARE) {
    this.#log = new GeneratedLog(items);
    for (let i = 0; i < spare; i++) this.#log.say("assistant", "Done. ".repeat(700));
    this.#shown = items;
  }

  grow(): void {
    this.#shown += 2;
  }

  leafId(): string | null {
    const leaf = this.#log.entries[this.#shown - 1];
    if (!leaf) throw new Error("the session has no entries left to grow by: SPARE is too small");
    return leaf.id;
  }

  entry(id: string): LogEntry | undefined {
    return this.#log.entry(id);
  }
}

interface Kept {
  readonly directory: string;
  readonly session: Growing;
  readonly writer: JournalWriter;
}

/** A session and its whole journal. */
async function kept(base: string, name: string, items: number, spare = SPARE): Promise<Kept> {
  const directory = join(base, name);
  const session = new Growing(items, spare);
  const writer = new JournalWriter({ directory, agent: AGENT });
  await writer.sync(session);
  return { directory, session, writer };
}

const shownItems = (items: number) => (items >= 1_000 ? `${items / 1_000}k` : String(items));

function syncing(items: number, base: string, large: Kept, small: Kept): Race[] {
  const grown = async ({ session, writer }: Kept, flush: boolean) => {
    session.grow();
    await writer.sync(session, { flush });
  };
  const raw = openSync(join(base, "raw.jsonl"), "a");
  const two = Buffer.alloc(2 * 4_600, "x");
  return [
    {
      name: `journal, sync of 2 new entries, ${shownItems(items)} entries`,
      against: `the same, ${SMALL} entries`,
      goal: 1.2,
      ours: () => grown(large, false),
      reference: () => grown(small, false),
      times: { ours: SYNCS, reference: SYNCS },
    },
    {
      name: "journal, sync of 2 new entries to the disk",
      against: "append and fdatasync of the same bytes",
      goal: 1.6,
      waitsFor: "disk",
      ours: () => grown(small, true),
      reference: () => {
        writeSync(raw, two);
        fdatasyncSync(raw);
      },
      times: { ours: SYNCS, reference: SYNCS },
    },
    {
      name: "journal, sync with nothing new",
      against: "sync of 2 new entries",
      goal: 0.02,
      ours: () => large.writer.sync(large.session),
      reference: () => grown(large, true),
      times: { ours: 500, reference: 1 },
    },
  ];
}

function reading(items: number, large: Kept, page: Kept): Race[] {
  const history = new HistoryReader();
  const newest = ({ directory }: Kept) => {
    return async () =>
      history.listItems(await new JournalReader({ directory, agent: AGENT }).refresh(), NEWEST).rows.length;
  };
  const { directory, session, writer } = large;
  const reader = new JournalReader({ directory, agent: AGENT });
  const file = journalFile(directory);
  const searched = (word: string) => async () =>
    history.searchItems(await reader.refresh(), searchedFor(word), NEWEST).total;
  const inFile = (word: string) => () => {
    const bytes = readFileSync(file);
    const needle = Buffer.from(word);
    let found = 0;
    for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) found++;
    return found;
  };
  return [
    {
      name: `another agent, newest 50 of a journal of ${shownItems(items)} entries`,
      against: `the same, ${shownItems(PAGE_SMALL)} entries`,
      goal: 3,
      ours: newest(large),
      reference: newest(page),
      times: { ours: 1, reference: 5 },
    },
    {
      name: `another agent, what is new after a commit, ${shownItems(items)} entries`,
      against: "its first reading",
      goal: 0.01,
      prepare: async () => {
        session.grow();
        await writer.sync(session);
      },
      ours: () => reader.refresh(),
      reference: newest(large),
    },
    ...[COMMON_WORD, WIDE_WORD].map(
      (word): Race => ({
        name: `another agent, search for ${word} in ${shownItems(items)} entries`,
        against: "reading the file and Buffer.indexOf",
        goal: 1.3,
        ours: searched(word),
        reference: inFile(word),
      }),
    ),
  ];
}

/** The longest time that the event loop is held while it goes on, in milliseconds. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  await work();
  clearInterval(timer);
  return Math.max(longest, performance.now() - last);
}

const STILL_MS = 1_000;

/**
 * What a journal's bytes cost the disk alone: as many writes, and as many flushes, beside the work as there. With one write
 * and one flush instead, the disk's own state would make a tenth of it or ten times as much.
 */
async function writeInPieces(into: string, bytes: Buffer): Promise<void> {
  const file = openSync(into, "a");
  let flushing = Promise.resolve();
  let unflushed = 0;
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    unflushed += writeSync(file, bytes, at, Math.min(PIECE_BYTES, bytes.length - at));
    if (unflushed < FLUSH_BYTES) continue;
    await flushing;
    unflushed = 0;
    flushing = new Promise((done, fail) => fdatasync(file, (error) => (error ? fail(error) : done())));
  }
  await flushing;
  fdatasyncSync(file);
  closeSync(file);
}

/** Each sample fills a journal of its own, and writes the bytes of one journal to a file of its own. */
async function filling(items: number, base: string): Promise<Race[]> {
  const session = new Growing(items, 0);
  const { directory, writer } = await kept(base, "filled", items, 0);
  writer.rest();
  const bytes = readFileSync(journalFile(directory));
  let number = 0;
  /** What samples left; to remove it takes a while, and belongs to none of them. */
  const left: string[] = [];
  const prepare = () => {
    for (const path of left.splice(0)) rmSync(path, { recursive: true });
  };
  const fill = async () => {
    const into = join(base, `fill-${++number}`);
    left.push(into);
    const filler = new JournalWriter({ directory: into, agent: AGENT });
    await filler.sync(session);
    filler.rest();
  };
  return [
    {
      name: `journal, first one of a session of ${shownItems(items)} entries, ${Math.round(statSync(journalFile(directory)).size / 1e6)} MB`,
      against: "writing the same bytes in order, in as many writes and flushes",
      goal: 4,
      waitsFor: "disk",
      samplesMin: 3,
      prepare,
      ours: fill,
      reference: () => {
        const into = join(base, `raw-${++number}`);
        left.push(into);
        return writeInPieces(into, bytes);
      },
    },
    {
      name: `journal, longest hold of the event loop by a first one of ${shownItems(items)} entries`,
      against: "nothing going on",
      goal: 1,
      allowanceMs: 50,
      isFigure: true,
      samplesMin: 3,
      prepare,
      ours: () => longestHold(fill),
      reference: () => longestHold(() => new Promise((done) => setTimeout(done, STILL_MS))),
    },
  ];
}

export function journalGroups(items: number): Group[] {
  const inFolder = (races: (base: string) => Promise<readonly Race[]>) => async (): Promise<Made> => {
    const base = mkdtempSync(join(tmpdir(), "pi-token-budget-bench-"));
    return { races: await races(base), close: () => rmSync(base, { recursive: true, force: true }) };
  };
  return [
    {
      topic: "journal",
      make: inFolder(async (base) => {
        const large = await kept(base, "large", items);
        const small = await kept(base, "small", SMALL);
        const page = await kept(base, "page", PAGE_SMALL, 0);
        return [...syncing(items, base, large, small), ...reading(items, large, page)];
      }),
    },
    { topic: "journal", make: inFolder((base) => filling(items, base)) },
  ];
}
