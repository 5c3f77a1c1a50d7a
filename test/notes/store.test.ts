// The store of one agent's notes: what is written can be read, listed and found; what is refused changes nothing.
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NotesStore } from "../../src/notes/store.ts";
import { caseInsensitiveDisk, errnoError, temporaryDirectory, treeOf, watchedDisk } from "../storage/disks.ts";
import { AGENT, handClock, newStore, thrownBy } from "./stores.ts";

const DAY_MS = 86_400_000;

function names(store: NotesStore, query = {}): string[] {
  return store.list(query).rows.map(({ path }) => path);
}

describe("writing", () => {
  test("creates, replaces and appends, and answers with the size afterwards", async () => {
    const store = newStore();
    expect(await store.write("plans/db.md", "é\n")).toEqual({ bytes: 3, created: true });
    expect(await store.append("plans/db.md", "😀")).toEqual({ bytes: 7, created: false });
    expect(store.read("plans/db.md")).toMatchObject({ text: "é\n😀", bytes: 7 });
    expect(await store.write("plans/db.md", "")).toEqual({ bytes: 0, created: false });
    expect(await store.append("new.md", "")).toEqual({ bytes: 0, created: true });
    expect(names(store)).toEqual(["new.md", "plans/db.md"]);
  });

  test("keeps the root for notes, and everything to its owner", async () => {
    const store = newStore();
    await store.write("a/b.md", "x");
    expect(treeOf(store.root)).toEqual(["a", "a/b.md"]);
    expect(statSync(join(store.root, "a/b.md")).mode & 0o777).toBe(0o600);
    for (const directory of [store.root, join(store.root, "a"), `${store.root}.meta`]) {
      expect(statSync(directory).mode & 0o777).toBe(0o700);
    }
    expect(treeOf(`${store.root}.meta`)).toEqual(["created", expect.stringMatching(/^created\//), "locks", "tmp"]);
  });

  test("makes nothing before the first write", () => {
    const store = newStore();
    expect(store.list()).toEqual({ rows: [], total: 0, leftOut: [] });
    expect(store.sweep()).toEqual({ removed: 0, failed: [] });
    expect(store.usage()).toEqual({ files: 0, totalBytes: 0, large: [] });
    expect(thrownBy(() => store.read("a.md"))).toMatchObject({ code: "not_found" });
    expect(treeOf(join(store.root, ".."))).toEqual([]);
  });

  test("over the cap changes nothing", async () => {
    const store = newStore({ maxFileBytes: 4 });
    await store.write("a.md", "1234");
    for (const work of [store.write("a.md", "12345"), store.append("a.md", "5"), store.write("sub/b.md", "é😀")]) {
      await expect(work).rejects.toMatchObject({ code: "too_large" });
    }
    await expect(store.append("a.md", "5")).rejects.toThrow(
      `The note "${AGENT}/notes/a.md" would be 5 bytes long, over the limit of 4. Nothing was changed.`,
    );
    expect(store.read("a.md").text).toBe("1234");
    expect(treeOf(store.root)).toEqual(["a.md"]);
    expect(await store.append("a.md", "5", 5)).toEqual({ bytes: 5, created: false });
  });

  test("refuses half a character", async () => {
    const store = newStore();
    const work = store.append("a.md", "x\ud83d");
    await expect(work).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(work).rejects.toThrow("surrogate");
    expect(names(store)).toEqual([]);
  });

  test("appends to bytes that are no UTF-8 without touching them", async () => {
    const store = newStore();
    await store.write("a.md", "");
    writeFileSync(join(store.root, "a.md"), Buffer.from([0xff, 0x41]));
    await store.append("a.md", "B");
    expect(readFileSync(join(store.root, "a.md"))).toEqual(Buffer.from([0xff, 0x41, 0x42]));
    expect(store.read("a.md")).toMatchObject({ text: "\ufffdAB", bytes: 3 });
  });

  test("keeps every byte of every text", async () => {
    const store = newStore();
    const piece = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\ufeff", "\r\n", "\u0000", "\n"));
    const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(""));
    await fc.assert(
      fc.asyncProperty(text, text, async (first, second) => {
        await store.write("a.md", first);
        await store.append("a.md", second);
        expect(store.read("a.md").text).toBe(first + second);
      }),
      { numRuns: 50 },
    );
  });

  test("at the same time loses nothing", async () => {
    const store = newStore();
    const twin = new NotesStore({ root: store.root, agent: AGENT });
    const numbers = Array.from({ length: 40 }, (_, at) => at);
    await Promise.all(numbers.map((at) => (at % 2 ? store : twin).append("a.md", `${at}\n`)));
    const lines = store.read("a.md").text.trimEnd().split("\n").map(Number);
    expect(lines.toSorted((left, right) => left - right)).toEqual(numbers);
  });

  test("needs an absolute root", () => {
    expect(thrownBy(() => new NotesStore({ root: "notes", agent: AGENT }))).toMatchObject({ code: "invalid_argument" });
  });
});

describe("a path", () => {
  test("that no note can have is refused before the disk is touched", async () => {
    const store = newStore();
    for (const path of ["", "..", "../x", "/etc/passwd", "a\\b", "nul", "a/./b"]) {
      await expect(store.write(path, "x")).rejects.toMatchObject({ code: "invalid_path" });
      expect(thrownBy(() => store.read(path))).toMatchObject({ code: "invalid_path" });
    }
    expect(treeOf(join(store.root, ".."))).toEqual([]);
  });

  test("that is missing is named with those that look like it", async () => {
    const store = newStore();
    await store.write("checkpoint.md", "x");
    expect(String(thrownBy(() => store.read("chekpoint.md")))).toContain(
      `The note "${AGENT}/notes/chekpoint.md" does not exist. There is "${AGENT}/notes/checkpoint.md".`,
    );
    expect(String(thrownBy(() => store.read("zzz")))).toContain("notes_list_files_by_prefix");
  });

  test("below a note, or of a directory, says what is in the way", async () => {
    const store = newStore();
    await store.write("a.md", "x");
    await store.write("sub/b.md", "x");
    for (const attempt of [store.write("a.md/c.md", "y"), store.append("sub", "y")]) {
      await expect(attempt).rejects.toMatchObject({ code: "invalid_path" });
    }
    expect(String(thrownBy(() => store.read("a.md/c.md")))).toContain('"a.md" is a note, not a directory');
    expect(String(thrownBy(() => store.read("sub")))).toContain(
      'is a directory of notes. Name a note in it: list the prefix "sub/"',
    );
    expect(treeOf(store.root)).toEqual(["a.md", "sub", "sub/b.md"]);
  });

  test("that differs in case only is a collision where the disk does not tell them apart", async () => {
    const root = join(temporaryDirectory(), "notes");
    const store = new NotesStore({ root, agent: AGENT, disk: caseInsensitiveDisk(root) });
    await store.write("Plan.md", "x");
    await store.write("sub/a.md", "x");
    for (const path of ["plan.md", "Sub/b.md"]) {
      await expect(store.write(path, "y")).rejects.toMatchObject({ code: "name_collision" });
      await expect(store.append(path, "y")).rejects.toMatchObject({ code: "name_collision" });
    }
    expect(String(thrownBy(() => store.read("plan.md")))).toContain('the existing "Plan.md"');
    expect(store.read("Plan.md").text).toBe("x");
    expect(treeOf(root)).toEqual(["Plan.md", "sub", "sub/a.md"]);
  });
});

describe("links and special files", () => {
  async function withLinks() {
    const base = temporaryDirectory();
    const store = new NotesStore({ root: join(base, "notes"), agent: AGENT });
    await store.write("a.md", "needle");
    mkdirSync(join(base, "outside"));
    writeFileSync(join(base, "outside", "x.md"), "needle outside");
    symlinkSync(join(base, "outside"), join(store.root, "out"));
    symlinkSync(join(base, "outside", "x.md"), join(store.root, "link.md"));
    symlinkSync(join(store.root, "a.md"), join(store.root, "inner.md"));
    symlinkSync(join(base, "outside", "new.md"), join(store.root, "dangling.md"));
    return { base, store };
  }

  test.each(["out/x.md", "out/new.md", "link.md", "inner.md", "dangling.md"])(
    "%s is neither read nor written",
    async (path) => {
      const { base, store } = await withLinks();
      await expect(store.write(path, "overwritten")).rejects.toMatchObject({ code: "refused" });
      await expect(store.append(path, "overwritten")).rejects.toThrow("a symbolic link");
      expect(thrownBy(() => store.read(path))).toMatchObject({ code: "refused" });
      expect(treeOf(join(base, "outside"))).toEqual(["x.md"]);
      expect(readFileSync(join(base, "outside", "x.md"), "utf8")).toBe("needle outside");
      expect(store.read("a.md").text).toBe("needle");
    },
  );

  test("are not listed or searched, and that is said", async () => {
    const { store } = await withLinks();
    expect(names(store)).toEqual(["a.md"]);
    expect(store.search({ query: "needle" }).files.map(({ path }) => path)).toEqual(["a.md"]);
    expect(
      store
        .list()
        .leftOut.map(({ path }) => path)
        .sort(),
    ).toEqual(["dangling.md", "inner.md", "link.md", "out"]);
  });

  test("in the place of the root or of its meta directory are not followed", async () => {
    const { base, store } = await withLinks();
    symlinkSync(store.root, join(base, "linked"));
    const linked = new NotesStore({ root: join(base, "linked"), agent: AGENT });
    await expect(linked.write("a.md", "x")).rejects.toMatchObject({ code: "refused" });
    expect(thrownBy(() => linked.read("a.md"))).toMatchObject({ code: "refused" });
    expect(linked.list().leftOut).toEqual([{ path: "", reason: "a symbolic link" }]);
    rmSync(`${store.root}.meta/tmp`, { recursive: true });
    symlinkSync(join(base, "outside"), `${store.root}.meta/tmp`);
    await expect(store.write("a.md", "x")).rejects.toMatchObject({ code: "refused" });
    expect(store.read("a.md").text).toBe("needle");
    expect(treeOf(join(base, "outside"))).toEqual(["x.md"]);
  });
});

describe("a list", () => {
  test("takes a string prefix and orders by name, creation or update", async () => {
    const clock = handClock();
    const store = newStore({ now: clock.now });
    for (const path of ["b.md", "checkpoint.md", "a/check.md", "checks/x.md"]) {
      await store.write(path, path);
      clock.ms += 1_000;
    }
    await store.append("b.md", "again");
    expect(names(store)).toEqual(["a/check.md", "b.md", "checkpoint.md", "checks/x.md"]);
    expect(names(store, { prefix: "check" })).toEqual(["checkpoint.md", "checks/x.md"]);
    expect(names(store, { prefix: "checks/" })).toEqual(["checks/x.md"]);
    expect(names(store, { prefix: "checks/x.mdx" })).toEqual([]);
    expect(names(store, { order: "descending" })[0]).toBe("checks/x.md");
    expect(names(store, { orderBy: "created_at" })).toEqual(["b.md", "checkpoint.md", "a/check.md", "checks/x.md"]);
    expect(names(store, { orderBy: "updated_at", order: "descending" })[0]).toBe("b.md");
    expect(store.list({ limit: 1 })).toMatchObject({ total: 4, rows: [{ path: "a/check.md", bytes: 10 }] });
  });

  test("keeps the creation time through overwrites; the update time is the file's", async () => {
    const clock = handClock();
    const store = newStore({ now: clock.now });
    const created = new Date(clock.ms).toISOString();
    await store.write("a.md", "x");
    expect(store.list().rows).toEqual([{ path: "a.md", bytes: 1, createdAt: created, updatedAt: created }]);
    clock.ms += DAY_MS;
    await store.write("a.md", "xy");
    const updated = new Date(clock.ms).toISOString();
    expect(store.list().rows).toEqual([{ path: "a.md", bytes: 2, createdAt: created, updatedAt: updated }]);
    expect(store.read("a.md").updatedAt).toBe(updated);
    utimesSync(join(store.root, "a.md"), 0, 0);
    expect(store.list().rows[0]?.updatedAt).toBe("1970-01-01T00:00:00.000Z");
  });

  test("of notes that were there before gives them their file's earliest time, for good", async () => {
    const clock = handClock();
    const store = newStore({ now: clock.now });
    mkdirSync(store.root);
    writeFileSync(join(store.root, "old.md"), "x");
    utimesSync(join(store.root, "old.md"), 0, 0);
    const before = store.list().rows[0]?.createdAt;
    await store.append("old.md", "y");
    expect(before).toBe("1970-01-01T00:00:00.000Z");
    expect(store.list().rows[0]?.createdAt).toBe(before);
  });

  test("takes a note that was deleted and written again for a new one", async () => {
    const clock = handClock();
    const store = newStore({ now: clock.now });
    await store.write("a.md", "x");
    rmSync(join(store.root, "a.md"));
    clock.ms += DAY_MS;
    expect(await store.write("a.md", "y")).toEqual({ bytes: 1, created: true });
    expect(store.list().rows[0]?.createdAt).toBe(new Date(clock.ms).toISOString());
  });

  test("refuses creation times of a newer format and gets over damaged ones", async () => {
    const store = newStore();
    await store.write("a.md", "x");
    const [record = ""] = treeOf(`${store.root}.meta/created`);
    const file = join(`${store.root}.meta/created`, record);
    const newer = readFileSync(file, "utf8").replace('"version":1', '"version":2');
    writeFileSync(file, newer);
    expect(thrownBy(() => store.list())).toMatchObject({ code: "newer_format" });
    await expect(store.write("a.md", "y")).rejects.toMatchObject({ code: "newer_format" });
    expect(readFileSync(file, "utf8")).toBe(newer);
    expect(store.read("a.md").text).toBe("x");
    writeFileSync(file, "{");
    expect(names(store)).toEqual(["a.md"]);
    await store.write("a.md", "y");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: 1, path: "a.md" });
  });

  test("names a directory it cannot read; a root it cannot read is an error", async () => {
    const store = newStore();
    await store.write("a.md", "x");
    await store.write("sub/b.md", "x");
    const unreadable = (at: string) => {
      const disk = watchedDisk((call, path) => {
        if (call === "readdirSync" && path === at) throw errnoError("EACCES", call);
      });
      return new NotesStore({ root: store.root, agent: AGENT, disk });
    };
    const partly = unreadable(join(store.root, "sub")).list();
    expect(partly.rows.map(({ path }) => path)).toEqual(["a.md"]);
    expect(partly.leftOut).toEqual([{ path: "sub", reason: "unreadable directory (EACCES)" }]);
    const error = thrownBy(() => unreadable(store.root).list());
    expect(error).toMatchObject({ code: "storage_failed" });
    expect(String(error)).toContain(`notes of ${AGENT} could not be listed: EACCES`);
  });

  test("leaves out files whose names are no note paths", async () => {
    const store = newStore();
    await store.write("a.md", "x");
    writeFileSync(join(store.root, "b\\c.md"), "x");
    expect(names(store)).toEqual(["a.md"]);
    expect(store.list().leftOut).toEqual([{ path: "b\\c.md", reason: expect.stringContaining("a backslash") }]);
  });
});

