// What care costs an ordinary start, in calls of the file system: looking for copies, left-overs and sessions that left
// something behind must not be felt.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sweepEphemeral } from "../../src/task/forget.ts";
import { openTask } from "../../src/task/open.ts";
import { temporaryDirectory, watchedDisk } from "../storage/disks.ts";

function counted() {
  const calls: string[] = [];
  return { calls, disk: watchedDisk((call, path) => void calls.push(`${call} ${path}`)) };
}

async function start() {
  const base = temporaryDirectory();
  const agentDir = join(base, "agent");
  const sessionFile = join(base, "sessions", "s.jsonl");
  for (const folder of [agentDir, join(base, "sessions")]) mkdirSync(folder);
  const identity = { sessionId: "s", sessionFile, createdAt: 0 };
  const open = (disk: ReturnType<typeof watchedDisk>) => openTask({ identity, agentDir, disk });
  return { agentDir, open };
}

test("a start looks once for other agents' notes, once for sessions without a file, once for removals that were cut off", async () => {
  const { agentDir, open } = await start();
  await open(watchedDisk(() => undefined)).join();
  const { calls, disk } = counted();
  const task = open(disk);
  calls.length = 0;
  expect(task.presence.earlierProcess).toBeUndefined();
  expect(task.otherNotes()).toEqual([]);
  await sweepEphemeral({ agentDir, disk, own: task.context.storageRoot });
  expect(calls).toHaveLength(3);
});

test("a new session looks once more, for the session that it may be a copy of, and its first write twice, for git", async () => {
  const { open } = await start();
  const { calls, disk } = counted();
  const task = open(disk);
  const registryLooks = calls.filter((call) => call.endsWith("registry.json"));
  // For the session that it may be a copy of, and for who is known there.
  expect(registryLooks).toHaveLength(2);
  await task.join();
  const again = counted();
  await open(again.disk).join();
  expect(again.calls.filter((call) => call.endsWith(".gitignore"))).toHaveLength(1);
});
