// The journal's index is never needed and never trusted: whatever happened to it, the same history is read, and the next
// writer makes it anew.
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JournalReader } from "../../src/journal/reader.ts";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import { expectSame } from "../history/conformance.ts";
import { sourceOf } from "../history/sources.ts";
import { AGENT, expectReads, ids, idsOf, indexFile, journalOf, logFile, readerOf, talk, writerOf } from "./journals.ts";

const SEED = 20_260_301;

describe("an index", () => {
  const damages: readonly (readonly [string, (file: string) => void])[] = [
    ["is missing", (file) => rmSync(file)],
    ["is empty", (file) => writeFileSync(file, "")],
    ["is cut inside its header", (file) => truncateSync(file, 100)],
    ["is cut inside a record", (file) => truncateSync(file, statSync(file).size - 17)],
    ["is cut at half", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
    [
      "is noise",
      (file) =>
        writeFileSync(
          file,
          Buffer.from(
            fc.sample(fc.uint8Array({ minLength: 6_000, maxLength: 7_000 }), {
              numRuns: 1,
              seed: SEED,
            })[0] as Uint8Array,
          ),
        ),
    ],
    [
      "holds noise behind its header",
      (file) => writeFileSync(file, Buffer.concat([readFileSync(file).subarray(0, 192), Buffer.alloc(9_000, 0x5a)])),
    ],
    [
      "is a directory",
      (file) => {
        rmSync(file);
        mkdirSync(file);
      },
    ],
  ];

  test.each(damages)("that %s is made anew, and nothing is read otherwise meanwhile", async (name, damage) => {
    const { log, directory } = await journalOf(60);
    const good = readFileSync(indexFile(directory));
    damage(indexFile(directory));
    await expectReads(directory, log);
    // A writer that knows the journal, and one that starts now.
    talk(log, 1);
    await writerOf(directory).sync(log);
    await expectReads(directory, log);
    talk(log, 30);
    await writerOf(directory).sync(log);
    await expectReads(directory, log);
    if (name === "is a directory") return;
    const repaired = readFileSync(indexFile(directory));
    // Made from its start by one process, as the one that was lost.
    expect(repaired.subarray(0, good.length).equals(good)).toBe(true);
  });

  test("with any one byte wrong is used up to there and no further", async () => {
    const { log, directory } = await journalOf(30);
    const good = readFileSync(indexFile(directory));
    const expected = ids(log);
    for (let at = 0; at < good.length; at += 97) {
      const bytes = Buffer.from(good);
      bytes[at] = (bytes[at] as number) ^ 0x40;
      writeFileSync(indexFile(directory), bytes);
      const source = await readerOf(directory).refresh();
      expect(idsOf(source)).toEqual(expected);
      expect(source.windows).toHaveLength(2);
    }
  });

  test("of another journal, or of this one before it was begun again, is not used", async () => {
    const one = await journalOf(40);
    const other = await journalOf(50);
    copyFileSync(indexFile(other.directory), indexFile(one.directory));
    await expectReads(one.directory, one.log);
    rmSync(logFile(one.directory));
    await writerOf(one.directory).sync(one.log);
    await expectReads(one.directory, one.log);
  });

  test("is behind the log when its writer was killed in between, and is carried on", async () => {
    const { log, directory } = await journalOf(40);
    const old = readFileSync(indexFile(directory));
    talk(log, 60);
    await writerOf(directory).sync(log);
    const now = readFileSync(indexFile(directory));
    writeFileSync(indexFile(directory), old);
    await expectReads(directory, log);
    talk(log, 30);
    await writerOf(directory).sync(log);
    expect(readFileSync(indexFile(directory)).subarray(0, now.length).equals(now)).toBe(true);
    await expectReads(directory, log);
  });

  test("that does not fit the log is left aside after one error", async () => {
    const { log, directory } = await journalOf(40);
    const reader = readerOf(directory);
    const source = await reader.refresh();
    // The same length and the same commits, but an entry is not where it was.
    const bytes = readFileSync(logFile(directory));
    const first = bytes.indexOf('{"entry":');
    bytes.fill("x", first, first + 9);
    writeFileSync(logFile(directory), bytes);
    expect(() => source.rows.at(0)?.entry).toThrow(expect.objectContaining({ code: "storage_failed" }));
    expect(() => source.rows.at(0)?.entry).toThrow(/its index does not fit it/);
    writeFileSync(logFile(directory), bytes.fill('{"entry":', first, first + 9));
    expectSame(await reader.refresh(), sourceOf(log), ids(log).slice(0, 5));
  });

  test("of an older format is made anew", async () => {
    const { log, directory } = await journalOf(40);
    const older = readFileSync(indexFile(directory), "latin1").replace('"version":4', '"version":3');
    writeFileSync(indexFile(directory), older, "latin1");
    await expectReads(directory, log);
    talk(log, 40);
    await writerOf(directory).sync(log);
    await expectReads(directory, log);
    expect(readFileSync(indexFile(directory), "latin1")).toContain('"version":4');
  });

  test("of a newer format is left alone", async () => {
    const { log, directory } = await journalOf(40);
    const newer = readFileSync(indexFile(directory), "latin1").replace('"version":4', '"version":5');
    writeFileSync(indexFile(directory), newer, "latin1");
    await expectReads(directory, log);
    talk(log, 40);
    await writerOf(directory).sync(log);
    await expectReads(directory, log);
    expect(readFileSync(indexFile(directory), "latin1")).toBe(newer);
  });

  test("is what a reader uses: it reads only the log's last commit and what it returns", async () => {
    const { log, directory } = await journalOf(200);
    let bytes = 0;
    const readSync = ((...args: Parameters<DiskCalls["readSync"]>) => {
      const read = NODE_DISK.readSync(...args);
      bytes += read;
      return read;
    }) as DiskCalls["readSync"];
    const disk = { ...NODE_DISK, readSync };
    const source = await new JournalReader({ directory, agent: AGENT, disk }).refresh();
    expect(source.rows.length).toBe(ids(log).length);
    bytes -= statSync(indexFile(directory)).size;
    expect(bytes).toBeLessThan(1_000);
    expect(source.rows.at(-1)).toBeUndefined();
    expect(source.rows.at(source.rows.length - 1)?.entry.id).toBe(ids(log).at(-1));
    expect(bytes).toBeLessThan(3_000);
  });
});
