// What is tortured: each kind of thing that is stored, as a row of acts on it and what a reader that starts anew then sees.
// Nothing here knows how an act is to fail.
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NewFile } from "../../src/dispatch/files/roles.ts";
import { UsageLedger } from "../../src/dispatch/record/ledger.ts";
import { nowText, type TaskRow } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { JournalWriter } from "../../src/journal/writer.ts";
import { NotesStore, sweepNotes } from "../../src/notes/store.ts";
import { blobFacts, namesAt } from "../../src/storage/blobs.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { Locators } from "../../src/task/locator.ts";
import { Registry } from "../../src/task/registry.ts";
import type { Registration } from "../../src/task/roster.ts";
import { AGENT, ids, idsOf, talk } from "../journal/journals.ts";
import { TestLog } from "../log/branches.ts";
import { sessionIn } from "../task/tasks.ts";
import { contextIn, GONE, taskRow } from "./task-rows.ts";

/** Locks of what has failed amid an act are taken over after so long. */
const STALE_MS = 300;
const LOCKS = { staleLockMs: STALE_MS, lockWaitMs: 3_000 };

export interface Act {
  readonly name: string;
  readonly run: () => Promise<unknown> | unknown;
}

export interface Subject {
  readonly name: string;
  /** What has to be there before the first act. */
  readonly prepare?: (base: string) => void | Promise<void>;
  /** The acts, of one session with objects of its own. */
  readonly acts: (base: string) => readonly Act[];
  /** What a reader sees that starts now: a value that can be compared. */
  readonly see: (base: string) => unknown;
  /** What the next session does first. */
  readonly start: (base: string) => unknown;
  /** As `start`, and it may say what it cannot repair. */
  readonly repair?: (base: string) => unknown;
  /** Whether that can be shown of it, whatever has become of its files; left out, anything can. */
  readonly isShown?: (seen: unknown) => boolean;
  /** Makes it later, and the processes of before gone. */
  readonly outlive?: (base: string) => void;
  /** Others append to the file too: a line of a failed act stays, and counts. */
  readonly keepsFailed?: boolean;
  /** An act commits more than one file: one that failed may have done a part, which is whole. */
  readonly inSteps?: boolean;
}

const PATHS = ["plan.md", "sub/deep/log.md"] as const;

const notes: Subject = {
  name: "notes",
  acts: (base) => {
    let now = Date.parse("2026-01-01T00:00:00.000Z");
    const tick = () => {
      now += 1_000;
      return now;
    };
    const store = new NotesStore({ root: join(base, "notes", "a"), agent: AGENT, now: tick, ...LOCKS });
    return [
      { name: "create", run: () => store.write(PATHS[0], "one\n") },
      { name: "replace", run: () => store.write(PATHS[0], "two\n") },
      { name: "append", run: () => store.append(PATHS[0], "three 漢字\n") },
      { name: "create below folders", run: () => store.append(PATHS[1], "four\n") },
      { name: "append below folders", run: () => store.append(PATHS[1], "five\n".repeat(40)) },
      { name: "remove", run: () => store.remove(PATHS[0]) },
    ];
  },
  see: (base) => {
    const store = new NotesStore({ root: join(base, "notes", "a"), agent: AGENT });
    return store
      .list()
      .rows.map(({ path }) => [path, store.read(path).text])
      .sort();
  },
  start: (base) => sweepNotes(join(base, "notes", "a")),
};

const registration = (id: string, parent: string | null): Registration => ({
  ...{ address: parent === null ? "/root" : `/root/${id}`, named: true, parent, declared: null },
  ...{
    sessionId: id,
    sessionKey: id,
    sessionFile: null,
    created: "2026-01-02T03:04:05.678Z",
    state: { type: "ended" },
  },
});

const registry: Subject = {
  name: "registry",
  acts: (base) => {
    const store = new Registry({ context: contextIn(base), ...LOCKS });
    return [
      { name: "register the root", run: () => store.register(registration("root", null)) },
      { name: "register a child", run: () => store.register(registration("child", "/root")) },
      { name: "set a category", run: () => store.setCategory("/root", "secret") },
      { name: "register another child", run: () => store.register(registration("other", "/root")) },
    ];
  },
  see: (base) =>
    new Registry({ context: contextIn(base) })
      .read()
      .map(({ address, category, sessionId }) => [address, sessionId, category]),
  start: (base) => new Registry({ context: contextIn(base) }).sweep(),
};

