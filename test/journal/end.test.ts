// A session that ends while its journal is being written: little more is written, counted in bytes, and the next start
// makes the rest good. What is little is whole.
import { readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { PIECE_BYTES } from "../../src/journal/plan.ts";
import { END_BYTES_MAX } from "../../src/journal/writer.ts";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { TestLog } from "../log/branches.ts";
import { ids, idsOf, logFile, newDirectory, readerOf, talk, writerOf } from "./journals.ts";

const ENTRY_BYTES = 100_000;
/** A piece ends with its last entry whole. */
const PIECE_BYTES_MAX = PIECE_BYTES + 2 * ENTRY_BYTES;

function writing() {
  let written = 0;
  const writeSync = ((...args: Parameters<typeof NODE_DISK.writeSync>) => {
    const bytes = NODE_DISK.writeSync(...args);
    written += bytes;
    return bytes;
  }) as typeof NODE_DISK.writeSync;
  return { disk: { ...NODE_DISK, writeSync }, written: () => written };
}

function longLog(entries: number): TestLog {
  const log = new TestLog();
  for (let number = 0; number < entries; number++) log.user(`${number} ${"x".repeat(ENTRY_BYTES)}`);
  return log;
}

describe("the end of a session", () => {
  test.each([150, 300])("amid a first journal of %d long entries writes a few pieces more", async (entries) => {
    const directory = newDirectory();
    const log = longLog(entries);
    const { disk, written } = writing();
    const writer = writerOf(directory, { disk });
    const sync = writer.sync(log);
    while (written() === 0) await nextTurn();
    const before = written();
    await writer.end(log);
    await sync;
    expect(written() - before).toBeLessThanOrEqual(END_BYTES_MAX + 2 * PIECE_BYTES_MAX);
    expect(written()).toBeLessThan((entries * ENTRY_BYTES) / 2);
    expect((await readerOf(directory).refresh()).rows.length).toBe(0);

    await writerOf(directory).sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    // Nothing that was written was written again.
    const lines = readFileSync(logFile(directory), "utf8").split("\n");
    expect(lines.filter((line) => line.startsWith('{"entry"'))).toHaveLength(entries);
  });

  test("brings a short rest in, on its way or not", async () => {
    const directory = newDirectory();
    const log = new TestLog();
    talk(log, 3);
    const writer = writerOf(directory);
    void writer.sync(log);
    talk(log, 30);
    await writer.end(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    // It may go on: a session that was reloaded.
    talk(log, 1);
    await writer.sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    writer.rest();
  });
});
