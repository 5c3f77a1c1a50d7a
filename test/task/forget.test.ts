// What removal spares, and what it takes: the storages of others in every state, without a host.
import { existsSync, mkdirSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeTask, sweepEphemeral, taskNamed } from "../../src/task/forget.ts";
import { tasksFolder } from "../../src/task/layout.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { inMemory, memberOf, newPlace, type Place } from "./tasks.ts";

const AN_HOUR_MS = 3_600_000;

/** A root without a file whose registry was written so long ago. */
async function ephemeral({ open }: Place, id: string, restedMs: number): Promise<SessionTask> {
  const { task } = open(inMemory(id));
  await task.join();
  await task.markEnded();
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

test("the record of where a session is stays when it says another task by now", async () => {
  const place = newPlace();
  const session = place.session("child");
  const first = place.open(place.session("first")).task;
  const second = place.open(place.session("second")).task;
  for (const root of [first, second]) {
    await root.join();
    const { task } = place.open(session, { membership: memberOf(root) });
    await task.join();
    await task.markEnded();
    await root.markEnded();
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
