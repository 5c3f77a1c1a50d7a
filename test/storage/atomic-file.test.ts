// Commits: the old file or the new one, whatever fails, and nothing left behind that a sweep does not find.
import fs, { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { AtomicFiles, type Commit, sweepLeftOvers } from "../../src/storage/atomic-file.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { errnoError, failingDisk, temporaryDirectory, treeOf, watchedDisk } from "./disks.ts";

const CODES = ["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"] as const;
const STALE_MS = 10_000;

afterEach(() => {
  vi.restoreAllMocks();
});

interface Place {
  readonly target: string;
  readonly temporaries: string;
  commit(text: string, more?: Partial<Commit>): void;
}

function placeWith(old: string | undefined, disk: DiskCalls = NODE_DISK): Place {
  const directory = temporaryDirectory();
  const target = join(directory, "a.md");
  const temporaries = join(directory, "meta", "tmp");
  if (old !== undefined) writeFileSync(target, old);
  const files = new AtomicFiles(temporaries, disk);
  const base = { target, lockName: "lock", shown: "The note a.md", beforeRename: () => undefined };
  return {
    target,
    temporaries,
    commit: (text, more) => files.commit({ ...base, content: Buffer.from(text), ...more }),
  };
}

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

function expectOldStands({ target, temporaries }: Place, old: string | undefined): void {
  expect(existsSync(target) ? readFileSync(target, "utf8") : undefined).toBe(old);
  expect(treeOf(temporaries)).toEqual([]);
}

describe("a commit", () => {
  test("creates and replaces files for their owner only", () => {
    const place = placeWith(undefined);
    const modified = new Date("2020-02-03T04:05:06.789Z");
    place.commit("new", { modified });
    expect(readFileSync(place.target, "utf8")).toBe("new");
    expect(statSync(place.target).mode & 0o777).toBe(0o600);
    expect(statSync(place.temporaries).mode & 0o777).toBe(0o700);
    expect(statSync(place.target).mtimeMs).toBe(modified.getTime());
    place.commit("", { flush: false });
    expect(readFileSync(place.target, "utf8")).toBe("");
    expect(treeOf(place.temporaries)).toEqual([]);
  });

  test("that may not happen after all leaves the old content", () => {
    const place = placeWith("old");
    const lost = new TokenBudgetError("lock_lost", "lost");
    const beforeRename = () => {
      throw lost;
    };
    expect(thrownBy(() => place.commit("new", { beforeRename }))).toBe(lost);
    expectOldStands(place, "old");
  });

  test.each(CODES)("leaves the old content and says so when any of its calls fails with %s", (code) => {
    for (let number = 0; ; number++) {
      const { disk, failed } = failingDisk(number, code);
      const place = placeWith("old", disk);
      const error = thrownBy(() => place.commit("new", { modified: new Date() }));
      if (failed() === undefined) break;
      expect(error, failed()).toMatchObject({ code: "storage_failed", cause: { code } });
      expect(String(error)).toMatch(
        new RegExp(`The note a.md could not be written: ${code}.*What was there before stands`),
      );
      expectOldStands(place, "old");
      place.commit("next");
      expect(readFileSync(place.target, "utf8")).toBe("next");
    }
  });

  test("that the disk takes a byte at a time is whole, and one that it takes nothing of is an error", () => {
    const place = placeWith("old");
    const { writeSync } = fs;
    const byteByByte = vi.spyOn(fs, "writeSync");
    byteByByte.mockImplementation(((file: number, bytes: Buffer, at: number) => writeSync(file, bytes, at, 1)) as never);
    place.commit("new content");
    expect(readFileSync(place.target, "utf8")).toBe("new content");
    byteByByte.mockImplementation(() => 0);
    const error = thrownBy(() => place.commit("newer content"));
    expect(error).toMatchObject({ code: "storage_failed" });
    expect(String(error)).toContain("only 0 of 13 bytes");
    expectOldStands(place, "new content");
  });

  test("costs six calls, one of them a flush", () => {
    const calls: string[] = [];
    const place = placeWith("old", watchedDisk((call) => calls.push(call)));
    place.commit("new");
    calls.length = 0;
    place.commit("newer");
    const all = ["lstatSync", "openSync", "writeSync", "fsyncSync", "closeSync", "renameSync"];
    expect(calls).toEqual(all);
    calls.length = 0;
    place.commit("not flushed", { flush: false });
    expect(calls).toEqual(all.filter((call) => call !== "fsyncSync"));
  });

  test("does not go through a link in the place of its own directory", () => {
    const place = placeWith("old");
    const elsewhere = temporaryDirectory();
    mkdirSync(join(place.temporaries, ".."));
    symlinkSync(elsewhere, place.temporaries);
    expect(thrownBy(() => place.commit("new"))).toMatchObject({ code: "refused" });
    expect(treeOf(elsewhere)).toEqual([]);
  });
});

describe("a sweep", () => {
  const places = () => {
    const directory = temporaryDirectory();
    const temporaryDirectoryPath = join(directory, "tmp");
    const lockDirectory = join(directory, "locks");
    const put = (path: string, ageMs: number) => {
      const then = new Date(Date.now() - ageMs);
      utimesSync(path, then, then);
    };
    const temporary = (name: string, ageMs: number) => {
      mkdirSync(temporaryDirectoryPath, { recursive: true });
      writeFileSync(join(temporaryDirectoryPath, name), "");
      put(join(temporaryDirectoryPath, name), ageMs);
    };
    const lock = (name: string, ageMs: number) => {
      mkdirSync(join(lockDirectory, name), { recursive: true });
      put(join(lockDirectory, name), ageMs);
    };
    const at = { temporaryDirectory: temporaryDirectoryPath, lockDirectory, staleMs: STALE_MS };
    return { directory, temporary, lock, at };
  };

  test("removes old temporaries under no live lock, and stale locks, and nothing else", () => {
    const { directory, temporary, lock, at } = places();
    temporary("free.1", 2 * STALE_MS);
    temporary("dead.2", 2 * STALE_MS);
    temporary("nameless", 2 * STALE_MS);
    temporary("live.3", 2 * STALE_MS);
    temporary("young.4", 0);
    lock("dead", 2 * STALE_MS);
    lock("dead.reclaim", 2 * STALE_MS);
    lock("other.reclaim", 2 * STALE_MS);
    lock("other.waiting", 2 * STALE_MS);
    lock("live", 0);
    writeFileSync(join(directory, "note.md"), "");
    const { failed } = sweepLeftOvers(at);
    sweepLeftOvers(at);
    expect(failed).toEqual([]);
    expect(treeOf(directory)).toEqual(["locks", "locks/live", "note.md", "tmp", "tmp/live.3", "tmp/young.4"]);
  });

  test("of directories that are not there removes nothing", () => {
    expect(sweepLeftOvers(places().at)).toEqual({ removed: 0, failed: [] });
  });

  test("names what it could not remove and goes on", () => {
    const { temporary, at } = places();
    temporary("a.1", 2 * STALE_MS);
    temporary("b.2", 2 * STALE_MS);
    const disk = watchedDisk((call, path) => {
      if (call === "unlinkSync" && path.endsWith("a.1")) throw errnoError("EACCES", call);
      if (call === "readdirSync" && path === at.lockDirectory) throw errnoError("EIO", call);
    });
    const { removed, failed } = sweepLeftOvers(at, disk);
    expect(removed).toBe(1);
    expect(failed).toEqual([expect.stringMatching(/a\.1: EACCES$/), expect.stringMatching(/locks: EIO$/)]);
  });
});
