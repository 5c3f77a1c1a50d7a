// Signals to a program that runs a task in another process, and to that process: nothing of the task runs on.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bundled } from "../../fixtures/pi/bundle.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { isRunning, processNamed } from "../../src/storage/processes.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench, scriptRunner } from "./dispatchers.ts";

/** Starts another process, says which both are in a file, and goes on; it takes the place of the file as its word. */
const runnerSource = (pids: string) => `
const { spawn } = require("node:child_process");
const { writeFileSync, renameSync } = require("node:fs");
const deaf = "for (const by of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(by, () => {}); setInterval(() => {}, 1_000)";
const child = spawn(process.execPath, ["-e", deaf], { stdio: "ignore" });
writeFileSync(${JSON.stringify(`${pids}.tmp`)}, [process.pid, child.pid].join("\\n"));
renameSync(${JSON.stringify(`${pids}.tmp`)}, ${JSON.stringify(pids)});
setInterval(() => console.log(JSON.stringify({ type: "tick" })), 100);
`;

async function processesIn(pids: string) {
  await until("its processes", () => existsSync(pids));
  const named = readFileSync(pids, "utf8")
    .split("\n")
    .map((pid) => processNamed(Number(pid)));
  onTestFinished(() => {
    for (const each of named) if (isRunning(each)) process.kill(each.pid, "SIGKILL");
  });
  expect(named.map((each) => isRunning(each))).toEqual([true, true]);
  return named;
}

const ends = (named: Awaited<ReturnType<typeof processesIn>>) =>
  until("the end of all", () => named.every((each) => !isRunning(each)), { limitMs: 5_000 });

describe("a program that a signal ends", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "by %s takes the process of its task with it, and its task is found interrupted",
    async (by) => {
      const place = newPlace();
      const pids = join(place.base, "pids");
      const script = join(place.base, "runner.cjs");
      writeFileSync(script, runnerSource(pids));
      const program = bundled(new URL("./children/with-runner.ts", import.meta.url));
      const child = spawn(process.execPath, [program, place.base, script, PACKAGE_DIR], {
        stdio: ["ignore", "inherit", "inherit"],
      });
      const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
      onTestFinished(() => void child.kill("SIGKILL"));
      const named = await processesIn(pids);
      child.kill(by);
      expect(await ended).toBe(by);
      await ends(named);
      const { dispatcher } = bench([answering("x")], { place });
      expect(await dispatcher.list()).toMatchObject([{ status: "failed", error: "interrupted" }]);
    },
  );
});

describe("the process of a task", () => {
  it("that is interrupted itself fails the task with that, and leaves nothing running", async () => {
    const pids = join(newPlace().base, "pids");
    const { dispatcher, work } = bench([scriptRunner(runnerSource(pids))]);
    const handle = await dispatcher.dispatch({ goal: "g" });
    const named = await processesIn(pids);
    process.kill(named[0]?.pid ?? 0, "SIGINT");
    expect(await handle.result).toMatchObject({ status: "failed", error: "the runner was ended by SIGINT" });
    await ends(named);
    expect(readdirSync(work)).toEqual([]);
  });

  it("ends with what has left its group: each command of Pi's bash leads one of its own", async () => {
    const pids = join(newPlace().base, "pids");
    const source = runnerSource(pids).replace('{ stdio: "ignore" }', '{ stdio: "ignore", detached: true }');
    const { dispatcher } = bench([scriptRunner(source)]);
    const handle = await dispatcher.dispatch({ goal: "g" });
    const named = await processesIn(pids);
    await handle.cancel();
    expect(await handle.result).toMatchObject({ status: "cancelled" });
    await ends(named);
  });

  it("leaves no listener behind", async () => {
    const { dispatcher } = bench([
      scriptRunner(
        'line({ type: "message_end", message: { role: "assistant", content: [{ type: "text", text: "x" }], stopReason: "stop" } });',
      ),
    ]);
    const run = async () => (await (await dispatcher.dispatch({ goal: "g" })).result).status;
    // The first one loads what listens for locks.
    expect(await run()).toBe("completed");
    const before = process.listenerCount("SIGINT");
    expect(await run()).toBe("completed");
    expect(process.listenerCount("SIGINT")).toBe(before);
  });
});
