// A waiter's request for a turn lies beside the lock as long as it waits, and no longer, however the wait ends.
import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { LockDirectory } from "../../src/storage/lock.ts";
import { errnoError, temporaryDirectory, watchedDisk } from "./disks.ts";

const NAME = "note";
const request = { name: NAME, shown: "The note" };

/** A lock that another one holds, and a waiter that has asked for a turn. */
async function asked(waitMs?: number) {
  const directory = temporaryDirectory();
  let isBroken = false;
  const disk = watchedDisk((call, path) => {
    if (isBroken && call === "lstatSync" && path === join(directory, NAME)) throw errnoError("EIO", call);
  });
  mkdirSync(join(directory, NAME));
  const waiting = new LockDirectory(directory, { disk, waitMs }).withLock(request, () => "let in");
  waiting.catch(() => undefined);
  await vi.waitUntil(() => existsSync(join(directory, `${NAME}.waiting`)), { timeout: 10_000, interval: 5 });
  const breakDisk = () => {
    isBroken = true;
  };
  return { directory, waiting, breakDisk };
}

test("a waiter that gets in by itself takes its request back", async () => {
  const { directory, waiting } = await asked();
  // Its holder never looks for requests.
  rmdirSync(join(directory, NAME));
  expect(await waiting).toBe("let in");
  expect(readdirSync(directory)).toEqual([]);
});

test("a waiter that gives up takes its request back", async () => {
  const { directory, waiting } = await asked(1_000);
  await expect(waiting).rejects.toMatchObject({ code: "lock_unavailable" });
  expect(readdirSync(directory)).toEqual([NAME]);
});

test("a waiter whose disk fails takes its request back", async () => {
  const { directory, waiting, breakDisk } = await asked();
  breakDisk();
  await expect(waiting).rejects.toThrow("EIO");
  expect(readdirSync(directory)).toEqual([NAME]);
});