const locator: Subject = {
  name: "locator",
  inSteps: true,
  prepare: async (base) => {
    for (const id of ["root", "child"]) sessionIn(join(base, `${id}.jsonl`), id);
    await new Registry({ context: contextIn(base) }).register(registration("root", null));
  },
  acts: (base) => {
    const locators = new Locators({ agentDir: join(base, "agent"), ...LOCKS });
    const save = (id: string, parent: string | null) => {
      const identity = identityIn(base, id);
      const address = parent === null ? "/root" : `/root/${id}`;
      const { sessionId, sessionFile, createdAt: sessionCreated } = identity;
      const { version: _, ...task } = contextIn(base);
      return locators.save(identity, { sessionId, sessionFile, sessionCreated, ...task, address, parent });
    };
    return [
      { name: "save that of the root", run: () => save("root", null) },
      { name: "save that of a child", run: () => save("child", "/root") },
    ];
  },
  // A locator is two files: each leads there.
  see: (base) =>
    ["root", "child"].map((id) => new Locators({ agentDir: join(base, "agent") }).find(identityIn(base, id))),
  start: (base) => new Locators({ agentDir: join(base, "agent") }).sweep(contextIn(base).storageRoot),
};

function identityIn(base: string, sessionId: string) {
  return {
    sessionId,
    sessionFile: join(base, `${sessionId}.jsonl`),
    createdAt: Date.parse("2025-01-02T03:04:05.678Z"),
  };
}

const journalIn = (base: string) => join(base, "history", "a");

/** The log of a session that has come so far. */
function logOf(turns: number): TestLog {
  const log = new TestLog();
  for (let turn = 0; turn < turns; turn++) talk(log, 1);
  return log;
}

const JOURNAL_TURNS = 4;

/** The ids of all branches that are ever committed. */
function branches(): string[] {
  return Array.from({ length: JOURNAL_TURNS + 1 }, (_, turns) => JSON.stringify(ids(logOf(turns))));
}

const journal: Subject = {
  name: "journal and its index",
  acts: (base) => {
    const log = logOf(0);
    const writer = new JournalWriter({ directory: journalIn(base), agent: AGENT, markEvery: 1, ...LOCKS });
    const sync = async (turns: number) => {
      for (; said < turns; said++) talk(log, 1);
      await writer.sync(log);
      writer.rest();
    };
    let said = 0;
    return Array.from({ length: JOURNAL_TURNS }, (_, at) => ({ name: `sync ${at + 1}`, run: () => sync(at + 1) }));
  },
  see: async (base) => idsOf(await new JournalReader({ directory: journalIn(base), agent: AGENT }).refresh()),
  // A branch that was committed, or an earlier one.
  isShown: (seen) => Array.isArray(seen) && branches().includes(JSON.stringify(seen)),
  // The session is opened again, with all that it has said.
  start: async (base) => {
    const writer = new JournalWriter({ directory: journalIn(base), agent: AGENT, markEvery: 1, ...LOCKS });
    await writer.sync(logOf(JOURNAL_TURNS));
    writer.rest();
  },
};

const ledgerIn = (base: string) => join(base, "records.meta");

const ledger: Subject = {
  name: "ledger",
  acts: (base) => {
    const store = new UsageLedger(ledgerIn(base));
    const usage = { kind: "chat", model: "p/m", input: 10, output: 1, cached: 0, amount: 0.5 } as const;
    return [
      { name: "add a task", run: () => store.addTask("0123456789abcdef") },
      { name: "add usage", run: () => store.addUsage({ task: "0123456789abcdef", run: 1 }, usage) },
      { name: "add more usage", run: () => store.addUsage({ task: "0123456789abcdef", run: 1 }, usage) },
    ];
  },
  see: (base) => new UsageLedger(ledgerIn(base)).usedOn(nowText()),
  start: () => undefined,
  keepsFailed: true,
};

const TASK = "0123456789abcdef";
const OTHER = "fedcba9876543210";

const recordsIn = (base: string) => new RecordStore(contextIn(base), { staleMs: STALE_MS, waitMs: LOCKS.lockWaitMs });
const nothingLeft = { filesOf: () => [] };

