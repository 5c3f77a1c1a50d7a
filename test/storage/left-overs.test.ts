// What killed processes leave beside files is removed, and nothing that may still be in use.
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sweepLeftOvers } from "../../src/storage/left-overs.ts";
import { errnoError, temporaryDirectory, treeOf, watchedDisk } from "./disks.ts";

const STALE_MS = 10_000;

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
