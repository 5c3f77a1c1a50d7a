// Names of agents, children that cannot join, and what is left after kills: nothing that no run will ever use.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../fixtures/pi/wait.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import type { Runner } from "../../src/dispatch/runner.ts";
import { readProcessNote, writeProcessNote } from "../../src/storage/process-note.ts";
import { isRunning, processNamed } from "../../src/storage/processes.ts";
import { errnoError, watchedDisk } from "../storage/disks.ts";
import { inMemory, newPlace } from "../task/tasks.ts";
import { answering, bench, runnerOf, scriptRunner } from "./dispatchers.ts";

const waiting = () =>
  runnerOf(
    ({ signal }) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );

/** A process that is gone. */
const GONE = { pid: 2 ** 22 + 1, start: null };

describe("one name for two tasks", () => {
  it("at once is refused, by either dispatcher of the root task, until the first one is over", async () => {
    const first = bench([waiting()]);
    const second = bench([waiting()], { place: first.place });
    const asked = [1, 2, 3].map((n) =>
      (n % 2 ? first : second).dispatcher.dispatch({ goal: "g", agentName: "reviewer" }),
    );
    const settled = await Promise.allSettled(asked);
    const refused = settled.flatMap((each) => (each.status === "rejected" ? [String(each.reason.message)] : []));
    expect(refused).toHaveLength(2);
    for (const message of refused)
      expect(message).toMatch(/\/root\/reviewer is the agent of task \w+, which is not over/);
    expect(await first.dispatcher.list()).toHaveLength(1);
    expect(readdirSync(first.records).filter((name) => name.endsWith(".json"))).toHaveLength(1);
    const opened = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    await opened[0]?.cancel();
    // It never joined, so the name is free again.
    await second.dispatcher.dispatch({ goal: "g", agentName: "reviewer" });
  });
});

describe("what kills leave behind", () => {
  it("is removed at the next start: attachments of a dispatch, working directories, folders of child processes", async () => {
    const { dispatcher, records, work, place } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    await dispatcher.close();
    const meta = `${records}.meta`;
    const half = "0123456789abcdef";
    mkdirSync(join(records, half));
    writeFileSync(join(records, half, "aaaaaaaaaaaaaaaa.txt"), "copied");
    mkdirSync(join(meta, "opening"), { recursive: true });
    writeProcessNote(join(meta, "opening", half), GONE);
    for (const name of [id, `${id}.child`, half, `${half}.child`]) mkdirSync(join(work, name), { recursive: true });
    const next = bench([answering("x")], { place });
    await next.dispatcher.list();
    expect(readdirSync(records)).toEqual([`${id}.json`]);
    expect(readdirSync(work)).toEqual([]);
    expect(readdirSync(join(meta, "opening"))).toEqual([]);
  });

  it("stays where its process still runs", async () => {
    const { dispatcher, records, place } = bench([answering("x")]);
    await dispatcher.list();
    const half = "0123456789abcdef";
    mkdirSync(join(records, half), { recursive: true });
    const opening = join(`${records}.meta`, "opening");
    mkdirSync(opening, { recursive: true });
    writeProcessNote(join(opening, half), processNamed(process.pid));
    await bench([answering("x")], { place }).dispatcher.list();
    expect(readdirSync(records)).toEqual([half]);
    expect(readdirSync(opening)).toEqual([half]);
  });

  it("is ended where it still runs without its parent", async () => {
    const { dispatcher, task, work, place } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    await dispatcher.close();
    const orphan = spawn(process.execPath, ["-e", "setInterval(() => {}, 1_000)"], { detached: true, stdio: "ignore" });
    const ended = new Promise((resolve) => orphan.once("exit", (_code, by) => resolve(by)));
    const folder = join(work, `${id}.child`);
    mkdirSync(folder, { recursive: true });
    writeProcessNote(join(folder, "process.json"), processNamed(orphan.pid ?? 0));
    await new RecordStore(task.context).update(id, (record) => ({
      ...record,
      task: { ...record.task, status: "processing", process: GONE },
    }));
    const next = bench([answering("x")], { place });
    expect(await next.dispatcher.get(id)).toMatchObject({ status: "failed", error: "interrupted" });
    expect(await ended).toBe("SIGKILL");
    expect(readdirSync(work)).toEqual([]);
  });

  it("is left alone where it cannot be known whether it is the same process", async () => {
    const { dispatcher, work, place } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    await dispatcher.close();
    const other = spawn(process.execPath, ["-e", "process.on('message', (said) => process.send(said))"], {
      ...{ detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] },
    });
    onTestFinished(() => void other.kill("SIGKILL"));
    const folder = join(work, `${id}.child`);
    mkdirSync(folder, { recursive: true });
    writeProcessNote(join(folder, "process.json"), { pid: other.pid ?? 0, start: null });
    await bench([answering("x")], { place }).dispatcher.list();
    expect(readdirSync(work)).toEqual([]);
    const answer = new Promise((resolve, reject) => {
      other.once("message", resolve);
      other.once("exit", (_code, by) => reject(new Error(`ended by ${by}`)));
    });
    other.send("still there?");
    expect(await answer).toBe("still there?");
  });

  it("keeps a note that cannot be read, and takes half a one for none", () => {
    const note = join(newPlace().base, "note");
    expect(readProcessNote(note)).toBeUndefined();
    writeFileSync(note, '{"pid":1');
    expect(readProcessNote(note)).toBeUndefined();
    writeProcessNote(note, processNamed(process.pid));
    const disk = watchedDisk((call) => {
      if (call === "openSync") throw errnoError("EMFILE", "open");
    });
    expect(() => readProcessNote(note, disk)).toThrow(/EMFILE/);
  });

  it("of a task goes with it when it is removed", async () => {
    const { dispatcher, records, work } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    mkdirSync(join(work, `${id}.child`), { recursive: true });
    await dispatcher.remove(id);
    expect(readdirSync(records)).toEqual([]);
    expect(readdirSync(work)).toEqual([]);
  });
});

