// A task that is run again while an older run of it, or its recovery, is still under way: each run ends itself alone.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { until } from "../../fixtures/pi/wait.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { Slots } from "../../src/dispatch/run/slots.ts";
import { LockedFiles } from "../../src/storage/locked-files.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench, runnerOf } from "./dispatchers.ts";

/** A process that is gone. */
const GONE = { pid: 2 ** 22 + 1, start: null };
const END = { status: "completed", result: "of run 1", error: null } as const;

/** A task whose process was killed in its first run. */
async function killed() {
  const given = bench([answering("x")]);
  const { id } = await (await given.dispatcher.dispatch({ goal: "g" })).result;
  const store = new RecordStore(given.task.context);
  const { task } = await store.update(id, (record) => ({
    ...record,
    task: { ...record.task, status: "processing", process: GONE },
  }));
  /** What another Pi does: recovers it, and a person runs it again. */
  const rerun = async () => {
    const other = new RecordStore(given.task.context);
    await other.recover(thisProcess(), { filesOf: () => [] });
    await other.restart(id, (old) => ({ ...old, status: "processing", process: thisProcess(), runs: 2 }));
  };
  return { ...given, id, task, store, rerun };
}

describe("the end of a run", () => {
  it("is not that of the run after it", async () => {
    const { store, id, task, rerun } = await killed();
    await rerun();
    let cleared = false;
    const after = await store.finish(task, END, { clear: () => (cleared = true) });
    expect(after.task).toMatchObject({ status: "processing", runs: 2 });
    expect(store.read(id).task.status).toBe("processing");
    expect(cleared).toBe(false);
    expect((await store.finish(store.read(id).task, END)).task.status).toBe("completed");
  });

  it("of a process that was taken for dead leaves the other's steps and result alone", async () => {
    let end = () => {};
    const { dispatcher, records, task } = bench([
      runnerOf(async ({ onEvent }) => {
        onEvent({ type: "step", text: "of run 1" });
        await new Promise<void>((resolve) => {
          end = resolve;
        });
        onEvent({ type: "answer", text: "late" });
      }),
    ]);
    const handle = await dispatcher.dispatch({ goal: "g" });
    const { id } = handle.task;
    const store = new RecordStore(task.context);
    await until("its step is saved", () => store.read(id).task.steps.length === 1);
    await store.update(id, (record) => ({ ...record, task: { ...record.task, runs: 2, steps: [], process: GONE } }));
    end();
    expect(await handle.result).toMatchObject({ status: "failed", error: "interrupted" });
    expect(JSON.parse(readFileSync(join(records, `${id}.json`), "utf8")).task).toMatchObject({
      ...{ status: "processing", runs: 2, steps: [], result: null },
    });
  });
});

describe("a recovery", () => {
  it("leaves a run that began after it had looked", async () => {
    const { store, id, rerun } = await killed();
    const looked = store.processing();
    await rerun();
    store.processing = () => looked;
    const asked: string[] = [];
    const { interrupted } = await store.recover(thisProcess(), {
      filesOf: ({ task }) => {
        asked.push(task.id);
        return [];
      },
      clear: ({ id: cleared }) => asked.push(cleared),
    });
    expect({ interrupted, asked }).toEqual({ interrupted: [], asked: [] });
    expect(store.read(id).task).toMatchObject({ status: "processing", runs: 2 });
  });

  it("clears what a run has left once it is over, and not while it runs", async () => {
    const { store, id, work, rerun } = await killed();
    mkdirSync(join(work, id), { recursive: true });
    const clear = () => rmSync(join(work, id), { recursive: true });
    await rerun();
    await store.whileEnded(id, clear);
    expect(existsSync(join(work, id))).toBe(true);
    await store.finish(store.read(id).task, END);
    await store.whileEnded(id, clear);
    expect(existsSync(join(work, id))).toBe(false);
  });
});

describe("a dispatch that the ledger cannot take", () => {
  it("is refused and leaves no task that seems to run", async () => {
    const { dispatcher, records } = bench([answering("x")]);
    await dispatcher.list();
    const ledger = join(`${records}.meta`, "usage.jsonl");
    mkdirSync(ledger, { recursive: true });
    await expect(dispatcher.dispatch({ goal: "g" })).rejects.toMatchObject({ code: "storage_failed" });
    expect(await dispatcher.list()).toEqual([]);
    rmSync(ledger, { recursive: true });
    writeFileSync(ledger, "");
    expect((await (await dispatcher.dispatch({ goal: "g" })).result).status).toBe("completed");
    expect(readdirSync(records)).toHaveLength(1);
  });
});

describe("a place among the tasks that run", () => {
  it("is waited for while others keep its lock, longer than one wait for a lock", async () => {
    const base = newPlace().base;
    const files = () => new LockedFiles(join(base, "meta"), { waitMs: 20 });
    const slots = new Slots({ directory: join(base, "slots"), files: files(), max: () => 1 });
    const kept = files().hold({ name: "slots", shown: "The places" }, () => delay(150));
    expect(await slots.run(new AbortController().signal, async () => "ran")).toBe("ran");
    await kept;
  });
});
