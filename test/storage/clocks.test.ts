// Clocks that jump or are wrong by days: no lock of a living holder is taken, no dead one's blocks for ever, no wait gets
// longer, and no sweep takes what is in use.
import { existsSync, linkSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LogLock } from "../../src/journal/log-lock.ts";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { sweepLeftOvers } from "../../src/storage/left-overs.ts";
import { type HeldLock, LockDirectory, STALE_LOCK_MS } from "../../src/storage/lock.ts";
import { reclaimStaleLock } from "../../src/storage/lock-calls.ts";
import { temporaryDirectory } from "./disks.ts";

/** Timers of Node take it as it is. */
const JUMP_MS = 20 * 86_400_000;
const STALE_MS = 300;
const WAIT_MS = 5_000;
const SOON_MS = 20;
const NAME = "note";
const request = { name: NAME, shown: "The note" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], shouldAdvanceTime: true, now: new Date() });
});
afterEach(() => {
  vi.useRealTimers();
});

/** From here on the clock of this process says something else; the disk's does not. */
function jump(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

function setTime(path: string, ms: number): void {
  utimesSync(path, new Date(ms), new Date(ms));
}

describe.each([
  ["20 days ahead", JUMP_MS],
  ["20 days back", -JUMP_MS],
])("with a clock that jumps %s", (_name, ms) => {
  test("who waits for a lock gives up when the wait is over", async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, NAME));
    const before = performance.now();
    const waiting = new LockDirectory(directory, { waitMs: 100 }).withLock(request, () => 1);
    const log = join(directory, "log");
    writeFileSync(log, "");
    linkSync(log, `${log}.lock`);
    const logging = new LogLock({ file: log, shown: "The log", waitMs: 100 }).run(() => 1);
    jump(ms);
    const ends = await Promise.allSettled([waiting, logging]);
    expect(ends).toMatchObject([waiting, logging].map(() => ({ reason: { code: "lock_unavailable" } })));
    expect(performance.now() - before).toBeGreaterThanOrEqual(100);
    expect(readdirSync(directory).sort()).toEqual(["log", "log.lock", NAME]);
  });

  test("a turn that was left to others is a moment", async () => {
    const locks = new LockDirectory(temporaryDirectory());
    await locks.withLock(request, () => mkdirSync(join(locks.directory, `${NAME}.waiting`)));
    jump(ms);
    expect(await locks.withLock(request, () => "done")).toBe("done");
  });

  test("a living holder's lock is not taken by a process with that clock", async () => {
    const locks = new LockDirectory(temporaryDirectory(), { waitMs: SOON_MS });
    await locks.withLock(request, async (held) => {
      jump(ms);
      await expect(new LockDirectory(locks.directory, { waitMs: SOON_MS }).withLock(request, () => 1)).rejects.toThrow(
        /could not be locked/,
      );
      jump(-ms);
      held.assertOwned();
    });
    const file = join(locks.directory, "log");
    await new LogLock({ file, shown: "The log" }).run((held) => {
      jump(ms);
      expect(new LogLock({ file, shown: "The log" }).tryRun(() => "taken")).toBeUndefined();
      jump(-ms);
      held.assertOwned();
    });
    expect(readdirSync(locks.directory)).toEqual(["log"]);
  });

  test("a dead holder's lock is taken over after the stale time", async () => {
    const directory = temporaryDirectory();
    const [lock, log] = [join(directory, NAME), join(directory, "log")];
    mkdirSync(lock);
    setTime(lock, Date.now() + ms);
    expect(await new LockDirectory(directory, { staleMs: STALE_MS, waitMs: WAIT_MS }).withLock(request, () => 1)).toBe(
      1,
    );
    writeFileSync(log, "");
    linkSync(log, `${log}.lock`);
    jump(ms);
    const logLock = new LogLock({ file: log, shown: "The log", staleMs: STALE_MS, waitMs: WAIT_MS });
    expect(await logLock.run(() => 2)).toBe(2);
    expect(readdirSync(directory)).toEqual(["log"]);
  });

  test("a reclaim that was cut off then is made good", () => {
    const path = join(temporaryDirectory(), NAME);
    mkdirSync(path);
    setTime(path, Date.now() - 2 * STALE_LOCK_MS);
    mkdirSync(`${path}.reclaim`);
    setTime(`${path}.reclaim`, Date.now() + ms);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(false);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(true);
  });
});

