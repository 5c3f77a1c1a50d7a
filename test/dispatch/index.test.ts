// The index of task records: lists and recovery read only what they show or mend, and the records stay what counts.
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Records } from "../../src/dispatch/record/records.ts";
import { newId, nowText, type TaskRow } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench } from "./dispatchers.ts";

/** A process that is gone. */
const GONE = { pid: 2 ** 22 + 1, start: null };

function row(n: number, more: Partial<TaskRow> = {}): TaskRow {
  const created = new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
  return {
    ...{ id: newId(), rootSession: "a0", agent: "/root/a", parent: "/root", category: null, categoryOwn: false },
    ...{ title: `task ${n}`, requirement: "r", context: null, sandbox: null, runner: "session", status: "completed" },
    ...{ progress: "", steps: [], result: "r", error: null, model: null, modelPinned: false, cwd: null },
    ...{ references: { agent: "/root", items: [] }, runs: 1, process: null, created, updated: nowText() },
    ...more,
  };
}

/** Counts the records that this store alone reads from its making on. */
class CountingStore extends RecordStore {
  readonly #read = vi.spyOn(Records.prototype, "read").mockClear();

  get reads(): number {
    return this.#read.mock.calls.length;
  }
}

async function filled(count: number) {
  const place = newPlace();
  const { task } = place.open(place.session("root"));
  const store = new RecordStore(task.context);
  const rows = Array.from({ length: count }, (_, n) => row(n));
  for (const each of rows) await store.create(each, []);
  return { place, context: task.context, rows, store, index: join(store.meta, "index.jsonl") };
}

const nothingLeft = { filesOf: () => [] };

describe("with many records", () => {
  it("a list reads those that it shows, and a recovery those that may run", async () => {
    const { context, rows, store } = await filled(60);
    await store.create(row(100, { status: "processing", process: GONE }), []);
    const cold = new CountingStore(context);
    expect(cold.list(5).records.map(({ task }) => task.title)).toEqual([
      "task 100",
      ...[59, 58, 57, 56].map((n) => `task ${n}`),
    ]);
    expect(cold.reads).toBe(5);
    expect(cold.ids()).toHaveLength(rows.length + 1);
    expect(cold.reads).toBe(5);
    const starting = new CountingStore(context);
    const { interrupted } = await starting.recover(thisProcess(), nothingLeft);
    expect(interrupted.map(({ task }) => task.title)).toEqual(["task 100"]);
    expect(starting.reads).toBeLessThan(8);
    const again = new CountingStore(context);
    expect((await again.recover(thisProcess(), nothingLeft)).interrupted).toEqual([]);
    expect(again.reads).toBeLessThan(4);
  });

  it("is made anew where it is gone, and mended where it lacks a record or has half a line", async () => {
    const { context, index, store } = await filled(5);
    const titles = (from: RecordStore) => from.list().records.map(({ task }) => task.title);
    const all = [4, 3, 2, 1, 0].map((n) => `task ${n}`);
    expect(titles(store)).toEqual(all);
    rmSync(index);
    expect(titles(new RecordStore(context))).toEqual(all);
    expect(titles(store)).toEqual(all);
    expect(existsSync(index)).toBe(true);
    writeFileSync(index, readFileSync(index, "utf8").split("\n").slice(2).join("\n"));
    appendFileSync(index, '{"v":1,"id":"0123');
    expect(titles(store)).toEqual(all);
    expect(titles(new RecordStore(context))).toEqual(all);
    await store.remove(store.ids()[0] ?? "");
    expect(titles(new RecordStore(context))).toEqual(all.slice(1));
  });

  it("a rerun that was killed is known to have run", async () => {
    const { context, store } = await filled(3);
    const [id = ""] = store.ids();
    await store.recover(thisProcess(), nothingLeft);
    await store.restart(id, (task) => ({ ...task, status: "processing", process: GONE, runs: 2 }));
    const { interrupted } = await new RecordStore(context).recover(thisProcess(), nothingLeft);
    expect(interrupted.map(({ task }) => task.id)).toEqual([id]);
  });
});

describe("a dispatcher", () => {
  it("lists the newest, and all ids", async () => {
    const { dispatcher } = bench([answering("x")]);
    const ids = [];
    for (let n = 0; n < 4; n++) ids.unshift((await (await dispatcher.dispatch({ goal: `g${n}` })).result).id);
    expect(await dispatcher.ids()).toEqual(ids);
    const newest = await dispatcher.list({ limit: 2, viewer: "person" });
    expect(newest.map((task) => "id" in task && task.id)).toEqual(ids.slice(0, 2));
    await expect(dispatcher.list({ limit: -1 })).rejects.toThrow(/limit is -1/);
  });
});
