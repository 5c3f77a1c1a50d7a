// What processes that died leave to those that live: their tasks have an end as soon as somebody looks, it is told once, and
// nothing that another process has stored meanwhile goes. A start reads what it mends, and a prompt what it tells.
import nodeFs, { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FINISHED_TASKS_MAX } from "../../src/dispatch/brief/transcript.ts";
import { newId } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import type { TaskView } from "../../src/dispatch/task-view.ts";
import { writeProcessNote } from "../../src/storage/process-note.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { answering, bench, runnerOf } from "./dispatchers.ts";

/** A process that is gone. */
const GONE = { pid: 2 ** 22 + 1, start: null };

const writing = runnerOf(({ cwd, onEvent }) => {
  writeFileSync(join(cwd, "output", "a.txt"), "a");
  onEvent({ type: "answer", text: "ok" });
});

/** Marks a task as one that a process which is gone was running. */
async function die(store: RecordStore, id: string): Promise<void> {
  await store.update(id, (record) => ({ ...record, task: { ...record.task, status: "processing", process: GONE } }));
}

/** How often records are opened while this runs. */
async function readsOf(records: string, work: () => Promise<unknown>): Promise<number> {
  let reads = 0;
  const open = nodeFs.openSync;
  const spy = vi.spyOn(nodeFs, "openSync").mockImplementation((path, ...rest) => {
    if (String(path).startsWith(`${records}/`) && String(path).endsWith(".json")) reads++;
    return open(path, ...rest);
  });
  onTestFinished(() => spy.mockRestore());
  await work();
  spy.mockRestore();
  return reads;
}

describe("among many records", () => {
  it.each([10, 1_000])(
    "of %d a start reads none that has ended, and a prompt at most those that it may tell",
    async (count) => {
      const { dispatcher, records, place } = bench([writing]);
      const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
      const one = readFileSync(join(records, `${id}.json`), "utf8");
      for (let n = 1; n < count; n++) {
        const other = newId();
        const [file = ""] = readdirSync(join(records, id));
        mkdirSync(join(records, other));
        writeFileSync(join(records, other, file), "a");
        writeFileSync(join(records, `${other}.json`), one.replaceAll(id, other));
      }
      expect(await dispatcher.ids()).toHaveLength(count);
      await dispatcher.close();
      const next = bench([answering("x")], { place });
      expect(await readsOf(records, () => next.dispatcher.ids())).toBeLessThan(4);
      const reads = await readsOf(records, async () => (await next.dispatcher.dispatch({ goal: "next" })).result);
      expect(reads).toBeGreaterThan(Math.min(count, FINISHED_TASKS_MAX));
      expect(reads).toBeLessThan(Math.min(count, FINISHED_TASKS_MAX) + 20);
      // Ended tasks are looked at no more.
      expect(await readsOf(records, () => next.dispatcher.ids())).toBeLessThan(2);
    },
  );
});

describe("a recovery", () => {
  it("leaves what another process has stored of a task that it runs again meanwhile", async () => {
    const { dispatcher, task, records } = bench([writing]);
    const first = await (await dispatcher.dispatch({ goal: "first" })).result;
    const second = await (await dispatcher.dispatch({ goal: "second" })).result;
    const store = new RecordStore(task.context);
    for (const { id } of [first, second]) await die(store, id);
    const other = new RecordStore(task.context);
    const source = join(records, "..", "new.txt");
    writeFileSync(source, "new");
    let stored = "";
    await store.recover(thisProcess(), {
      filesOf: async ({ task: { id } }) => {
        // The newest is the first to be ended; the other one is its turn.
        if (id !== first.id) return [];
        await other.restart(second.id, (row) => ({ ...row, status: "processing", process: thisProcess(), runs: 2 }));
        const [row] = await other.files.add(second.id, [{ source, filename: "new.txt", role: "output" }]);
        stored = other.files.pathOf(row ?? { task: "", storedName: "" });
        return [];
      },
    });
    expect(readFileSync(stored, "utf8")).toBe("new");
  });

  it("removes what a killed process had stored of its end, and nothing that a record names", async () => {
    const { dispatcher, task, records, place } = bench([writing]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const [named = ""] = readdirSync(join(records, id));
    const opening = join(`${records}.meta`, "opening");
    await dispatcher.close();
    const half = () => {
      writeFileSync(join(records, id, "aaaaaaaaaaaaaaaa.txt"), "half");
      writeProcessNote(join(opening, id), GONE);
    };
    // Killed before its commit, and behind it.
    half();
    await die(new RecordStore(task.context), id);
    expect(await bench([writing], { place }).dispatcher.get(id)).toMatchObject({ status: "failed" });
    expect(readdirSync(join(records, id))).toEqual([named]);
    half();
    await bench([writing], { place }).dispatcher.ids();
    expect(readdirSync(join(records, id))).toEqual([named]);
    expect(readdirSync(opening)).toEqual([]);
    expect(existsSync(join(records, id, named))).toBe(true);
  });
});

describe("a task whose process died", () => {
  it("has an end for a process that lives on, as soon as somebody looks, and it is told once", async () => {
    const told: TaskView[] = [];
    const { dispatcher, task } = bench([writing], { interrupted: (tasks) => told.push(...tasks) });
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const store = new RecordStore(task.context);
    const looks = [
      () => dispatcher.list(),
      () => dispatcher.get(id),
      () => dispatcher.ids(),
      () => dispatcher.cancel(id),
    ];
    for (const look of looks) {
      await die(store, id);
      await Promise.all([look(), look()]);
      expect(store.read(id).task).toMatchObject({ status: "failed", error: "interrupted" });
      expect(told.splice(0)).toMatchObject([{ id, status: "failed", error: "interrupted" }]);
    }
    await die(store, id);
    expect(await (await dispatcher.rerun(id)).result).toMatchObject({ status: "completed" });
    await die(store, id);
    await dispatcher.remove(id);
    expect(await dispatcher.ids()).toEqual([]);
  });
});
