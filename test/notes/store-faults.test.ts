// When the disk fails: every failing call is reported with the note's path, the old content stands, the next call works.
import fs, { existsSync, mkdirSync, rmdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { NotesStore } from "../../src/notes/store.ts";
import {
  ATOMIC_WRITE_CALLS,
  errnoError,
  failingDisk,
  temporaryDirectory,
  treeOf,
  watchedDisk,
} from "../storage/disks.ts";
import { AGENT, newStore } from "./stores.ts";

const CODES = ["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"] as const;
const WAIT_MS = 200;

afterEach(() => {
  vi.restoreAllMocks();
});

type Write = (store: NotesStore) => Promise<unknown>;

const WRITES: readonly (readonly [string, Write, string, string | undefined])[] = [
  ["replacing a note", (store) => store.write("sub/a.md", "new"), "new", "old"],
  ["appending to a note", (store) => store.append("sub/a.md", "new"), "oldnew", "old"],
  ["creating a note", (store) => store.write("sub/a.md", "new"), "new", undefined],
];

describe.each(WRITES)("%s", (_name, write, after, old) => {
  test.each(CODES)("with any one call failing with %s", async (code) => {
    for (let number = 0; ; number++) {
      const root = join(temporaryDirectory(), "notes");
      const healthy = new NotesStore({ root, agent: AGENT });
      if (old !== undefined) await healthy.write("sub/a.md", old);
      const { disk, failed } = failingDisk(number, code);
      const store = new NotesStore({ root, agent: AGENT, disk, lockWaitMs: WAIT_MS });
      const error = await write(store).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (failed() === undefined) break;
      const where = `call ${number}, ${failed()}`;
      const content = existsSync(join(root, "sub/a.md")) ? healthy.read("sub/a.md").text : undefined;
      if (error === undefined) {
        // Only giving the lock back may fail and be made good.
        expect(content, where).toBe(after);
      } else {
        expect(error, where).toMatchObject({ code: expect.stringMatching(/^(storage_failed|lock_unavailable)$/) });
        expect(String(error), where).toMatch(/sub\/a\.md/);
        expect(String(error), where).toContain(code);
        expect(String(error), where).toMatch(/is unchanged|Nothing was changed/);
        expect(content, where).toBe(old);
        if (old === undefined) expect(treeOf(root), where).toEqual([]);
      }
      expect(treeOf(`${root}.meta/tmp`), where).toEqual([]);
      expect(treeOf(`${root}.meta/locks`), where).toEqual([]);
      expect(await store.write("sub/a.md", "next"), where).toMatchObject({ bytes: 4 });
      expect(store.read("sub/a.md").text, where).toBe("next");
    }
  });

  test.each(ATOMIC_WRITE_CALLS)("with %s of its temporary failing", async (call) => {
    const store = newStore();
    if (old !== undefined) await store.write("sub/a.md", old);
    const real = fs[call] as (...args: unknown[]) => unknown;
    let left = 1;
    vi.spyOn(fs, call).mockImplementation(((...args: unknown[]) => {
      // Not of a folder, which is flushed as well as the disk can.
      const isFile = typeof args[0] === "number" && fs.fstatSync(args[0]).isFile();
      const ours = isFile || String(args[0]).includes(".meta/tmp");
      if (ours && left-- > 0) throw errnoError("ENOSPC", call);
      return Reflect.apply(real, fs, args);
    }) as never);
    const failing = write(store);
    await expect(failing).rejects.toMatchObject({ code: "storage_failed" });
    await expect(failing).rejects.toThrow(/sub\/a\.md.*ENOSPC.*(is unchanged|Nothing was changed)\. Free disk space/);
    expect(existsSync(join(store.root, "sub/a.md")) ? store.read("sub/a.md").text : undefined).toBe(old);
    expect(await write(store)).toMatchObject({ bytes: after.length });
  });
});

describe("a write", () => {
  test("of which the disk took only a part leaves the old content", async () => {
    const store = newStore();
    await store.write("a.md", "old");
    vi.spyOn(fs, "writeSync").mockImplementationOnce(() => 1);
    await expect(store.write("a.md", "new content")).rejects.toThrow("only 0 of 11 bytes");
    expect(store.read("a.md").text).toBe("old");
  });

  test("whose lock is taken over meanwhile does not commit, and leaves the other's lock", async () => {
    const root = join(temporaryDirectory(), "notes");
    await new NotesStore({ root, agent: AGENT }).write("a.md", "old");
    const locks = `${root}.meta/locks`;
    let stolen = "";
    const disk = watchedDisk((call, path) => {
      // The last call before the commit's own look at its lock.
      if (call !== "utimesSync" || !path.includes("/tmp/")) return;
      const [name = ""] = treeOf(locks);
      stolen = join(locks, name);
      rmdirSync(stolen);
      mkdirSync(stolen);
      utimesSync(stolen, 1, 1);
    });
    const store = new NotesStore({ root, agent: AGENT, disk });
    const losing = store.append("a.md", "new");
    await expect(losing).rejects.toMatchObject({ code: "lock_lost" });
    await expect(losing).rejects.toThrow(`The note "${AGENT}/notes/a.md" was not changed`);
    expect(store.read("a.md").text).toBe("old");
    expect(existsSync(stolen)).toBe(true);
    expect(treeOf(`${root}.meta/tmp`)).toEqual([]);
  });

  test("with a file in the place of a directory it needs says which", async () => {
    const base = temporaryDirectory();
    fs.writeFileSync(join(base, "notes.meta"), "");
    const store = new NotesStore({ root: join(base, "notes"), agent: AGENT });
    await expect(store.write("a.md", "x")).rejects.toMatchObject({ code: "lock_unavailable" });
    fs.rmSync(join(base, "notes.meta"));
    fs.writeFileSync(join(base, "notes"), "");
    await expect(store.write("a.md", "x")).rejects.toThrow(/a\.md/);
    expect(fs.readFileSync(join(base, "notes"), "utf8")).toBe("");
  });
});
