// Trees of plain files: where a path leads, what there is, and that no link is ever followed.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { readPlainFile } from "../../src/storage/plain-file.ts";
import { locate, makeParents, removeEmpty, walkPlainFiles } from "../../src/storage/tree.ts";
import { caseInsensitiveDisk, errnoError, temporaryDirectory, watchedDisk } from "./disks.ts";

const everything = () => true;

/** A root with `notes`: a.md, sub/b.md, a link to a file and one to a directory outside, a pipe. */
function sampleRoot(): string {
  const base = temporaryDirectory();
  const root = join(base, "notes");
  mkdirSync(join(root, "sub"), { recursive: true });
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside", "secret.md"), "secret");
  writeFileSync(join(root, "a.md"), "a");
  writeFileSync(join(root, "sub", "b.md"), "b");
  symlinkSync(join(base, "outside", "secret.md"), join(root, "link.md"));
  symlinkSync(join(base, "outside"), join(root, "out"));
  symlinkSync(join(root, "sub"), join(root, "inside"));
  symlinkSync(join(base, "nowhere"), join(root, "dangling"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  return root;
}

describe("a relative path leads to", () => {
  const root = () => sampleRoot();
  test.each([
    ["a.md", { type: "file" }],
    ["sub/b.md", { type: "file" }],
    ["c.md", { type: "missing" }],
    ["none/c.md", { type: "missing" }],
    ["sub", { type: "directory" }],
    ["a.md/c", { type: "below_file", at: "a.md" }],
    ["link.md", { type: "link", at: "link.md" }],
    ["out/secret.md", { type: "link", at: "out" }],
    ["inside/b.md", { type: "link", at: "inside" }],
    ["dangling", { type: "link", at: "dangling" }],
    ["dangling/c", { type: "link", at: "dangling" }],
    ["pipe", { type: "special", at: "pipe" }],
    ["pipe/c", { type: "special", at: "pipe" }],
  ])("%s: %o", (path, place) => {
    expect(locate(NODE_DISK, root(), path)).toMatchObject(place);
  });

  test("nothing when the root is missing, and a link when the root is one", () => {
    const base = temporaryDirectory();
    expect(locate(NODE_DISK, join(base, "none"), "a.md").type).toBe("missing");
    symlinkSync(sampleRoot(), join(base, "root"));
    expect(locate(NODE_DISK, join(base, "root"), "a.md")).toEqual({ type: "link", at: "" });
  });

  test("a collision when the disk finds it under another spelling", () => {
    const base = sampleRoot();
    const disk = caseInsensitiveDisk(base);
    expect(locate(disk, base, "A.md")).toEqual({ type: "collision", at: "A.md", existing: "a.md" });
    expect(locate(disk, base, "Sub/b.md")).toEqual({ type: "collision", at: "Sub", existing: "sub" });
    expect(locate(disk, base, "sub/b.md").type).toBe("file");
    expect(locate(disk, base, "sub/new.md").type).toBe("missing");
  });
});

describe("a walk", () => {
  test("finds plain files and says what it left out", () => {
    const { files, leftOut } = walkPlainFiles(NODE_DISK, sampleRoot(), everything);
    expect(files.map(({ path, bytes }) => [path, bytes]).sort()).toEqual([
      ["a.md", 1],
      ["sub/b.md", 1],
    ]);
    expect(leftOut.map(({ path, reason }) => `${path}: ${reason}`).sort()).toEqual([
      "dangling: a symbolic link",
      "inside: a symbolic link",
      "link.md: a symbolic link",
      "out: a symbolic link",
      "pipe: not a plain file",
    ]);
  });

  test("does not enter directories that are not wanted", () => {
    const { files } = walkPlainFiles(NODE_DISK, sampleRoot(), (directory) => directory !== "sub");
    expect(files.map(({ path }) => path)).toEqual(["a.md"]);
  });

  test("reports an unreadable directory and throws for an unreadable root", () => {
    const root = sampleRoot();
    const unreadable = (at: string) =>
      watchedDisk((call, path) => {
        if (call === "readdirSync" && path === at) throw errnoError("EACCES", call);
      });
    const { files, leftOut } = walkPlainFiles(unreadable(join(root, "sub")), root, everything);
    expect(files.map(({ path }) => path)).toEqual(["a.md"]);
    expect(leftOut).toContainEqual({ path: "sub", reason: "unreadable directory (EACCES)" });
    expect(() => walkPlainFiles(unreadable(root), root, everything)).toThrow("EACCES");
  });

  test("of a missing root finds nothing; of a link or a file in its place says so", () => {
    const base = temporaryDirectory();
    expect(walkPlainFiles(NODE_DISK, join(base, "none"), everything)).toEqual({ files: [], leftOut: [] });
    symlinkSync(sampleRoot(), join(base, "link"));
    writeFileSync(join(base, "file"), "");
    expect(walkPlainFiles(NODE_DISK, join(base, "link"), everything).leftOut[0]?.reason).toBe("a symbolic link");
    expect(walkPlainFiles(NODE_DISK, join(base, "file"), everything).leftOut[0]?.reason).toBe("not a directory");
  });

  test("does without a file that vanishes under it", () => {
    const root = sampleRoot();
    const disk = watchedDisk((call, path) => {
      if (call === "lstatSync" && path.endsWith("b.md")) throw errnoError("ENOENT", call);
    });
    expect(walkPlainFiles(disk, root, everything).files.map(({ path }) => path)).toEqual(["a.md"]);
  });
});

describe("parents of a path", () => {
  test("are made for their owner only and taken back while empty", () => {
    const root = join(temporaryDirectory(), "deep", "notes");
    const made = makeParents(NODE_DISK, root, "x/y/a.md");
    expect(made).toEqual([join(root, "x"), join(root, "x", "y")]);
    for (const directory of [root, ...made]) expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(makeParents(NODE_DISK, root, "x/y/b.md")).toEqual([]);
    writeFileSync(join(root, "x", "c.md"), "");
    removeEmpty(NODE_DISK, made);
    expect(readdirSync(join(root, "x"))).toEqual(["c.md"]);
  });

  test("are not made through a link", () => {
    const root = sampleRoot();
    expect(() => makeParents(NODE_DISK, root, "out/new/a.md")).toThrow(expect.objectContaining({ code: "refused" }));
    expect(() => makeParents(NODE_DISK, root, "a.md/b.md")).toThrow(expect.objectContaining({ code: "refused" }));
  });
});

describe("a plain file", () => {
  test("is read whole; a missing one is undefined", () => {
    const root = sampleRoot();
    expect(readPlainFile(NODE_DISK, join(root, "a.md"), "It")?.bytes.toString()).toBe("a");
    expect(readPlainFile(NODE_DISK, join(root, "none"), "It")).toBeUndefined();
  });

  test.each(["link.md", "pipe", "sub", "dangling"])("is not read in the place of %s", (name) => {
    const read = () => readPlainFile(NODE_DISK, join(sampleRoot(), name), "The note");
    expect(read).toThrow(expect.objectContaining({ code: "refused" }));
  });

  test("that became a link after it was looked at is not followed", () => {
    const root = sampleRoot();
    const plain = NODE_DISK.lstatSync(join(root, "a.md"));
    const disk = { ...NODE_DISK, lstatSync: (() => plain) as unknown as typeof NODE_DISK.lstatSync };
    const read = () => readPlainFile(disk, join(root, "link.md"), "The note");
    expect(read).toThrow(expect.objectContaining({ code: "refused" }));
  });

  test.each(["openSync", "fstatSync", "readFileSync", "closeSync"])("says so when %s fails", (name) => {
    const disk = watchedDisk((call) => {
      if (call === name) throw errnoError("EIO", call);
    });
    const read = () => readPlainFile(disk, join(sampleRoot(), "a.md"), "The note");
    expect(read).toThrow(expect.objectContaining({ code: "storage_failed" }));
    expect(read).toThrow(/The note could not be read: EIO/);
  });
});