describe("a holder", () => {
  const busy = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const lostAfter = async (change: () => void) => {
    const file = join(temporaryDirectory(), "log");
    const work = (held: { assertOwned(): void }) => {
      change();
      held.assertOwned();
    };
    return new LogLock({ file, shown: "The log", staleMs: STALE_MS }).run(work).catch((error: unknown) => error);
  };

  test("whose clock was set ahead does not trust its lock any more, and changes nothing", async () => {
    expect(await lostAfter(() => jump(JUMP_MS))).toMatchObject({ code: "lock_lost" });
    const locks = new LockDirectory(temporaryDirectory());
    const work = (held: HeldLock) => {
      jump(JUMP_MS);
      held.assertOwned();
    };
    await expect(locks.withLock(request, work)).rejects.toMatchObject({ code: "lock_lost" });
    expect(await locks.withLock(request, () => "again")).toBe("again");
  });

  test("whose clock was set back while it was held up is not deceived by it", async () => {
    const heldUp = () => {
      jump(-JUMP_MS);
      busy(STALE_MS);
    };
    expect(await lostAfter(heldUp)).toMatchObject({ code: "lock_lost" });
  });
});

describe("a sweep", () => {
  function places() {
    const base = temporaryDirectory();
    const [temporaryDirectoryPath, lockDirectory] = [join(base, "tmp"), join(base, "locks")];
    for (const path of [temporaryDirectoryPath, lockDirectory]) mkdirSync(path);
    const temporary = join(temporaryDirectoryPath, `${NAME}.1`);
    writeFileSync(temporary, "half a note");
    const sweep = () =>
      sweepLeftOvers({ temporaryDirectory: temporaryDirectoryPath, lockDirectory, staleMs: STALE_LOCK_MS });
    return { temporary, lock: join(lockDirectory, NAME), lockDirectory, sweep };
  }

  test.each([JUMP_MS, -JUMP_MS])("with a clock that is %d ms off takes nothing that is being written", (ms) => {
    const { temporary, lock, sweep } = places();
    const [guard, request] = [`${lock}.reclaim`, `${lock}.waiting`];
    for (const path of [lock, guard, request]) mkdirSync(path);
    jump(ms);
    expect(sweep()).toEqual({ removed: 0, failed: [] });
    expect([temporary, lock, guard, request].map((path) => existsSync(path))).toEqual([true, true, true, true]);
  });

  test("spares what a living process with a clock ahead holds, and takes what one left that is dead", () => {
    const { temporary, lock, lockDirectory, sweep } = places();
    const then = Date.now() + JUMP_MS;
    mkdirSync(lock);
    for (const path of [lock, temporary]) setTime(path, then);
    expect(sweep()).toEqual({ removed: 0, failed: [] });
    // Its lock was taken over meanwhile.
    reclaim(lock);
    expect(sweep()).toEqual({ removed: 1, failed: [] });
    expect(existsSync(temporary)).toBe(false);
    const guard = join(lockDirectory, `${NAME}.reclaim`);
    mkdirSync(guard);
    setTime(guard, then);
    expect(sweep()).toEqual({ removed: 1, failed: [] });
  });

  function reclaim(lock: string): void {
    setTime(lock, Date.now() - 2 * STALE_LOCK_MS);
    expect(reclaimStaleLock(NODE_DISK, lock, STALE_LOCK_MS)).toBe(true);
  }
});
