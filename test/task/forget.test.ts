// What removal spares, and what it takes: the storages of others in every state, without a host.
import { existsSync, utimesSync } from "node:fs";
import { expect, test } from "vitest";
import { sweepEphemeral } from "../../src/task/forget.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { inMemory, newPlace, type Place } from "./tasks.ts";

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
