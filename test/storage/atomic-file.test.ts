// Replacing a file: the old one or the new one, whatever fails, and nothing left behind.
import fs, { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { type Replacement, replaceFile } from "../../src/storage/atomic-file.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { ATOMIC_WRITE_CALLS, errnoError, failingDisk, temporaryDirectory, treeOf } from "./disks.ts";

const CODES = ["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"] as const;

afterEach(() => {
  vi.restoreAllMocks();
});

interface Place {
  readonly target: string;
  readonly temporaries: string;
  commit(text: string, more?: Partial<Replacement>, beforeRename?: () => void): void;
}

function placeWith(old: string | undefined, disk: DiskCalls = NODE_DISK): Place {
  const directory = temporaryDirectory();
  const target = join(directory, "a.md");
  const temporaries = join(directory, "meta", "tmp");
  if (old !== undefined) writeFileSync(target, old);
  const replacement = { target, shown: "The note a.md" };
  return {
    target,
    temporaries,
    commit: (text, more, beforeRename = () => undefined) => {
      const content = Buffer.from(text);
      replaceFile(
        { ...replacement, content, ...more },
        { directory: temporaries, prefix: "lock" },
        { disk, beforeRename },
      );
    },
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
    expect(thrownBy(() => place.commit("new", {}, beforeRename))).toBe(lost);
    expectOldStands(place, "old");
  });

  test.each(CODES)("leaves the old content and says so when any of its calls fails with %s", (code) => {
    for (let number = 0; ; number++) {
      const { disk, failed } = failingDisk(number, code);
      const place = placeWith("old", disk);
      const error = thrownBy(() => place.commit("new", { modified: new Date() }));
      if (failed() === undefined) break;
      if (error === undefined) {
        // A folder is flushed as well as the disk can.
        expect(["fsyncSync", "openSync", "closeSync"]).toContain(failed());
        expect(readFileSync(place.target, "utf8")).toBe("new");
        continue;
      }
      expect(error, failed()).toMatchObject({ code: "storage_failed", cause: { code } });
      expect(String(error)).toMatch(
        new RegExp(`The note a.md could not be written: ${code}.*What was there before is unchanged`),
      );
      expectOldStands(place, "old");
      place.commit("next");
      expect(readFileSync(place.target, "utf8")).toBe("next");
    }
  });

  test.each(ATOMIC_WRITE_CALLS)("leaves the old content when %s of its temporary fails", (call) => {
    const place = placeWith("old", { ...NODE_DISK });
    vi.spyOn(fs, call).mockImplementationOnce(() => {
      throw errnoError("ENOSPC", call);
    });
    expect(thrownBy(() => place.commit("new"))).toMatchObject({ code: "storage_failed", cause: { code: "ENOSPC" } });
    expectOldStands(place, "old");
    place.commit("next");
    expect(readFileSync(place.target, "utf8")).toBe("next");
  });

  test("of which the disk took only a part is an error", () => {
    const place = placeWith("old");
    vi.spyOn(fs, "writeSync").mockImplementationOnce(() => 3);
    const error = thrownBy(() => place.commit("new content"));
    expect(error).toMatchObject({ code: "storage_failed" });
    expect(String(error)).toContain("only 0 of 11 bytes");
    expectOldStands(place, "old");
  });

  test("is flushed once, with its name in its folder, or not at all", () => {
    const place = placeWith("old");
    place.commit("first");
    const flush = vi.spyOn(fs, "fsyncSync");
    place.commit("new");
    expect(flush).toHaveBeenCalledTimes(2);
    place.commit("not flushed", { flush: false });
    expect(flush).toHaveBeenCalledTimes(2);
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
