// The journal when something is wrong with its files or its disk: the last committed branch is read, a failed sync says
// so and the next one works, and what is not ours to touch stays as it is.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { expectSame } from "../history/conformance.ts";
import { sourceOf } from "../history/sources.ts";
import { TestLog, text } from "../log/branches.ts";
import { rounds } from "../rounds.ts";
import { failingDisk, watchedDisk } from "../storage/disks.ts";
import { AGENT, expectReads, ids, idsOf, journalOf, logFile, newDirectory, readerOf, writerOf } from "./journals.ts";

const ALL_CODES = ["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"] as const;
const CODES = ALL_CODES.slice(0, rounds(1, ALL_CODES.length));
const CUT_STEP = rounds(5, 1);
const WAIT_MS = 100;

describe("a journal that was cut", () => {
  test("at any byte of the last sync shows the branch before it, and the next sync makes it good", async () => {
    const { log, directory } = await journalOf(2);
    const before = statSync(logFile(directory)).size;
    const shown = ids(log);
    log.user("and then 😀");
    log.assistant(text("an answer"));
    await writerOf(directory).sync(log);
    const whole = readFileSync(logFile(directory));
    for (let size = before; size < whole.length; size += CUT_STEP) {
      truncateSync(logFile(directory), size);
      expect(idsOf(await readerOf(directory).refresh())).toEqual(shown);
      if (size % 9 === 0) {
        await writerOf(directory).sync(log);
        expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
      }
      writeFileSync(logFile(directory), whole);
    }
  });

  test("or whose last commit has a wrong checksum is the same", async () => {
    const { log, directory } = await journalOf(2);
    const shown = ids(log);
    log.user("and then");
    await writerOf(directory).sync(log);
    const bytes = readFileSync(logFile(directory));
    bytes[bytes.lastIndexOf('"crc":') + 6] = 0x2d;
    writeFileSync(logFile(directory), bytes);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(shown);
    await writerOf(directory).sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    expect(readFileSync(logFile(directory), "utf8").match(/and then/g)).toHaveLength(1);
  });

  test("while a reader and a writer know it is begun again by both", async () => {
    const { log, directory } = await journalOf(40);
    const reader = readerOf(directory);
    const writer = writerOf(directory);
    await writer.sync(log);
    await reader.refresh();
    rmSync(directory, { recursive: true });
    expect(idsOf(await reader.refresh())).toEqual([]);
    log.user("after the folder was removed");
    await writer.sync(log);
    expectSame(await reader.refresh(), sourceOf(log), []);
    rmSync(directory, { recursive: true });
    await writerOf(directory).sync(log);
    expectSame(await reader.refresh(), sourceOf(log), []);
  });
});

describe("a journal that is not to be touched", () => {
  const expectUntouched = async (directory: string, log: EntrySource, code: string) => {
    const before = readFileSync(logFile(directory));
    await expect(readerOf(directory).refresh()).rejects.toMatchObject({ code });
    await expect(writerOf(directory).sync(log)).rejects.toMatchObject({ code });
    await expect(writerOf(directory).sync(log)).rejects.toThrow(new RegExp(`The journal of ${AGENT}`));
    expect(readFileSync(logFile(directory)).equals(before)).toBe(true);
    expect(readdirSync(directory).filter((name) => name.includes("lock"))).toEqual([]);
  };

  test("has a newer format", async () => {
    const { log, directory } = await journalOf(2);
    const bytes = readFileSync(logFile(directory), "utf8").replace('"version":1', '"version":2');
    writeFileSync(logFile(directory), bytes);
    log.user("more");
    await expectUntouched(directory, log, "newer_format");
  });

  test("is no journal at all", async () => {
    const directory = newDirectory();
    mkdirSync(directory, { recursive: true });
    writeFileSync(logFile(directory), "a note that somebody put here\n");
    const log = new TestLog();
    log.user("hello");
    await expectUntouched(directory, log, "storage_failed");
  });
});

/** A call that failed was made good, or the sync says so and what was there before stands. */
function expectOutcome(
  error: unknown,
  code: string,
  { seen, before, after }: Readonly<Record<"seen" | "before" | "after", readonly string[]>>,
  where: string,
): void {
  expect(seen, where).toEqual(error === undefined ? after : before);
  if (error === undefined) return;
  expect(error, where).toMatchObject({ code: expect.stringMatching(/^(storage_failed|lock_unavailable)$/) });
  expect(String(error), where).toContain(`The journal of ${AGENT}`);
  expect(String(error), where).toContain(code);
  expect(String(error), where).toMatch(/is unchanged|Nothing was changed/);
}

