// What sessions without a file have left, looked at by a process whose clock is wrong, or left by one: nothing goes that a
// process out of sight may use, and nothing stays for ever.
import { lstatSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { walkPlainFiles } from "../../src/storage/tree.ts";
import { sweepEphemeral } from "../../src/task/forget.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { inMemory, newPlace, type Place } from "./tasks.ts";

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], shouldAdvanceTime: true, now: new Date() });
});
afterEach(() => {
  vi.useRealTimers();
});

const isThere = ({ context }: SessionTask) => lstatSync(context.storageRoot, { throwIfNoEntry: false }) !== undefined;

function filesOf({ context: { storageRoot } }: SessionTask): string[] {
  return walkPlainFiles(NODE_DISK, storageRoot, () => true).files.map(({ path }) => join(storageRoot, path));
}

/** All its files are of a time so far from now. */
function setTimes(task: SessionTask, ms: number): void {
  const time = new Date(Date.now() + ms);
  for (const file of filesOf(task)) utimesSync(file, time, time);
}

/** A root whose process is not to be seen from here. */
async function outOfSight({ open }: Place): Promise<SessionTask> {
  const { task } = open(inMemory("elsewhere"));
  await task.join();
  const elsewhere = { type: "running", pid: 2 ** 30, processStart: "another boot:1" } as const;
  await task.registry.update((roster) => roster.map((agent) => ({ ...agent, state: elsewhere })));
  return task;
}

async function ended({ open }: Place): Promise<SessionTask> {
  const { task } = open(inMemory("ended"));
  await task.join();
  await task.presence.markEnded();
  return task;
}

test.each([YEAR_MS, -YEAR_MS])("a clock that is %d ms off removes nothing that may be in use", async (ms) => {
  const place = newPlace();
  const tasks = [await outOfSight(place), await ended(place)];
  vi.setSystemTime(Date.now() + ms);
  await sweepEphemeral({ agentDir: place.agentDir });
  expect(tasks.map(isThere)).toEqual([true, true]);
});

test.each([
  ["of a process out of sight", outOfSight, 23, 25],
  ["of a root that has ended", ended, 0.1, 0.2],
] as const)("left %s with a clock a year ahead, it goes as if its rest began now", async (_what, make, stays, goes) => {
  const place = newPlace();
  const task = await make(place);
  setTimes(task, YEAR_MS);
  await sweepEphemeral({ agentDir: place.agentDir });
  expect(isThere(task)).toBe(true);
  const newest = Math.max(...filesOf(task).map((file) => lstatSync(file).mtimeMs));
  if (make === outOfSight) expect(newest).toBeLessThanOrEqual(Date.now() + 1_000);
  setTimes(task, -stays * HOUR_MS);
  await sweepEphemeral({ agentDir: place.agentDir });
  expect(isThere(task)).toBe(true);
  setTimes(task, -goes * HOUR_MS);
  await sweepEphemeral({ agentDir: place.agentDir });
  expect(isThere(task)).toBe(false);
});
