// The doctor finds what is wrong, on real folders, and says how to mend it.
import { chmodSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  checkAdapter,
  checkCopies,
  checkJournal,
  checkLocks,
  checkNotes,
  checkSettings,
  checkStorage,
  checkTools,
  checkVersions,
  checkWindows,
  isStorageBlocked,
} from "../../src/doctor/checks.ts";
import { doctorReport } from "../../src/doctor/report.ts";
import { NotesStore } from "../../src/notes/store.ts";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { temporaryDirectory } from "../storage/disks.ts";

function folder(name: string, mode = 0o700): string {
  const path = join(temporaryDirectory(), name);
  mkdirSync(path, { mode });
  chmodSync(path, mode);
  return path;
}

describe("the doctor", () => {
  it("finds a folder that others can read, one that is in the way, and none where there is none", () => {
    expect(checkStorage([folder("private")])).toMatchObject({ mend: undefined });
    expect(checkStorage([join(temporaryDirectory(), "later")])).toMatchObject({
      mend: undefined,
      text: expect.stringContaining("made with the first write"),
    });
    const open = folder("open", 0o755);
    expect(checkStorage([folder("private"), open]).mend).toContain(`chmod 700 ${JSON.stringify(open)} (it is 755`);
    const file = join(temporaryDirectory(), "file");
    writeFileSync(file, "in the way");
    expect(checkStorage([join(file, "below")]).mend).toContain(`move away what is there (it is no folder)`);
    // One cause, one remedy, however many folders it keeps away.
    const below = [join(file, "a"), join(file, "b", "c")] as const;
    expect(checkStorage([file, ...below]).mend).toBe(checkStorage([file]).mend);
    expect([isStorageBlocked(below), isStorageBlocked([folder("free"), open])]).toEqual([true, false]);
  });

  it("finds locks that nobody keeps fresh, and leaves fresh ones alone", () => {
    const locks = folder("locks");
    const file = join(temporaryDirectory(), "journal.jsonl.lock");
    mkdirSync(join(locks, "fresh"));
    mkdirSync(join(locks, "old"));
    // A request for a turn, and a guard, are no locks.
    const beside = [join(locks, "other.waiting"), join(locks, "other.reclaim")];
    for (const path of beside) mkdirSync(path);
    writeFileSync(file, "");
    const before = new Date(Date.now() - 60_000);
    expect(checkLocks([locks, join(locks, "none")], [file])).toMatchObject({ mend: undefined });
    for (const path of [join(locks, "old"), file, ...beside]) utimesSync(path, before, before);
    const found = checkLocks([locks], [file]);
    expect(found.text).toBe(`2 left by a process that ended: ${join(locks, "old")}, ${file}`);
    expect(found.mend).toContain("takes them over");
  });

  it("judges versions, tools, settings, copies, journal and adapter", () => {
    const host = { name: "@mariozechner/pi-coding-agent", version: "0.73.1" };
    expect(checkVersions({ host, node: "20.20.2", own: "0.1.0" })).toMatchObject({ mend: undefined });
    expect(checkVersions({ host, node: "20.5.0", own: "0.1.0" }).mend).toContain("Node 20.6");
    expect(checkVersions({ host: { ...host, version: "9.9.9" }, node: "24.0.0", own: "1" }).text).toContain(
      "tested with",
    );
    expect(checkTools(["a", "b"], ["a", "b"], ["b", "c"])).toMatchObject({
      text: "missing: a",
      mend: expect.any(String),
    });
    expect(checkTools(["a"], ["a"], ["a"]).mend).toBeUndefined();
    expect(checkTools(["a", "b"], ["b"], ["a", "b"])).toMatchObject({
      text: "all 1 are there; left out by the setting tools: a",
    });
    expect(checkSettings([]).mend).toBeUndefined();
    expect(checkSettings(["x is no setting."]).text).toBe("x is no setting.");
    expect(checkCopies(["0.1.0", "0.2.0"]).text).toContain("2 more");
    expect(checkAdapter({ type: "unavailable", diagnostic: "update pi-subagents" }, false).mend).toBe(
      "update pi-subagents",
    );
    const open = checkAdapter(undefined, false);
    expect([open.mend, doctorReport([open])]).toEqual([undefined, expect.stringMatching(/^\? pi-subagents: .*asked/)]);
    expect(doctorReport([open])).not.toContain("Nothing is wrong");
    const journal = { items: 10, journaled: 10, directory: "/j", isStopped: false };
    expect(checkJournal(journal).mend).toBeUndefined();
    expect(checkJournal({ ...journal, journaled: 4, isStopped: true }).mend).toContain("resume the session");
    expect(checkJournal({ ...journal, journaled: { error: "it is damaged" } }).mend).toContain("Move /j away");
  });

  it("says why windows have stepped aside and how they come back, and whether a person has them", () => {
    expect(checkWindows({ enabled: true, aside: undefined })).toMatchObject({
      text: "kept in this session",
      mend: undefined,
    });
    expect(checkWindows({ enabled: false, aside: undefined }).text).toContain("/token-budget on");
    const aside = { short: "disk full", because: "the disk is full", wayBack: "Make room, then /token-budget on." };
    expect(checkWindows({ enabled: false, aside })).toMatchObject({
      text: "off in this session: the disk is full",
      mend: "Make room, then /token-budget on.",
    });
  });

  it("reports each finding on a line, bounded, without control characters", () => {
    const report = doctorReport([checkTools(["a"], ["a"], ["a"]), checkSettings(["one \u001b[31m is wrong."])]);
    expect(report.split("\n")).toEqual([
      "✓ tools: all 1 are there",
      "✗ settings: one \\u001b[31m is wrong.",
      "  → Correct it there, then /reload.",
      "1 of 2 needs fixing.",
    ]);
    const many = Array.from({ length: 500 }, (_, n) => `problem ${n} `.repeat(20));
    expect([...doctorReport([checkSettings(many)])].length).toBeLessThan(9_000);
  });
});

describe("the doctor's note", () => {
  it("is written, read and removed, and leaves nothing but empty folders", async () => {
    const root = join(temporaryDirectory(), "notes");
    const notes = new NotesStore({ root, agent: "/root" });
    expect(await checkNotes(notes)).toMatchObject({ mend: undefined, text: "one was written, read back and removed" });
    const left = [root, `${root}.meta`].flatMap((folder) => filesBelow(folder));
    expect(left).toEqual([]);
  });

  it("finds a folder that takes no note, a full disk and a store that gives back something else", async () => {
    const inTheWay = join(temporaryDirectory(), "notes");
    writeFileSync(inTheWay, "in the way");
    const found = await checkNotes(new NotesStore({ root: inTheWay, agent: "/root" }));
    expect(found.mend).toContain("no checkpoint can be saved");

    const full = { ...NODE_DISK, renameSync: () => failing("ENOSPC") };
    const onFullDisk = new NotesStore({ root: join(temporaryDirectory(), "notes"), agent: "/root", disk: full });
    expect((await checkNotes(onFullDisk)).text).toContain("Free disk space");

    const root = join(temporaryDirectory(), "notes");
    const forgetful = {
      ...NODE_DISK,
      readFileSync: (() => Buffer.from("else")) as unknown as typeof NODE_DISK.readFileSync,
    };
    const other = await checkNotes(new NotesStore({ root, agent: "/root", disk: forgetful }));
    expect(other.text).toContain("what was read back is not what was written");
    expect(filesBelow(root)).toEqual([]);
  });
});

function failing(code: string): never {
  throw Object.assign(new Error(code), { code });
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}