describe("a task that is removed", () => {
  it("takes its agents with it, those of all runs, with their journals and notes", async () => {
    const place = newPlace();
    const kept: string[] = [];
    const joining = runnerOf(async ({ taskId, membership, onEvent }) => {
      const { task: child } = place.open(inMemory(`${taskId}${kept.length}`), { membership });
      await child.join();
      for (const folder of [child.notesRoot, child.historyDir, `${child.notesRoot}.meta`]) {
        mkdirSync(folder, { recursive: true });
        kept.push(folder);
      }
      await child.presence.markEnded();
      onEvent({ type: "answer", text: "ok" });
    });
    const { dispatcher, task } = bench([joining], { place });
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect((await (await dispatcher.rerun(id)).result).error).toBeNull();
    const other = await (await dispatcher.dispatch({ goal: "other", agentName: "other" })).result;
    expect(task.agents()).toHaveLength(4);
    await dispatcher.remove(id);
    expect(task.agents().map(({ address }) => address)).toEqual(["/root", other.agent]);
    expect(kept.map((folder) => existsSync(folder))).toEqual([...Array(6).fill(false), ...Array(3).fill(true)]);
  });
});

describe("the child process of a task", () => {
  const STARTING = `
    const { spawn } = require("node:child_process");
    const { writeFileSync } = require("node:fs");
    const grandchild = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1_000)"], { stdio: "ignore" });
    writeFileSync("output/pid.txt", String(grandchild.pid));
    line({ type: "agent_start" });
  `;
  const pidIn = (directory: string) => Number(readFileSync(join(directory, "output", "pid.txt"), "utf8"));

  it("does not start once it is cancelled", async () => {
    const cancelling = new AbortController();
    const runner = scriptRunner('require("node:fs").writeFileSync("output/started.txt", "x");');
    const late: Runner = {
      ...runner,
      run: (request) => {
        const running = runner.run({ ...request, signal: cancelling.signal });
        // It writes what the child loads now.
        cancelling.abort(new Error("cancelled"));
        return running;
      },
    };
    const { dispatcher } = bench([late]);
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(task).toMatchObject({ status: "failed", error: "cancelled", outputs: [], intermediates: [] });
  });

  it("takes with it what it has started, when it is cancelled and when it ends", async () => {
    const hanging = bench([scriptRunner(`${STARTING} setInterval(() => line({ type: "tick" }), 50);`)]);
    const handle = await hanging.dispatcher.dispatch({ goal: "g" });
    const directory = join(hanging.work, handle.task.id);
    await until("pid", () => existsSync(join(directory, "output", "pid.txt")));
    const started = processNamed(await until("number", () => pidIn(directory) || undefined));
    expect(isRunning(started)).toBe(true);
    await handle.cancel();
    await until("end of the grandchild", () => !isRunning(started), { limitMs: 5_000 });

    const answer = `line({ type: "message_end", message: { role: "assistant", content: [{ type: "text", text: String(grandchild.pid) }], stopReason: "stop" } }); process.exit(0);`;
    const ending = bench([scriptRunner(`${STARTING} ${answer}`)]);
    const { result, error } = await (await ending.dispatcher.dispatch({ goal: "g" })).result;
    expect(error).toBeNull();
    await until("end of the grandchild", () => !isRunning(processNamed(Number(result))), { limitMs: 5_000 });
  });

  it("that says only on standard error why it has no answer fails with that", async () => {
    const { dispatcher } = bench([
      scriptRunner(`process.stderr.write("could not join"); line({ type: "agent_end" });`),
    ]);
    expect((await (await dispatcher.dispatch({ goal: "g" })).result).error).toBe(
      "the runner ended without an answer: could not join",
    );
  });
});
