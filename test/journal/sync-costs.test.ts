// What a sync asks of the file system, call by call: as little as a lock, a write and a flush need, however long the
// journal is, and one flush for a turn.
import fs, { readFileSync, renameSync, rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { TestLog } from "../log/branches.ts";
import { type CallName, errnoError, watchedDisk } from "../storage/disks.ts";
import { ids, idsOf, logFile, newDirectory, readerOf, talk, writerOf } from "./journals.ts";

const LOCK_WRITE_FLUSH_UNLOCK = ["linkSync", "lstatSync", "readSync", "writeSync", "fdatasyncSync", "unlinkSync"];

function counted() {
  const calls: CallName[] = [];
  return { calls, disk: watchedDisk((call) => void calls.push(call)) };
}

async function grown(turns: number) {
  const log = new TestLog();
  talk(log, turns);
  const directory = newDirectory();
  const { calls, disk } = counted();
  const writer = writerOf(directory, { disk });
  await writer.sync(log);
  calls.length = 0;
  const grow = () => {
    log.user("one");
    log.user("two");
  };
  return { log, directory, writer, calls, grow };
}

describe("a sync of two new entries", () => {
  test.each([10, 2_000])("makes six calls behind %d turns, one of them a flush", async (turns) => {
    const { log, directory, writer, calls, grow } = await grown(turns);
    for (let times = 0; times < 3; times++) {
      grow();
      await writer.sync(log);
      expect(calls.splice(0)).toEqual(LOCK_WRITE_FLUSH_UNLOCK);
    }
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
  });

  test("that is only to be seen makes no flush; the next one that is to last makes one for both", async () => {
    const { log, directory, writer, calls, grow } = await grown(3);
    grow();
    await writer.sync(log, { flush: false });
    expect(calls.splice(0)).toEqual(LOCK_WRITE_FLUSH_UNLOCK.filter((call) => call !== "fdatasyncSync"));
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    grow();
    await writer.sync(log);
    expect(calls.splice(0)).toEqual(LOCK_WRITE_FLUSH_UNLOCK);
    await writer.sync(log);
    expect(calls).toEqual([]);
  });

  test("that was only to be seen is flushed though nothing is new, once", async () => {
    const { log, writer, calls, grow } = await grown(3);
    grow();
    await writer.sync(log, { flush: false });
    calls.length = 0;
    await Promise.all([writer.sync(log, { flush: false }), writer.sync(log)]);
    expect(calls.splice(0)).toEqual(["openSync", "fdatasync", "closeSync"]);
    await writer.sync(log);
    expect(calls).toEqual([]);
  });
});

describe("the file that stays open", () => {
  test("is left when another journal lies in its place, and when there is none any more", async () => {
    const { log, directory, writer, grow } = await grown(3);
    renameSync(logFile(directory), `${logFile(directory)}.old`);
    const old = readFileSync(`${logFile(directory)}.old`);
    await writerOf(directory).sync(log);
    grow();
    await writer.sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    expect(readFileSync(`${logFile(directory)}.old`).equals(old)).toBe(true);
    rmSync(directory, { recursive: true });
    grow();
    await writer.sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
  });

  test("is one, and none when nothing is to be written for a while", async () => {
    const open = new Set<number>();
    const disk = {
      ...NODE_DISK,
      openSync: ((...args: Parameters<typeof fs.openSync>) => {
        const descriptor = fs.openSync(...args);
        open.add(descriptor);
        return descriptor;
      }) as typeof fs.openSync,
      closeSync: (descriptor: number) => {
        open.delete(descriptor);
        fs.closeSync(descriptor);
      },
    };
    const writer = writerOf(newDirectory(), { disk });
    const log = new TestLog();
    for (let times = 0; times < 3; times++) {
      talk(log, 2);
      await writer.sync(log);
      expect(open.size).toBe(1);
    }
    writer.rest();
    expect(open.size).toBe(0);
    talk(log, 1);
    await writer.sync(log);
    expect(open.size).toBe(1);
    writer.rest();
  });

  test.each(LOCK_WRITE_FLUSH_UNLOCK.filter((call) => call !== "unlinkSync"))(
    "is closed and opened anew when %s fails once",
    async (name) => {
      const log = new TestLog();
      talk(log, 3);
      const directory = newDirectory();
      let fails = false;
      const disk = watchedDisk((call) => {
        if (!fails || call !== name) return;
        fails = false;
        throw errnoError("EIO", call);
      });
      const writer = writerOf(directory, { disk, lockWaitMs: 100 });
      await writer.sync(log);
      const before = ids(log);
      talk(log, 1);
      fails = true;
      await expect(writer.sync(log)).rejects.toMatchObject({ code: expect.stringMatching(/storage_failed|lock_/) });
      expect(idsOf(await readerOf(directory).refresh())).toEqual(before);
      await writer.sync(log);
      expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
      writer.rest();
    },
  );
});
