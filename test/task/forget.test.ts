// What removal spares, and what it takes: the storages of others in every state, without a host.
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { SessionIdentity } from "../../src/host/context.ts";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { walkPlainFiles } from "../../src/storage/tree.ts";
import { lastWritten, removeTask, sweepEphemeral, taskNamed, tasksIn } from "../../src/task/forget.ts";
import { tasksFolder } from "../../src/task/layout.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { inMemory, memberOf, newPlace, type Place } from "./tasks.ts";

const AN_HOUR_MS = 3_600_000;

/** A root without a file whose registry was written so long ago. */
async function ephemeral({ open }: Place, id: string, restedMs: number): Promise<SessionTask> {
  const { task } = open(inMemory(id));
  await task.join();
  await task.presence.markEnded();
  const written = new Date(Date.now() - restedMs);
  utimesSync(task.registry.layout.registry, written, written);
  return task;
}

const isThere = ({ context }: SessionTask) => existsSync(context.storageRoot);

test("a sweep spares the storage of who sweeps, whatever its registry says", async () => {
  const place = newPlace();
  const own = await ephemeral(place, "own", AN_HOUR_MS);
  const other = await ephemeral(place, "other", AN_HOUR_MS);
  const fresh = await ephemeral(place, "fresh", 0);
  await sweepEphemeral({ agentDir: place.agentDir, own: own.context.storageRoot });
  expect([own, other, fresh].map(isThere)).toEqual([true, false, true]);
  await sweepEphemeral({ agentDir: place.agentDir });
  expect([own, fresh].map(isThere)).toEqual([false, true]);
});

test("a session is named by its id however many newer ones there are", () => {
  const storageRoot = newPlace().base;
  const ids = Array.from({ length: 120 }, (_, n) => `s${String(n).padStart(3, "0")}`);
  for (const id of ids) mkdirSync(join(tasksFolder(storageRoot), id), { recursive: true });
  for (const id of [ids[0], ids[119]]) expect(taskNamed(storageRoot, id ?? "", {}).runId).toBe(id);
  expect(() => taskNamed(storageRoot, "s00", {})).toThrow(/is the beginning of 10 ids/);
});

test("when a session last wrote is when its journal or its registry did, and unknown of what is empty", async () => {
  const place = newPlace();
  const { task } = place.open(place.session("one"));
  await task.join();
  const { storageRoot, runId } = task.context;
  const old = new Date("2025-01-02T03:04:05.000Z");
  utimesSync(task.registry.layout.registry, old, old);
  expect(lastWritten(storageRoot, runId)).toBe(old.toISOString());
  mkdirSync(task.historyDir, { recursive: true });
  const journal = join(task.historyDir, "journal.jsonl");
  writeFileSync(journal, "");
  const later = new Date("2025-01-03T03:04:05.000Z");
  utimesSync(journal, later, later);
  expect(lastWritten(storageRoot, runId)).toBe(later.toISOString());
  expect(lastWritten(storageRoot, "nobody")).toBeUndefined();
});

test("the record of where a session is stays when it says another task by now", async () => {
  const place = newPlace();
  const session = place.session("child");
  const first = place.open(place.session("first")).task;
  const second = place.open(place.session("second")).task;
  for (const root of [first, second]) {
    await root.join();
    const { task } = place.open(session, { membership: memberOf(root) });
    await task.join();
    await task.presence.markEnded();
    await root.presence.markEnded();
  }
  const { storageRoot } = first.context;
  const located = () => place.open(session).task.context.runId;
  const records = () => readdirSync(join(storageRoot, "sessions")).length;
  const before = records();
  expect(located()).toBe("second");
  await removeTask(first.context, { agentDir: place.agentDir });
  expect(located()).toBe("second");
  expect(records()).toBe(before - 1);
  await removeTask(second.context, { agentDir: place.agentDir });
  expect(records()).toBe(before - 3);
});

test("a storage whose process is not to be seen stays until nothing was written there for a day, in journals too", async () => {
  const place = newPlace();
  const { task } = place.open(inMemory("elsewhere"));
  await task.join();
  // As a process of another container has it.
  const elsewhere = { type: "running", pid: 2 ** 30, processStart: "another boot:1" } as const;
  await task.registry.update((roster) => roster.map((agent) => ({ ...agent, state: elsewhere })));
  const journal = join(task.historyDir, "journal.jsonl");
  mkdirSync(task.historyDir, { recursive: true });
  writeFileSync(journal, "{}");
  const age = (file: string, hours: number) => {
    const written = new Date(Date.now() - hours * AN_HOUR_MS);
    utimesSync(file, written, written);
  };
  for (const [otherHours, journalHours, stays] of [
    [1, 1, true],
    [23, 48, true],
    [48, 23, true],
    [25, 25, false],
  ] as const) {
    for (const { path } of walkPlainFiles(NODE_DISK, task.context.storageRoot, () => true).files)
      age(join(task.context.storageRoot, path), otherHours);
    age(journal, journalHours);
    await sweepEphemeral({ agentDir: place.agentDir });
    expect(isThere(task)).toBe(stays);
  }
});

test("who comes while a task is removed starts anew there and loses nothing; what a killed removal leaves is swept", async () => {
  const place = newPlace();
  const make = async (identity: SessionIdentity) => {
    const { task } = place.open(identity);
    await task.join();
    await task.presence.markEnded();
    return task;
  };
  for (const identity of [inMemory("unfiled"), place.session("filed")]) {
    const ended = await make(identity);
    const { context } = ended;
    const folder = ended.isEphemeral ? context.storageRoot : ended.registry.layout.directory;
    const left: string[] = [];
    const rmSync: typeof NODE_DISK.rmSync = (path, options) => {
      if (dirname(String(path)) !== dirname(folder)) return NODE_DISK.rmSync(path, options);
      // Killed in the middle, and somebody has come meanwhile.
      left.push(String(path));
      expect(existsSync(folder)).toBe(false);
      mkdirSync(ended.registry.layout.directory, { recursive: true });
      throw new Error("killed");
    };
    await expect(removeTask(context, { agentDir: place.agentDir, disk: { ...NODE_DISK, rmSync } })).rejects.toThrow(
      "killed",
    );
    expect(left).toHaveLength(1);
    expect(dirname(left[0] ?? "")).toBe(dirname(folder));
    expect(existsSync(left[0] ?? "")).toBe(true);
    // Neither a session to be named nor one to be started again.
    expect(tasksIn(context.storageRoot, {})).toEqual([context.runId]);
    await sweepEphemeral({ agentDir: place.agentDir, own: context.storageRoot });
    expect(existsSync(left[0] ?? "")).toBe(false);
    expect(existsSync(ended.registry.layout.directory)).toBe(true);
  }
});
