// A sync that has written, and then cannot read what it needs to know the entries by: the write stands, and is never said
// not to.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { call, openerDetails, TestLog, text } from "../log/branches.ts";
import { errnoError, watchedDisk } from "../storage/disks.ts";
import { ids, idsOf, logFile, newDirectory, readerOf, writerOf } from "./journals.ts";

const MEGABYTE = 1_000_000;

/**
 * A session opened again, whose next entry is placed by a tool batch that is too long to stay in memory; after the next write
 * `fails` decides whether a file can be opened.
 */
async function reopened(fails: (opened: number) => boolean) {
  const log = new TestLog();
  log.user("hello");
  log.assistant(text("x".repeat(9 * MEGABYTE)), call("open-2", "new_context"));
  log.result("open-2", "new_context", "opened", openerDetails(2));
  const directory = newDirectory();
  await writerOf(directory, { markEvery: 1 }).sync(log);
  let hasWritten = false;
  let opened = 0;
  const disk = watchedDisk((name) => {
    if (name === "writeSync") hasWritten = true;
    if (name === "openSync" && hasWritten && fails(opened++)) throw errnoError("EMFILE", name);
  });
  const writer = writerOf(directory, { disk, markEvery: 1 });
  log.user("and now?");
  log.assistant(text("done"));
  const written = () => readFileSync(logFile(directory), "utf8").split('\n{"entry":').length - 1;
  return { log, directory, writer, written, failed: () => opened };
}

test("it is read by the next turn when that works", async () => {
  const { log, directory, writer, written, failed } = await reopened((opened) => opened === 0);
  await writer.sync(log);
  expect(failed()).toBeGreaterThan(0);
  expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
  log.user("more");
  await writer.sync(log);
  expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
  expect(written()).toBe(ids(log).length);
});

test("a failure that lasts is not said to be one of writing, and the next sync works", async () => {
  let lasts = true;
  const { log, directory, writer, written } = await reopened(() => lasts);
  const error: unknown = await writer.sync(log).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "storage_failed", message: expect.stringMatching(/was written, but.*EMFILE/) });
  expect(String(error)).not.toMatch(/Nothing was changed|is unchanged/);
  expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
  lasts = false;
  log.user("more");
  await writer.sync(log);
  expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
  expect(written()).toBe(ids(log).length);
});
