// What lies on disk beside notes and journals: the lock of a holder that was killed, and the records of tasks. Real files
// in a folder of their own; what waits for the disk is timed by the clock on the wall.
import { spawn } from "node:child_process";
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId, nowText, type TaskRow } from "../src/dispatch/record/schema.ts";
import { RecordStore } from "../src/dispatch/record/store.ts";
import { LockDirectory } from "../src/storage/lock.ts";
import type { Group, Made } from "./group.ts";
import { program } from "./program.ts";

const STALE_MS = 3_000;
const SAMPLES = 3;
const RECORDS = 1_000;
const MANY_RECORDS = 10_000;
const FEW_RECORDS = 100;
const NEWEST = 20;
const RESULT_CHARS = 2_000;

/** From the kill of the holder until the lock is another's, in milliseconds. */
async function takenOverMs(folder: string): Promise<number> {
  const directory = mkdtempSync(join(folder, "locks-"));
  const holder = spawn(process.execPath, [program("holder"), directory, String(STALE_MS)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await new Promise((resolve, reject) => {
    holder.stdout.once("data", resolve);
    holder.once("exit", () => reject(new Error("the holder ended early")));
  });
  const gone = new Promise((resolve) => holder.once("close", resolve));
  holder.kill("SIGKILL");
  await gone;
  const killedMs = performance.now();
  const locks = new LockDirectory(directory, { staleMs: STALE_MS });
  return locks.withLock({ name: "bench", shown: "it" }, () => performance.now() - killedMs);
}

function inFolder(make: (folder: string) => Made | Promise<Made>): () => Promise<Made> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), "pi-token-budget-bench-"));
    const made = await make(folder);
    return { ...made, close: () => rmSync(folder, { recursive: true, force: true }) };
  };
}

function locks(folder: string): Made {
  return {
    races: [
      {
        name: `lock of a killed holder, stale after ${STALE_MS / 1_000} s`,
        against: "the stale time",
        goal: 1,
        allowanceMs: 1_500,
        isFigure: true,
        samplesMin: SAMPLES,
        ours: () => takenOverMs(folder),
        reference: () => STALE_MS,
      },
    ],
  };
}

function taskRow(): TaskRow {
  const created = nowText();
  return {
    ...{ id: newId(), rootSession: "a0", agent: "/root/counter", parent: "/root", category: null, categoryOwn: false },
    ...{ title: "Count", requirement: "Count the words of the file.", context: null, sandbox: null, runner: "session" },
    ...{ status: "processing", progress: "", steps: [], result: null, error: null, model: null, modelPinned: false },
    ...{ cwd: null, references: { agent: "/root", items: [] }, runs: 1, process: null, created, updated: created },
  };
}

/** Records that are copies of one another, as a session of years leaves them. */
async function filled(folder: string, count: number) {
  const context = { version: 1, runId: "bench", rootSessionId: "a0", storageRoot: folder } as const;
  const store = new RecordStore(context);
  const first = await store.create({ ...taskRow(), status: "completed", result: "x".repeat(RESULT_CHARS) }, []);
  const fields = JSON.parse(readFileSync(join(store.directory, `${first.task.id}.json`), "utf8")) as object;
  for (let i = 1; i < count; i++) {
    const task = { ...first.task, id: newId(), created: new Date(i * 1_000).toISOString() };
    writeFileSync(join(store.directory, `${task.id}.json`), JSON.stringify({ ...fields, task }));
  }
  store.ids();
  return { context, store, files: readdirSync(store.directory).filter((name) => name.endsWith(".json")) };
}

async function records(folder: string): Promise<Made> {
  const many = await filled(join(folder, "many"), MANY_RECORDS);
  const few = await filled(join(folder, "few"), FEW_RECORDS);
  const context = { version: 1, runId: "bench", rootSessionId: "a0", storageRoot: join(folder, "task") } as const;
  const store = new RecordStore(context);
  for (let i = 0; i < RECORDS; i++) await store.create(taskRow(), []);
  const files = readdirSync(store.directory).filter((name) => name.endsWith(".json"));
  const one = readFileSync(join(store.directory, files[0] as string));
  const target = join(folder, "by-hand.json");
  const { problems } = store.list();
  if (problems.length > 0) throw new Error(problems[0]);
  return {
    races: [
      {
        name: "task record, from accepting to its file",
        against: "write, fsync, rename by hand",
        goal: 2.5,
        waitsFor: "disk",
        ours: () => store.create(taskRow(), []),
        reference: () => {
          const file = openSync(`${target}.tmp`, "w");
          writeSync(file, one);
          fsyncSync(file);
          closeSync(file);
          renameSync(`${target}.tmp`, target);
        },
      },
      {
        name: `task records, the newest 20 of ${MANY_RECORDS.toLocaleString("en-US")}, cold`,
        against: `the same of ${FEW_RECORDS}`,
        goal: 40,
        ours: () => new RecordStore(many.context).list(NEWEST).records.length,
        reference: () => new RecordStore(few.context).list(NEWEST).records.length,
      },
      {
        name: `task records, the newest 20 of ${MANY_RECORDS.toLocaleString("en-US")}, once more`,
        against: "reading and parsing all of their files",
        goal: 0.1,
        ours: () => many.store.list(NEWEST).records.length,
        reference: () =>
          many.files.map((name) => JSON.parse(readFileSync(join(many.store.directory, name), "utf8")) as unknown)
            .length,
      },
      {
        name: `task records, list of ${RECORDS.toLocaleString("en-US")}`,
        against: "reading and parsing the same files",
        goal: 2.5,
        ours: () => store.list().records.length,
        reference: () =>
          files.map((name) => JSON.parse(readFileSync(join(store.directory, name), "utf8")) as unknown).length,
      },
    ],
  };
}

export function storedGroups(): Group[] {
  return [
    { topic: "locks", make: inFolder(locks) },
    { topic: "records", make: inFolder(records) },
  ];
}