const records: Subject = {
  name: "records, their files and their index",
  prepare: (base) => {
    mkdirSync(join(base, "in"));
    for (const name of ["a.txt", "out.txt"]) writeFileSync(join(base, "in", name), `the bytes of ${name}`);
  },
  acts: (base) => {
    const store = recordsIn(base);
    const file = (filename: string, role: NewFile["role"]): NewFile => ({
      source: join(base, "in", filename),
      filename,
      role,
    });
    const run = (runs: number) => ({ id: TASK, runs, process: GONE });
    const again = (task: TaskRow): TaskRow => ({ ...task, status: "processing", runs: 2, process: GONE, result: null });
    return [
      { name: "create with an attachment", run: () => store.create(taskRow(TASK), [file("a.txt", "input")]) },
      {
        name: "finish with an output",
        run: () =>
          store.finish(
            run(1),
            { status: "completed", result: "done", error: null },
            { files: [file("out.txt", "output")] },
          ),
      },
      { name: "recover", run: () => store.recover(thisProcess(), nothingLeft) },
      { name: "run again", run: () => store.restart(TASK, again) },
      { name: "create another", run: () => store.create(taskRow(OTHER), []) },
      { name: "finish as failed", run: () => store.finish(run(2), { status: "failed", result: null, error: "no" }) },
      { name: "remember a refusal", run: () => store.addRefusal("task") },
      { name: "remove", run: () => store.remove(TASK) },
    ];
  },
  see: async (base) => {
    const store = recordsIn(base);
    const { records: all, problems } = store.list();
    const seen = all.map(async ({ task, files }) => ({
      ...{ id: task.id, status: task.status, runs: task.runs, result: task.result },
      files: await Promise.all(
        files.map(async (row) => ({ ...{ name: row.filename, role: row.role }, isWhole: await isWhole(store, row) })),
      ),
    }));
    const mayRun = store.processing().records.map(({ task }) => task.id);
    return { problems, mayRun, records: (await Promise.all(seen)).sort((a, b) => a.id.localeCompare(b.id)) };
  },
  outlive: (base) => {
    const { directory, meta } = recordsIn(base);
    const opening = join(meta, "opening");
    for (const name of namesAt(opening)) {
      const note = join(opening, name);
      writeFileSync(
        note,
        readFileSync(note, "utf8").replace(/"pid":\d+,"start":"[^"]*"/, `"pid":${GONE.pid},"start":null`),
      );
    }
    if (!existsSync(directory)) return;
    for (const path of readdirSync(directory, { recursive: true })) utimesSync(join(directory, String(path)), 1, 1);
  },
  repair: (base) => recordsIn(base).recover(thisProcess(), nothingLeft),
  start: async (base) => {
    const { problems } = await recordsIn(base).recover(thisProcess(), nothingLeft);
    if (problems.length > 0) throw new Error(problems.join("\n"));
    const { records: all } = recordsIn(base).list();
    const running = all.filter(({ task }) => task.status === "processing").map(({ task }) => task.id);
    if (running.length > 0) throw new Error(`${running.join()} of a process that is gone still runs`);
  },
};

async function isWhole(
  store: RecordStore,
  row: Parameters<RecordStore["files"]["pathOf"]>[0] & { readonly sha256: string },
) {
  return (await blobFacts(store.files.pathOf(row)))?.sha256 === row.sha256;
}

export const SUBJECTS: readonly Subject[] = [notes, registry, locator, journal, ledger, records];

/** Locks, temporaries and half-made things, by where they lie. */
const LEFT_OVER = /\.meta\/(tmp|locks|opening)\/|\.lock$|\.reclaim$/;

export function leftOversIn(base: string): string[] {
  const paths = readdirSync(base, { recursive: true, withFileTypes: true });
  return paths
    .map((entry) => join(entry.parentPath, entry.name).slice(base.length + 1))
    .filter((path) => LEFT_OVER.test(path));
}

/** Bytes of tasks that no record names. */
export function unnamedFilesIn(base: string): string[] {
  const { directory } = recordsIn(base);
  try {
    const found = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const records = found.filter(({ name }) => name.endsWith(".json") && name !== "refusals.json");
    const named = records.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8")).join("");
    return found.filter(({ name }) => !name.endsWith(".json") && !named.includes(name)).map(({ name }) => name);
  } catch {
    return [];
  }
}
