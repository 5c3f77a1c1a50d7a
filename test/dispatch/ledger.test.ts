// What tasks use is written down as it happens: it survives kills and the removal of its task, and quotas count from it; the
// dispatchers of one root task share one limit and one quota.
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundled } from "../../fixtures/pi/bundle.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { UsageLedger } from "../../src/dispatch/record/ledger.ts";
import { nowText } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import type { RunUsage } from "../../src/dispatch/task-view.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench, runnerOf } from "./dispatchers.ts";

const usage = (input: number, amount: number | null = 0.5): RunUsage => ({
  ...{ kind: "chat", model: "p/m", input, output: 1, cached: 0, amount },
});
const using = (...inputs: readonly number[]) =>
  runnerOf(({ onEvent }) => {
    for (const input of inputs) onEvent({ type: "usage", usage: usage(input) });
    onEvent({ type: "answer", text: "ok" });
  });
const ledgerOf = (records: string) => new UsageLedger(`${records}.meta`);

describe("the ledger", () => {
  it("counts each step, also of tasks that are removed, and quotas count from it", async () => {
    const first = bench([using(10, 20)]);
    const { id } = await (await first.dispatcher.dispatch({ goal: "g" })).result;
    await first.dispatcher.remove(id);
    expect(ledgerOf(first.records).usedOn(nowText())).toEqual({ tokens: 32, amount: 1, tasks: 1 });
    const asked: unknown[] = [];
    const next = bench([answering("x")], {
      place: first.place,
      settings: { taskQuota: { tokens: 32 } },
      quota: (used) => {
        asked.push(used);
        return { allowed: true };
      },
    });
    await expect(next.dispatcher.dispatch({ goal: "g" })).rejects.toThrow(/today's tasks used 32 tokens of 32/);
    const free = bench([answering("x")], {
      place: first.place,
      quota: (used) => {
        asked.push(used);
        return { allowed: true };
      },
    });
    await free.dispatcher.dispatch({ goal: "g" });
    expect(asked).toEqual([{ tokens: 32, amount: 1, tasks: 1 }]);
  });

  it("is read on by who has read it, and passes over half a line", async () => {
    const { records, dispatcher } = bench([using(10)]);
    const ledger = ledgerOf(records);
    await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(ledger.usedOn(nowText())).toEqual({ tokens: 11, amount: 0.5, tasks: 1 });
    appendFileSync(join(`${records}.meta`, "usage.jsonl"), '{"v":1,"at":"2');
    await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(ledger.usedOn(nowText())).toEqual({ tokens: 22, amount: 1, tasks: 2 });
    expect(ledger.usedOn("2020-01-01T00:00:00.000Z")).toEqual({ tokens: 0, amount: 0, tasks: 0 });
    expect(ledgerOf(records).usedOn(nowText())).toEqual({ tokens: 22, amount: 1, tasks: 2 });
  });

  it("begins with the records of before once, whoever is first, and also where a run comes first", async () => {
    const { records, dispatcher, place, task } = bench([using(10)]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const file = join(`${records}.meta`, "usage.jsonl");
    const once = { tokens: 11, amount: 0.5, tasks: 1 };
    rmSync(file);
    const stores = [1, 2, 3].map(() => new RecordStore(task.context));
    expect(await Promise.all(stores.map((store) => store.usedOn(nowText())))).toEqual([once, once, once]);
    await dispatcher.close();
    rmSync(file);
    await (await bench([using(5)], { place }).dispatcher.rerun(id)).result;
    expect(ledgerOf(records).usedOn(nowText())).toEqual({ tokens: 17, amount: 1, tasks: 1 });
  });

  it("begins with what the records of before say", async () => {
    const { records, dispatcher, place } = bench([using(10)]);
    await (await dispatcher.dispatch({ goal: "g" })).result;
    await dispatcher.close();
    rmSync(join(`${records}.meta`, "usage.jsonl"));
    const next = bench([answering("x")], { place, settings: { taskQuota: { tokens: 11 } } });
    await expect(next.dispatcher.dispatch({ goal: "g" })).rejects.toThrow(/used 11 tokens of 11/);
  });

  it("gives a run whose process was killed its usage", async () => {
    const place = newPlace();
    const child = bundled(new URL("./children/dispatching.ts", import.meta.url));
    const run = spawn(process.execPath, [child, place.base], { stdio: ["ignore", "pipe", "inherit"] });
    const closed = new Promise((resolve) => run.once("close", resolve));
    const id = await new Promise<string>((resolve) => {
      run.stdout.once("data", (piece: Buffer) => resolve(piece.toString().trim()));
    });
    run.kill("SIGKILL");
    await closed;
    const { dispatcher } = bench([answering("x")], { place });
    expect((await dispatcher.get(id)).usage).toMatchObject([
      { kind: "chat", model: "p/m", input: 7, output: 3, amount: 0.25 },
    ]);
  });

  it("that cannot be written is told of once, and stops no run", async () => {
    const { dispatcher, records, problems } = bench([
      runnerOf(({ onEvent }) => {
        const file = join(`${records}.meta`, "usage.jsonl");
        rmSync(file);
        mkdirSync(file);
        for (const input of [1, 2]) onEvent({ type: "usage", usage: usage(input) });
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(task).toMatchObject({ status: "completed", usage: [{ input: 3 }] });
    expect(problems).toEqual([expect.stringMatching(/^Task \w+: .*(EISDIR|directory)/)]);
  });
});

describe("two dispatchers of one root task", () => {
  it("share one limit of tasks that run at once, and the next one gets the place at once", async () => {
    let running = 0;
    let most = 0;
    const release: (() => void)[] = [];
    const counting = runnerOf(async ({ onEvent }) => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => release.push(resolve));
      running--;
      onEvent({ type: "answer", text: "ok" });
    });
    const settings = { maxConcurrentTasks: 2 };
    const one = bench([counting], { settings });
    const two = bench([counting], { settings, place: one.place });
    const handles = [];
    for (let n = 0; n < 6; n++) handles.push(await (n % 2 ? one : two).dispatcher.dispatch({ goal: "g" }));
    await until("two running", () => running === 2);
    expect((await one.dispatcher.dispatch({ goal: "g" })).task.progress).toBe("queued");
    for (let n = 0; n < 7; n++) {
      await until("a place", () => release.length > 0);
      release.shift()?.();
    }
    expect((await Promise.all(handles.map(({ result }) => result))).map(({ status }) => status)).toEqual(
      Array(6).fill("completed"),
    );
    expect(most).toBe(2);
  });

  it("let a task wait for tasks of its own, which have a limit of their own", async () => {
    const place = newPlace();
    const settings = { maxConcurrentTasks: 1 };
    const inner = bench([answering("inner")], { place, settings, parent: { agentName: "/root/outer" } });
    const waiting = runnerOf(async ({ onEvent }) => {
      const handles = [await inner.dispatcher.dispatch({ goal: "a" }), await inner.dispatcher.dispatch({ goal: "b" })];
      const results = await Promise.all(handles.map(({ result }) => result));
      onEvent({ type: "answer", text: results.map(({ result }) => result).join(" and ") });
    });
    const { dispatcher } = bench([waiting], { place, settings });
    const handle = await dispatcher.dispatch({ goal: "g", agentName: "outer" });
    expect(await handle.result).toMatchObject({ status: "completed", result: "inner and inner" });
  });

  it("in two processes share it too, and a killed one gives its place back", async () => {
    const place = newPlace();
    const child = bundled(new URL("./children/dispatching.ts", import.meta.url));
    const run = spawn(process.execPath, [child, place.base], { stdio: ["ignore", "pipe", "inherit"] });
    const closed = new Promise((resolve) => run.once("close", resolve));
    await new Promise((resolve) => run.stdout.once("data", resolve));
    const { dispatcher } = bench([answering("x")], { place, settings: { maxConcurrentTasks: 1 } });
    const handle = await dispatcher.dispatch({ goal: "g" });
    expect(handle.task.progress).toBe("queued");
    expect((await dispatcher.get(handle.task.id)).status).toBe("processing");
    run.kill("SIGKILL");
    await closed;
    expect(await handle.result).toMatchObject({ status: "completed" });
  });
});
