// What a sync costs and when it happens: as much as is new, once for all who ask, and never the event loop's time.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { sessionEntries } from "../../fixtures/story/session-file.ts";
import { HistoryReader, searchedFor } from "../../src/history/reader.ts";
import type { ItemSource } from "../../src/history/source.ts";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { sourceOf } from "../history/sources.ts";
import { call, TestLog } from "../log/branches.ts";
import { watchedDisk } from "../storage/disks.ts";
import { branchUpTo, idOf, SharedSession } from "./children/shared-session.ts";
import { AGENT, logFile, newDirectory, readerOf, writerOf } from "./journals.ts";

const LARGE = 10_000;
const reader = new HistoryReader();

/** Counts what goes to the disk, and what is read of a session. */
class Counter {
  calls = 0;
  read = 0;
  written = 0;
  flushes = 0;
  asked = 0;
  readonly disk: DiskCalls;

  constructor() {
    this.disk = new Proxy(NODE_DISK, {
      get: (disk, name) => {
        const call: unknown = Reflect.get(disk, name);
        return (...args: unknown[]) => {
          this.calls++;
          if (name === "fdatasyncSync") this.flushes++;
          const result: unknown = Reflect.apply(call as () => unknown, disk, args);
          if (name === "readSync") this.read += Number(result);
          if (name === "writeSync") this.written += Number(result);
          return result;
        };
      },
    });
  }

  reset(): void {
    Object.assign(this, { calls: 0, read: 0, written: 0, flushes: 0, asked: 0 });
  }

  counted(source: EntrySource): EntrySource {
    return {
      leafId: () => source.leafId(),
      entry: (id) => {
        this.asked++;
        return source.entry(id);
      },
    };
  }
}

class Session implements EntrySource {
  readonly #byId: ReadonlyMap<string, LogEntry>;
  readonly entries: readonly LogEntry[];
  #length: number;

  constructor(entries: number, ahead = 0) {
    this.entries = sessionEntries({ entries: entries + ahead, windows: 6, seed: 11 }) as unknown as readonly LogEntry[];
    this.#byId = new Map(this.entries.map((entry) => [entry.id, entry]));
    this.#length = entries;
  }

  grow(by: number): void {
    this.#length += by;
  }

