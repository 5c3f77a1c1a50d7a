// Locks: one holder at a time, in and across processes; dead holders are replaced, and a lock that was lost is noticed.
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { type HeldLock, LockDirectory, STALE_LOCK_MS } from "../../src/storage/lock.ts";
import { reclaimStaleLock } from "../../src/storage/lock-calls.ts";
import { exitCodeOf, kill, messageFrom, startChild } from "./children.ts";
import { errnoError, failingDisk, temporaryDirectory, watchedDisk } from "./disks.ts";

const HOLDER = new URL("./children/hold-lock.ts", import.meta.url);
const CHILD_TEST_MS = 90_000;
const LEAST_STALE_MS = 2_000;
const NAME = "note";
const request = { name: NAME, shown: 'The note "/root/notes/a.md"' };

afterEach(() => {
  vi.restoreAllMocks();
});

function makeOld(path: string, ageMs: number): void {
  const then = new Date(Date.now() - ageMs);
  utimesSync(path, then, then);
}

/** Puts another lock in the place of one, as a process does that reclaimed it. */
function steal(path: string): void {
  rmdirSync(path);
  mkdirSync(path);
  makeOld(path, 1);
}

describe("in one process", () => {
  test("calls for one lock run one after the other, in order, and leave nothing behind", async () => {
    const locks = new LockDirectory(join(temporaryDirectory(), "deep", "locks"));
    const events: string[] = [];
    const work = (id: number) => async () => {
      events.push(`in ${id}`);
      await new Promise((done) => setImmediate(done));
      events.push(`out ${id}`);
      return id;
    };
    const results = await Promise.all([1, 2, 3].map((id) => locks.withLock(request, work(id))));
    expect(results).toEqual([1, 2, 3]);
    expect(events).toEqual(["in 1", "out 1", "in 2", "out 2", "in 3", "out 3"]);
    expect(readdirSync(locks.directory)).toEqual([]);
    expect(statSync(locks.directory).mode & 0o777).toBe(0o700);
  });

  test("two stores of one directory exclude each other on the disk", async () => {
    const directory = temporaryDirectory();
    let inside = 0;
    const work = async () => {
      expect(++inside).toBe(1);
      await new Promise((done) => setImmediate(done));
      inside--;
    };
    const stores = [1, 2, 3].map(() => new LockDirectory(directory));
    await Promise.all(stores.flatMap((locks) => [locks.withLock(request, work), locks.withLock(request, work)]));
    expect(readdirSync(directory)).toEqual([]);
  });

  test("who asked for a turn gets it from a holder that comes back again and again", async () => {
    const directory = temporaryDirectory();
    const [busy, patient] = [new LockDirectory(directory), new LockDirectory(directory)];
    let isLetIn = false;
    let waiting = Promise.resolve();
    await busy.withLock(request, () => {
      waiting = patient.withLock(request, () => {
        isLetIn = true;
      });
    });
    const startMs = performance.now();
    while (!isLetIn) await busy.withLock(request, () => undefined);
    await waiting;
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("a holder that is asked goes on for its share, so that the lock seldom changes hands, and then leaves it", async () => {
    const locks = new LockDirectory(temporaryDirectory());
    const waiting = join(locks.directory, `${NAME}.waiting`);
    let rounds = 0;
    // Its share is a time: on a machine that stands still meanwhile, one round may take all of it.
    for (let tries = 0; rounds <= 1 && tries < 20; tries++) {
      await locks.withLock(request, () => mkdirSync(waiting));
      for (rounds = 0; existsSync(waiting); rounds++) await locks.withLock(request, () => undefined);
    }
    expect(rounds).toBeGreaterThan(1);
    expect(readdirSync(locks.directory)).toEqual([]);
  });

  test("different locks do not wait for each other", async () => {
    const locks = new LockDirectory(temporaryDirectory());
    const inner = locks.withLock(request, () => locks.withLock({ ...request, name: "other" }, () => "done"));
    expect(await inner).toBe("done");
  });

  test("what the work throws comes through, and the next call gets the lock", async () => {
    const locks = new LockDirectory(temporaryDirectory());
    const failing = locks.withLock(request, () => {
      throw new Error("the work failed");
    });
    await expect(failing).rejects.toThrow("the work failed");
    expect(await locks.withLock(request, () => 1)).toBe(1);
  });
});

describe("a lock that cannot be had", () => {
  test("ends the wait with the file's name", async () => {
    const directory = temporaryDirectory();
    const locks = new LockDirectory(directory, { waitMs: 50 });
    mkdirSync(join(directory, NAME));
    const waiting = locks.withLock(request, () => 1);
    await expect(waiting).rejects.toMatchObject({ code: "lock_unavailable" });
    await expect(waiting).rejects.toThrow(/The note "\/root\/notes\/a\.md" could not be locked.*Nothing was changed/);
  });

  test("fails at once when the disk refuses, with the reason as cause", async () => {
    const cause = errnoError("EROFS", "mkdir");
    const directory = temporaryDirectory();
    const disk = watchedDisk((call) => {
      if (call === "mkdirSync") throw cause;
    });
    const failing = new LockDirectory(directory, { disk }).withLock(request, () => 1);
    await expect(failing).rejects.toMatchObject({ code: "lock_unavailable", cause });
    await expect(failing).rejects.toThrow("EROFS");
  });

  test("every failing call is reported or made good, and the next call works", async () => {
    for (let number = 0; ; number++) {
      const directory = join(temporaryDirectory(), "locks");
      const { disk, failed } = failingDisk(number, "EIO");
      const locks = new LockDirectory(directory, { disk, waitMs: 50 });
      const outcome = await locks.withLock(request, () => "worked").catch((error: unknown) => error);
      if (failed() === undefined) break;
      if (outcome !== "worked") expect(outcome).toMatchObject({ code: "lock_unavailable" });
      expect(existsSync(join(directory, NAME)), `left behind by call ${number}, ${failed()}`).toBe(false);
      expect(await locks.withLock(request, () => "again")).toBe("again");
    }
  });
});

describe("a lock that was lost", () => {
  async function whileHeld(change: (path: string) => void): Promise<{ owned: boolean; error: unknown; path: string }> {
    const locks = new LockDirectory(temporaryDirectory());
    const path = join(locks.directory, NAME);
    let owned = true;
    const work = (held: HeldLock) => {
      expect(held.isOwned()).toBe(true);
      change(path);
      owned = held.isOwned();
      held.assertOwned();
    };
    const error = await locks.withLock(request, work).catch((thrown: unknown) => thrown);
    return { owned, error, path };
  }

  test("to another process is noticed before a commit, and the other's lock stays", async () => {
    const { owned, error, path } = await whileHeld(steal);
    expect(owned).toBe(false);
    expect(error).toMatchObject({ code: "lock_lost" });
    expect(existsSync(path)).toBe(true);
  });

  test("because its directory was removed is noticed", async () => {
    const { error } = await whileHeld(rmdirSync);
    expect(error).toMatchObject({ code: "lock_lost" });
  });

  test("is not trusted any more shortly before others may reclaim it", async () => {
    const { error, path } = await whileHeld(() => {
      const later = Date.now() + 0.9 * STALE_LOCK_MS;
      vi.spyOn(Date, "now").mockReturnValue(later);
    });
    expect(error).toMatchObject({ code: "lock_lost" });
    expect(existsSync(path)).toBe(false);
  });
});

describe("a stale lock", () => {
  test("is reclaimed by the next call", async () => {
    const locks = new LockDirectory(temporaryDirectory());
    const path = join(locks.directory, NAME);
    mkdirSync(path);
    makeOld(path, 2 * STALE_LOCK_MS);
    expect(await locks.withLock(request, () => "worked")).toBe("worked");
    expect(readdirSync(locks.directory)).toEqual([]);
  });

  test("is reclaimed by one of two waiters that both saw it stale", () => {
    const directory = temporaryDirectory();
    const path = join(directory, NAME);
    mkdirSync(path);
    makeOld(path, 2 * STALE_LOCK_MS);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(true);
    mkdirSync(path);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(false);
    expect(readdirSync(directory)).toEqual([NAME]);
  });

  test("is left alone while another process reclaims it, whose own death is got over", () => {
    const path = join(temporaryDirectory(), NAME);
    mkdirSync(path);
    makeOld(path, 2 * STALE_LOCK_MS);
    mkdirSync(`${path}.reclaim`);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(false);
    makeOld(`${path}.reclaim`, 2 * STALE_LOCK_MS);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(false);
    expect(reclaimStaleLock(NODE_DISK, path, STALE_LOCK_MS)).toBe(true);
  });
});

describe("across processes", () => {
  test("the lock of a killed holder is reclaimed after the stale time", { timeout: CHILD_TEST_MS }, async () => {
    const locks = new LockDirectory(temporaryDirectory());
    const child = startChild(HOLDER, [locks.directory, NAME]);
    expect(await messageFrom(child)).toBe("held");
    await kill(child);
    expect(existsSync(join(locks.directory, NAME))).toBe(true);
    expect(await locks.withLock(request, () => "worked")).toBe("worked");
  });

  test("a holder that hangs loses its lock, learns of it, and lives on", { timeout: CHILD_TEST_MS }, async () => {
    const locks = new LockDirectory(temporaryDirectory(), { staleMs: LEAST_STALE_MS });
    const flag = join(temporaryDirectory(), "taken");
    const child = startChild(HOLDER, [locks.directory, NAME, String(LEAST_STALE_MS), flag]);
    expect(await messageFrom(child)).toBe("held");
    const owned = await locks.withLock(request, async (held) => {
      writeFileSync(flag, "");
      expect(await messageFrom(child)).toBe("lock_lost");
      return held.isOwned();
    });
    expect(owned).toBe(true);
    expect(await exitCodeOf(child)).toBe(0);
  });
});
