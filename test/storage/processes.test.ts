// Which processes run: this one, another one, one that is gone, and one whose id somebody else has now.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { isRunning, thisProcess } from "../../src/storage/processes.ts";
import { errnoError, watchedDisk } from "./disks.ts";

test("this process runs", () => {
  expect(thisProcess()).toEqual(thisProcess());
  expect(thisProcess().pid).toBe(process.pid);
  expect(isRunning(thisProcess())).toBe(true);
});

test("another one runs until it is gone", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  const name = { pid: Number(child.pid), start: null };
  expect(isRunning(name)).toBe(true);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  expect(isRunning(name)).toBe(false);
});

test.runIf(process.platform === "linux")("an id that is used again is another process", () => {
  const { pid, start } = thisProcess();
  expect(start).toMatch(/^[0-9a-f-]{36}:\d+$/);
  expect(isRunning({ pid, start: `${start}0` })).toBe(false);
  expect(isRunning({ pid, start: null })).toBe(true);
});

test("where the system does not say when it started, the id decides", () => {
  const disk = watchedDisk((call, path) => {
    if (path.startsWith("/proc/")) throw errnoError("EACCES", call);
  });
  expect(thisProcess(disk)).toEqual({ pid: process.pid, start: null });
  expect(isRunning({ pid: process.pid, start: "x:1" }, disk)).toBe(true);
});