describe("a search", () => {
  test("gives lines by file, by name or by newest creation, and counts what is left out", async () => {
    const clock = handClock();
    const store = newStore({ now: clock.now });
    for (const path of ["b.md", "a.md", "sub/c.md", "none.md"]) {
      await store.write(path, path === "none.md" ? "x" : "needle\nno\na needle");
      clock.ms += 1_000;
    }
    await store.append("b.md", "\n");
    const found = (more: object) => store.search({ query: "needle", ...more });
    const paths = (more: object) => found(more).files.map(({ path }) => path);
    expect(paths({})).toEqual(["a.md", "b.md", "sub/c.md"]);
    expect(paths({ recentFileFirst: true })).toEqual(["sub/c.md", "a.md", "b.md"]);
    expect(paths({ prefix: "sub" })).toEqual(["sub/c.md"]);
    const needle = { line: 1, text: "needle", start: 0, end: 6 };
    // What was left out begins with `next`: in a file, and behind the last file.
    expect(found({ maxFiles: 1, maxMatchesPerFile: 1 })).toEqual({
      files: [{ path: "a.md", matches: [needle], total: 2, next: { line: 3, text: "a needle", start: 2, end: 8 } }],
      totalFiles: 3,
      totalMatches: 6,
      leftOut: [],
      next: { path: "b.md", match: needle },
    });
    expect(found({ query: "absent" })).toEqual({ files: [], totalFiles: 0, totalMatches: 0, leftOut: [] });
    expect(thrownBy(() => found({ query: "" }))).toMatchObject({ code: "invalid_argument" });
  });

  test("goes on past a note that cannot be read, and names it", async () => {
    const store = newStore();
    await store.write("a.md", "needle");
    await store.write("b.md", "needle");
    const disk = watchedDisk((call, path) => {
      if (call === "openSync" && path.endsWith("a.md")) throw errnoError("EIO", call);
    });
    const broken = new NotesStore({ root: store.root, agent: AGENT, disk });
    const { files, leftOut } = broken.search({ query: "needle" });
    expect(files.map(({ path }) => path)).toEqual(["b.md"]);
    expect(leftOut).toEqual([{ path: "a.md", reason: expect.stringContaining("EIO") }]);
  });
});

