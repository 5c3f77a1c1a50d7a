// The lock of an append-only log: one holder at a time, and a dead holder's lock is taken over.
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LogLock, type LogLockOptions } from "../../src/journal/log-lock.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { errnoError, failingDisk, temporaryDirectory } from "../storage/disks.ts";

const STALE_MS = 250;

function newFile(): string {
  return join(temporaryDirectory(), "deep", "log.jsonl");
}

function lockOf(file: string, more: Partial<LogLockOptions> = {}): LogLock {
  return new LogLock({ file, shown: "The log of the test", ...more });
}

function withoutLinks(code: string): DiskCalls {
  const linkSync = () => {
    throw errnoError(code, "linkSync");
  };
  return { ...NODE_DISK, linkSync };
}

describe.each([
  ["a disk with hard links", NODE_DISK],
  ["a disk without them", withoutLinks("EPERM")],
])("on %s", (_name, disk) => {
  test("the log is there under the lock, the work is done in one go, and nothing is left behind", async () => {
    const file = newFile();
    if (disk !== NODE_DISK) mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (disk !== NODE_DISK) writeFileSync(file, "");
    let inside = 0;
    const work = () => {
      expect(existsSync(file)).toBe(true);
      expect(++inside).toBe(1);
      inside--;
      return readdirSync(dirname(file)).sort();
    };
    const locks = [1, 2, 3].map(() => lockOf(file, { disk }));
    const seen = await Promise.all(locks.flatMap((lock) => [lock.run(work), lock.run(work)]));
    expect(seen).toEqual(Array.from({ length: 6 }, () => ["log.jsonl", "log.jsonl.lock"]));
    expect(readdirSync(dirname(file))).toEqual(["log.jsonl"]);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  test("what the work throws comes through, and the next one gets the lock", async () => {
    const file = newFile();
    mkdirSync(dirname(file));
    writeFileSync(file, "");
    const lock = lockOf(file, { disk });
    await expect(
      lock.run(() => {
        throw new Error("the work failed");
      }),
    ).rejects.toThrow("the work failed");
    expect(await lock.run(() => 1)).toBe(1);
  });

  test("a dead holder's lock is taken over when it is stale, and not before", async () => {
    const file = newFile();
    mkdirSync(dirname(file));
    writeFileSync(file, "");
    if (disk === NODE_DISK) linkSync(file, `${file}.lock`);
    else writeFileSync(`${file}.lock`, "");
    const lock = lockOf(file, { disk, staleMs: STALE_MS });
    const left = lstatSync(`${file}.lock`).ctimeMs;
    await lock.run(() => expect(Date.now() - left).toBeGreaterThanOrEqual(STALE_MS));
    expect(readdirSync(dirname(file))).toEqual(["log.jsonl"]);
  });
});

test("several at once take a stale lock over without getting in each other's way", async () => {
  const file = newFile();
  mkdirSync(dirname(file));
  writeFileSync(file, "");
  linkSync(file, `${file}.lock`);
  let inside = 0;
  const work = () => {
    expect(++inside).toBe(1);
    inside--;
  };
  await Promise.all(Array.from({ length: 12 }, () => lockOf(file, { staleMs: STALE_MS }).run(work)));
  expect(readdirSync(dirname(file))).toEqual(["log.jsonl"]);
});

test("a reclaim that was itself interrupted is made good", async () => {
  const file = newFile();
  mkdirSync(dirname(file));
  writeFileSync(file, "");
  linkSync(file, `${file}.lock`);
  mkdirSync(`${file}.lock.reclaim`);
  await lockOf(file, { staleMs: STALE_MS }).run(() => undefined);
  expect(readdirSync(dirname(file))).toEqual(["log.jsonl"]);
});

test("a lock that others hold ends the wait with the log's name", async () => {
  const file = newFile();
  mkdirSync(dirname(file));
  writeFileSync(file, "content");
  linkSync(file, `${file}.lock`);
  const waiting = lockOf(file, { waitMs: 60 }).run(() => "never");
  await expect(waiting).rejects.toMatchObject({ code: "lock_unavailable" });
  await expect(waiting).rejects.toThrow(/The log of the test could not be locked: another process held it for 0.06 s/);
  expect(readFileSync(file, "utf8")).toBe("content");
});

test("a holder that was held up learns it before it writes, and leaves the lock to whoever has it by then", async () => {
  const file = newFile();
  const lock = lockOf(file, { staleMs: STALE_MS });
  const holding = lock.run((held) => {
    held.assertOwned();
    // As a host does that is busy: its event loop stands still.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALE_MS);
    held.assertOwned();
  });
  await expect(holding).rejects.toMatchObject({ code: "lock_lost" });
  expect(existsSync(`${file}.lock`)).toBe(true);
  await sleep(STALE_MS);
  expect(await lock.run(() => "next")).toBe("next");
});

test.each(["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"])(
  "any one call failing with %s is reported or made good",
  async (code) => {
    for (let number = 0; ; number++) {
      const file = newFile();
      const { disk, failed } = failingDisk(number, code);
      const outcome = await lockOf(file, { disk })
        .run(() => "done")
        .catch((error: unknown) => error);
      if (failed() === undefined) break;
      if (outcome !== "done") {
        expect(outcome, failed()).toMatchObject({ code: "lock_unavailable" });
        expect(String(outcome)).toContain(code);
      }
      expect(existsSync(`${file}.lock`), failed()).toBe(false);
      expect(await lockOf(file).run(() => "next"), failed()).toBe("next");
    }
  },
);