  leafId(): string | null {
    return this.entries[this.#length - 1]?.id ?? null;
  }

  entry(id: string): LogEntry | undefined {
    return this.#byId.get(id);
  }
}

/** For several tests; gone after the last. */
function sharedDirectory(): string {
  const base = mkdtempSync(join(tmpdir(), "token-budget-"));
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  return join(base, "history");
}

/** Commits that publish a branch: a part of a sync on a busy machine has one that does not. */
function commitsIn(directory: string): number {
  return readFileSync(join(directory, "journal.jsonl"), "utf8").split('\n{"commit":{"leaf":').length - 1;
}

/** A message that takes so long to be written as JSON. */
function slowMessage(content: string, ms: number) {
  const message = { role: "user", content, timestamp: 0 };
  const toJSON = () => {
    for (const until = performance.now() + ms; performance.now() < until; );
    return message;
  };
  return { ...message, toJSON };
}

describe("syncs", () => {
  // On a busy machine an entry takes as long as a piece may, and a sync many turns.
  test.each([
    ["a free", 0],
    ["a busy", 10],
  ])(
    "share one that is on its way, and the next one, on %s machine; each resolves when what it asked for is committed",
    async (_, entryMs) => {
      const directory = newDirectory();
      const writer = writerOf(directory);
      const log = new TestLog();
      const add = (content: string) => log.add({ type: "message", message: slowMessage(content, entryMs) });
      let syncs = 0;
      const source: EntrySource = {
        leafId: () => {
          syncs++;
          return log.leafId();
        },
        entry: (id) => log.entry(id),
      };
      add("first");
      const first = writer.sync(source);
      const waiting: Promise<void>[] = [];
      const seen: (string | undefined)[] = [];
      for (let number = 0; number < 10; number++) {
        const id = add(`more ${number}`);
        const asked = writer.sync(source).then(async () => {
          seen.push((await readerOf(directory).refresh()).row(id)?.head.id);
        });
        waiting.push(asked);
      }
      await Promise.all([first, ...waiting]);
      expect(seen.sort()).toEqual(log.entries.slice(1).map(({ id }) => id));
      expect(syncs).toBe(2);
      expect(commitsIn(directory)).toBe(2);
    },
  );

  test("of a leaf that did not move touch no file and read no entry", async () => {
    const counter = new Counter();
    const writer = writerOf(newDirectory(), { disk: counter.disk });
    const log = new TestLog();
    log.user("hello");
    const source = counter.counted(log);
    await writer.sync(source);
    counter.reset();
    for (let times = 0; times < 5; times++) await writer.sync(source);
    expect(counter).toMatchObject({ calls: 0, asked: 0 });
  });

  test("of an empty session make an empty journal", async () => {
    const directory = newDirectory();
    await writerOf(directory).sync(new TestLog());
    expect((await readerOf(directory).refresh()).rows.length).toBe(0);
    expect(commitsIn(directory)).toBe(1);
  });

  test("that only move the leaf write no entry again", async () => {
    const directory = newDirectory();
    const writer = writerOf(directory);
    const log = new TestLog();
    const [first, second] = [log.user("one"), log.user("two")];
    await writer.sync(log);
    const size = statSync(join(directory, "journal.jsonl")).size;
    for (const id of [first, second, null, first]) {
      log.goTo(id);
      await writer.sync(log);
    }
    expect(statSync(join(directory, "journal.jsonl")).size - size).toBeLessThan(4 * 100);
    expect((await readerOf(directory).refresh()).rows.map(({ head }) => head.id)).toEqual([first]);
  });

  test("of a leaf that the session does not have show an empty branch, as the live index does", async () => {
    const directory = newDirectory();
    await writerOf(directory).sync({ leafId: () => "gone0000", entry: () => undefined });
    expect((await readerOf(directory).refresh()).rows.length).toBe(0);
  });
});

describe("results whose call is further back than the newest batch", () => {
  test("are linked to the nearest one, on every branch, whoever reads them", async () => {
    const log = new TestLog();
    const writer = writerOf(newDirectory(), { markEvery: 1 });
    const directory = newDirectory();
    const sync = async () => {
      await writerOf(directory, { markEvery: 1 }).sync(log);
      await writer.sync(log);
    };
    log.assistant(call("a", "bash"), call("b", "read"));
    const fork = log.user("go on");
    log.assistant(call("a", "grep"));
    const results = [log.result("b", "late", "1"), log.result("x", "unknown", "2")];
    await sync();
    log.goTo(fork);
    log.assistant();
    results.push(log.result("a", "late", "3"), log.result("b", "late", "4"));
    await sync();
    const source = await readerOf(directory).refresh();
    const names = results.map((id) => (source.row(id) ?? source.rowElsewhere(id))?.head.calls.map(({ name }) => name));
    expect(names).toEqual([["read"], ["unknown"], ["bash"], ["read"]]);
  });
});

describe(`a session of ${LARGE} entries`, () => {
  const session = new Session(LARGE, 400);
  const directory = sharedDirectory();
  const counter = new Counter();
  const writer = writerOf(directory, { disk: counter.disk });
  const source = counter.counted(session);

  test("is written in pieces, and published when all of it is there", async () => {
    let turns = 0;
    let partsSeen = 0;
    let running = true;
    const other = (async () => {
      while (running) {
        await new Promise((done) => setImmediate(done));
        turns++;
        if (turns % 7 === 0 && (await readerOf(directory).refresh()).rows.length > 0 && running) partsSeen++;
      }
    })();
    await writer.sync(source).then(() => {
      running = false;
    });
    await other;
    expect(turns).toBeGreaterThan(5);
    expect(partsSeen).toBe(0);
    expect((await readerOf(directory).refresh()).rows.length).toBe(sourceOf(session).rows.length);
  });

  test("is the same history as the live branch", async () => {
    const journal = await readerOf(directory).refresh();
    const live = sourceOf(session);
    const said = (from: ItemSource) =>
      from.rows.map(({ head: { id, role, timestamp, calls, internal, fromUser }, window, entry }) => ({
        ...{ id, role, timestamp, calls, internal, fromUser, window, entry },
      }));
    expect(said(journal)).toEqual(said(live));
    const query = { filter: {}, limit: 100, recentFirst: true, runningCallId: undefined };
    for (const wanted of ["ledger", "税", "\n", '"json"', "👩‍💻", "read call_", "[tool_call", "e_absent", "[exit"]) {
      const [actual, expected] = [journal, live].map((from) => reader.searchItems(from, searchedFor(wanted), query));
      expect(actual?.total, wanted).toBe(expected?.total);
      expect(actual?.rows.map(({ row }) => row.head.id)).toEqual(expected?.rows.map(({ row }) => row.head.id));
    }
  });

  test("is rebuilt in slices when its index is lost, by a reader and by a writer", async () => {
    const before = readFileSync(join(directory, "journal.index"));
    rmSync(join(directory, "journal.index"));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const journal = await readerOf(directory).refresh();
    expect(turns).toBeGreaterThan(2);
    clearInterval(timer);
    expect(journal.rows.length).toBe(sourceOf(session).rows.length);
    await writerOf(directory).sync(session);
    expect(readFileSync(join(directory, "journal.index")).equals(before)).toBe(true);
  });

  test("takes as much for two more entries as a short one", async () => {
    const cost = async (entries: Session, known: Counter, sync: () => Promise<void>) => {
      const costs: unknown[] = [];
      // The first one reads the tool batch that it goes on with.
      entries.grow(2);
      await sync();
      for (let times = 0; times < 20; times++) {
        entries.grow(2);
        known.reset();
        await sync();
        const { calls, read, flushes, asked } = known;
        costs.push({ calls, read, flushes, asked });
      }
      return costs;
    };
    const short = new Session(100, 400);
    const other = new Counter();
    const shortWriter = writerOf(newDirectory(), { disk: other.disk, markEvery: 1_000_000 });
    await shortWriter.sync(other.counted(short));
    const shortCosts = await cost(short, other, () => shortWriter.sync(other.counted(short)));
    const longWriter = writerOf(directory, { disk: counter.disk, markEvery: 1_000_000 });
    await longWriter.sync(source);
    expect(await cost(session, counter, () => longWriter.sync(source))).toEqual(shortCosts);
    expect(new Set(shortCosts.map((each) => JSON.stringify(each))).size).toBeLessThanOrEqual(3);
    expect(shortCosts[19]).toMatchObject({ flushes: 1 });
  });

  test("is listed from its end without reading the rest, and followed by what is new", async () => {
    const known = new Counter();
    const journal = new JournalReader({ directory, agent: AGENT, disk: known.disk });
    const open = await journal.refresh();
    const query = { filter: {}, limit: 50, recentFirst: true, runningCallId: undefined };
    const page = reader.listItems(open, query);
    expect(page.rows).toHaveLength(50);
    expect(page.total).toBeGreaterThan(9_000);
    const size = statSync(join(directory, "journal.jsonl")).size;
    expect(known.read).toBeLessThan(size / 20);
    session.grow(2);
    await writerOf(directory).sync(session);
    known.reset();
    await journal.refresh();
    expect(known.read).toBeLessThan(statSync(join(directory, "journal.jsonl")).size - size + 1_000);
    expect(open.rows.at(open.rows.length - 1)?.entry.id).toBe(sourceOf(session).rows.at(-1)?.entry.id);
    known.reset();
    await journal.refresh();
    expect(known.read).toBeLessThan(300);
  });
});

test("a writer that is behind while another one appends writes nothing twice", async () => {
  const directory = newDirectory();
  const session = new SharedSession("w0", 0);
  // Reading what the other one appended takes longer than a turn has.
  const disk = watchedDisk((call) => {
    for (const until = performance.now() + 20; call === "readSync" && performance.now() < until; );
  });
  const writers = [writerOf(directory, { disk }), writerOf(directory)];
  await Promise.all(writers.map((writer) => writer.sync(session)));
  const lines = readFileSync(logFile(directory), "utf8").split("\n");
  const written = lines.filter((line) => line.startsWith('{"entry"')).map((line) => JSON.parse(line).entry.id);
  expect(written).toEqual(branchUpTo(idOf("w0", -1)));
});

test("a first journal whose look back takes many turns reads each entry about once, and ends", async () => {
  const counter = new Counter();
  const session = new Session(2_000);
  const slow: EntrySource = {
    leafId: () => session.leafId(),
    entry: (id) => {
      counter.asked++;
      for (const until = performance.now() + 0.05; performance.now() < until; );
      // Without an end it would go on forever.
      if (counter.asked > 20_000) throw new Error("entries are read again and again");
      return session.entry(id);
    },
  };
  const directory = newDirectory();
  await writerOf(directory, { disk: counter.disk }).sync(slow);
  expect(counter.asked).toBeLessThan(2_000 * 1.1);
  expect((await readerOf(directory).refresh()).rows.length).toBe(sourceOf(session).rows.length);
});