describe("sizes and copies", () => {
  test("usage counts all notes and names the large ones", async () => {
    const store = newStore({ maxFileBytes: 160 });
    await store.write("small.md", "x".repeat(10));
    await store.write("large.md", "x".repeat(11));
    expect(store.usage()).toEqual({ files: 2, totalBytes: 21, large: [{ path: "large.md", bytes: 11 }] });
  });

  test("a copy has the content and the times of the original, and the two are independent", async () => {
    const clock = handClock();
    const original = newStore({ now: clock.now });
    await original.write("a.md", "one");
    clock.ms += DAY_MS;
    await original.write("sub/b.md", "two");
    await original.append("a.md", "!");
    const copy = newStore({ maxFileBytes: 1 });
    await copy.write("sub/b.md", "3");
    expect(await copy.copyFrom(original)).toEqual({ copied: 1, leftOut: [] });
    expect(copy.list({ prefix: "a" }).rows).toEqual(original.list({ prefix: "a" }).rows);
    expect(copy.read("sub/b.md").text).toBe("3");
    await original.write("a.md", "changed");
    expect(copy.read("a.md").text).toBe("one!");
    expect(await copy.copyFrom(original)).toEqual({ copied: 0, leftOut: [] });
  });

  test("says how far it is, and leaves the rest when it is stopped", async () => {
    const original = newStore();
    for (const name of ["a", "b", "c", "d"]) await original.write(`${name}.md`, name);
    const steps: number[] = [];
    const controller = new AbortController();
    const work = {
      signal: controller.signal,
      report: (done: number, total: number) => {
        steps.push(done / total);
        if (done === 1) controller.abort();
      },
    };
    const copy = newStore();
    expect(await copy.copyFrom(original, work)).toMatchObject({ copied: 2 });
    expect(copy.list().rows.map(({ path }) => path)).toEqual(["a.md", "b.md"]);
    expect(steps.slice(0, 2)).toEqual([0, 0.25]);
    const whole = {
      signal: new AbortController().signal,
      report: (done: number, total: number) => void steps.push(done / total),
    };
    expect(await copy.copyFrom(original, whole)).toEqual({ copied: 2, leftOut: [] });
    expect(steps.at(-1)).toBe(1);
  });
});
