// Records of equal calls share one that stands for them. A process learns which one as it meets the calls: it reads nothing
// back for it, and two processes that chose otherwise carry on one index.
import { statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { JournalReader } from "../../src/journal/reader.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { call, TestLog } from "../log/branches.ts";
import { AGENT, expectReads, ids, indexFile, newDirectory, writerOf } from "./journals.ts";

/** Answers of which each calls another tool. */
function distinct(log: TestLog, count: number): void {
  for (let number = 0; number < count; number++) {
    const id = `call-${log.entries.length}`;
    log.assistant(call(id, `tool_${number}`));
    log.result(id, `tool_${number}`, "done");
  }
}

/** A disk, and how often and how much was read of it. */
function countedReads() {
  const counts = { reads: 0, bytes: 0 };
  const readSync = ((...args: Parameters<DiskCalls["readSync"]>) => {
    const read = NODE_DISK.readSync(...args);
    counts.reads++;
    counts.bytes += read;
    return read;
  }) as DiskCalls["readSync"];
  return { counts, disk: { ...NODE_DISK, readSync } };
}

test("the first call after opening reads as often behind many lists of calls as behind few", async () => {
  const readsBehind = async (lists: number) => {
    const log = new TestLog();
    distinct(log, lists);
    const directory = newDirectory();
    await writerOf(directory, { markEvery: 1 }).sync(log);
    const { counts, disk } = countedReads();
    const writer = writerOf(directory, { markEvery: 1, disk });
    log.user("go on");
    await writer.sync(log);
    counts.reads = 0;
    distinct(log, 1);
    await writer.sync(log);
    await expectReads(directory, log);
    return counts.reads;
  };
  expect(await readsBehind(150)).toBe(await readsBehind(10));
});

describe("two processes that write one journal", () => {
  test("leave an index that is right to its end", async () => {
    const log = new TestLog();
    const directory = newDirectory();
    const first = writerOf(directory, { markEvery: 1 });
    distinct(log, 10);
    await first.sync(log);
    const second = writerOf(directory, { markEvery: 1 });
    for (const writer of [second, first, second, second, first]) {
      distinct(log, 10);
      await writer.sync(log);
    }
    const { counts, disk } = countedReads();
    const source = await new JournalReader({ directory, agent: AGENT, disk }).refresh();
    expect(source.rows.length).toBe(ids(log).length);
    // Nothing of the log but its header and its last commit.
    expect(counts.bytes - statSync(indexFile(directory)).size).toBeLessThan(1_000);
    await expectReads(directory, log);
  });
});