describe("a failing disk", () => {
  test.each(CODES)(
    "with any one call of a sync failing with %s",
    async (code) => {
      for (const start of ["no journal yet", "a journal", "a journal whose index is due"] as const) {
        for (let number = 0; ; number++) {
          const directory = newDirectory();
          const log = new TestLog();
          log.user("old");
          if (start !== "no journal yet") await writerOf(directory).sync(log);
          const shown = start === "no journal yet" ? [] : ids(log);
          log.user("new");
          const { disk, failed } = failingDisk(number, code);
          const markEvery = start === "a journal whose index is due" ? 1 : undefined;
          const writer = writerOf(directory, { disk, lockWaitMs: WAIT_MS, markEvery });
          const error: unknown = await writer.sync(log).catch((thrown: unknown) => thrown);
          if (failed() === undefined) break;
          const where = `${start}, call ${number}, ${failed()}`;
          const seen = idsOf(await readerOf(directory).refresh());
          expectOutcome(error, code, { seen, before: shown, after: ids(log) }, where);
          expect(existsSync(join(directory, "journal.jsonl.lock")), where).toBe(false);
          log.user("next");
          await writer.sync(log);
          expect(idsOf(await readerOf(directory).refresh()), where).toEqual(ids(log));
          await expectReads(directory, log);
        }
      }
    },
    120_000,
  );

  test.each(CODES)("with any one call of a reader failing with %s", async (code) => {
    const { log, directory } = await journalOf(40);
    for (let number = 0; ; number++) {
      const { disk, failed } = failingDisk(number, code);
      const reader = new JournalReader({ directory, agent: AGENT, disk });
      const error: unknown = await reader.refresh().then(
        (source) => {
          try {
            source.rows.at(3)?.entry;
            return undefined;
          } catch (thrown) {
            return thrown;
          }
        },
        (thrown: unknown) => thrown,
      );
      if (failed() === undefined) break;
      if (error !== undefined) expect(error, failed()).toMatchObject({ code: "storage_failed" });
      expect(idsOf(await reader.refresh()), failed()).toEqual(ids(log));
    }
  });

  test("that fails in the middle of a long write is gone on from there", async () => {
    const log = new TestLog();
    for (let item = 0; item < 60; item++) log.user(`${item} ${"x".repeat(100_000)}`);
    const directory = newDirectory();
    let writes = 0;
    const disk = watchedDisk((name) => {
      if (name === "writeSync" && ++writes === 4)
        throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    });
    const writer = writerOf(directory, { disk });
    await expect(writer.sync(log)).rejects.toThrow(/ENOSPC.*Free disk space/);
    expect(idsOf(await readerOf(directory).refresh())).toEqual([]);
    const before = statSync(logFile(directory)).size;
    expect(before).toBeGreaterThan(250_000);
    await writer.sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    // Nothing that had been written was written again.
    const entries = readFileSync(logFile(directory), "utf8")
      .split("\n")
      .filter((line) => line.startsWith('{"entry"'));
    expect(entries).toHaveLength(60);
  });
});

test("an entry that cannot be written as JSON is an error that says so, and harms nothing", async () => {
  const { log, directory } = await journalOf(1);
  const shown = ids(log);
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const bad = {
    id: "bad00000",
    parentId: log.leafId(),
    type: "custom",
    timestamp: "",
    data: circle,
  } as unknown as LogEntry;
  const source: EntrySource = { leafId: () => bad.id, entry: (id) => (id === bad.id ? bad : log.entry(id)) };
  await expect(writerOf(directory).sync(source)).rejects.toMatchObject({ code: "storage_failed" });
  expect(idsOf(await readerOf(directory).refresh())).toEqual(shown);
});

test("guards and probes that a killed process left beside a journal are swept by the next session, young ones stay", async () => {
  const { log, directory } = await journalOf(1);
  const left = [".lock.reclaim", ".lock.c0ffee.reclaim", ".lock.reclaim.c0ffee.reclaim"].map(
    (end) => logFile(directory) + end,
  );
  for (const folder of left) mkdirSync(folder);
  await writerOf(directory).sync(log);
  expect(left.every((folder) => existsSync(folder))).toBe(true);
  const hourAgo = Date.now() / 1_000 - 3_600;
  for (const folder of left) utimesSync(folder, hourAgo, hourAgo);
  await writerOf(directory).sync(log);
  expect(readdirSync(directory).filter((name) => name.endsWith(".reclaim"))).toEqual([]);
});
