// A journal that lost a part of its middle: what was written last reached the disk and something before it did not, as a
// power cut leaves it, or bytes went bad. Readers show a whole branch, and say so as soon as they meet the damage; the
// session's own writer makes it good.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { TestLog } from "../log/branches.ts";
import { rounds } from "../rounds.ts";
import { ids, idsOf, indexFile, logFile, newDirectory, readerOf, talk, writerOf } from "./journals.ts";

const COMMITS = 8;
const BLOCK = 512;
const STEP = rounds(5, 1);

/** A journal of so many commits, none flushed; with what was shown after each. */
async function committed(markEvery?: number) {
  const log = new TestLog();
  const directory = newDirectory();
  const writer = writerOf(directory, { markEvery });
  const shown: string[][] = [[]];
  for (let commit = 0; commit < COMMITS; commit++) {
    talk(log, 1);
    await writer.sync(log, { flush: commit < 2 });
    shown.push(ids(log));
  }
  writer.rest();
  return { log, directory, shown, whole: readFileSync(logFile(directory)) };
}

/** A part of a sync on a busy machine has a commit too, without a leaf. */
const COMMIT = '{"commit":{"leaf"';

function endsOfCommits(whole: Buffer): number[] {
  const ends: number[] = [];
  for (let at = whole.indexOf(COMMIT); at !== -1; at = whole.indexOf(COMMIT, at + 1))
    ends.push(whole.indexOf("\n", at) + 1);
  return ends;
}

/** Where the third commit begins. */
function unflushed(whole: Buffer): number {
  return endsOfCommits(whole)[1] ?? 0;
}

/** What a reader shows: a branch that was whole once. Undefined when it says that the journal is damaged. */
async function branchShown(directory: string, shown: readonly string[][]): Promise<string[] | undefined> {
  try {
    const seen = idsOf(await readerOf(directory).refresh());
    expect(shown).toContainEqual(seen);
    return seen;
  } catch (error) {
    expect(error).toMatchObject({ code: "storage_failed" });
    expect(String(error)).toMatch(/damaged.*its session is opened again/);
    return undefined;
  }
}

/** Every entry once, whole. */
async function expectMended(directory: string, log: TestLog): Promise<void> {
  await writerOf(directory).sync(log);
  for (const without of ["nothing", "the index"]) {
    if (without === "the index") rmSync(indexFile(directory), { force: true });
    const source = await readerOf(directory).refresh();
    expect(source.rows.map(({ entry }) => entry)).toEqual(log.entries);
  }
  const lines = readFileSync(logFile(directory), "utf8").split("\n");
  const written = lines.filter((line) => line.startsWith('{"entry"')).map((line) => JSON.parse(line).entry.id);
  expect(written).toEqual(ids(log));
}

function filled(bytes: Buffer, from: number, length: number, value: string | number): Buffer {
  return Buffer.from(bytes).fill(value, from, Math.min(bytes.length, from + length));
}

const HARMS: Readonly<Record<string, (bytes: Buffer, from: number) => Buffer>> = {
  "a block of zeros": (bytes, from) => filled(bytes, from, BLOCK, 0),
  "two blocks of zeros": (bytes, from) => filled(bytes, from, 2 * BLOCK, 0),
  "a block of what was there before": (bytes, from) => filled(bytes, from, BLOCK, "old bytes\n"),
  "a missing block": (bytes, from) => Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + BLOCK)]),
  "one wrong byte": (bytes, from) => filled(bytes, from + 99, 1, 0x37),
};

describe.each(Object.keys(HARMS))("a journal with %s", (harm) => {
  test.each([undefined, 1])("anywhere in its middle (marks every %s)", async (markEvery) => {
    const { log, directory, shown, whole } = await committed(markEvery);
    const index = markEvery && readFileSync(indexFile(directory));
    // What the index holds was on the disk.
    const first = index ? unflushed(whole) : whole.indexOf("\n") + 1;
    for (let from = Math.ceil(first / BLOCK) * BLOCK; from < whole.length; from += BLOCK * STEP) {
      if (index) writeFileSync(indexFile(directory), index);
      writeFileSync(logFile(directory), HARMS[harm]?.(whole, from) ?? whole);
      const seen = await branchShown(directory, shown);
      // An older branch is only shown when no commit is whole behind the harm.
      if (seen && seen.length < ids(log).length)
        expect(from + 2 * BLOCK).toBeGreaterThan(endsOfCommits(whole).at(-2) ?? 0);
      await expectMended(directory, log);
    }
  });
});

describe("a journal without one of its commits", () => {
  test.each(["removed", "zeroed"])("%s whole", async (how) => {
    const { log, directory, shown, whole } = await committed();
    const ends = [whole.indexOf("\n") + 1, ...endsOfCommits(whole)];
    expect(ends).toHaveLength(COMMITS + 1);
    for (let commit = 0; commit < COMMITS; commit++) {
      const [from = 0, to = 0] = ends.slice(commit, commit + 2);
      const rest = [whole.subarray(0, from), how === "zeroed" ? Buffer.alloc(to - from) : Buffer.alloc(0)];
      writeFileSync(logFile(directory), Buffer.concat([...rest, whole.subarray(to)]));
      const seen = await branchShown(directory, shown);
      // What nothing follows was never committed.
      expect(seen).toEqual(commit === COMMITS - 1 ? shown[commit] : undefined);
      await expectMended(directory, log);
    }
  });

  test("that was only seen, not flushed, is in no index that says more than the disk", async () => {
    const { log, directory, shown, whole } = await committed(1);
    // Two commits were flushed; the power goes off, and the third is lost.
    const third = unflushed(whole);
    const fourth = endsOfCommits(whole)[2];
    writeFileSync(logFile(directory), Buffer.from(whole).fill(0, third, fourth));
    expect(await branchShown(directory, shown)).toBeUndefined();
    await expectMended(directory, log);
  });
});

describe("damage before what the index holds", () => {
  async function damagedEarly() {
    const { log, directory, shown, whole } = await committed(1);
    // All of it was on the disk once, and in the index.
    talk(log, 1);
    await writerOf(directory, { markEvery: 1 }).sync(log);
    const from = endsOfCommits(whole)[0] ?? 0;
    const bytes = readFileSync(logFile(directory));
    writeFileSync(logFile(directory), bytes.fill(0, from, from + 9));
    return { log, directory, at: shown[1]?.length ?? 0 };
  }
  const says =
    /is damaged: a part of .*journal\.jsonl is missing.*Remove .*journal\.index.*its session is opened again/;

  test("is told when it is met, and from then on: no older branch is shown in silence", async () => {
    const { log, directory, at } = await damagedEarly();
    const reader = readerOf(directory);
    const source = await reader.refresh();
    // What does not meet it is read.
    expect(source.rows.length).toBe(ids(log).length);
    expect(source.rows.at(0)?.entry.id).toBe(ids(log)[0]);
    expect(() => source.rows.at(at)?.entry).toThrow(/its index does not fit it.*Repeat the call/);
    for (let times = 0; times < 2; times++) await expect(reader.refresh()).rejects.toThrow(says);
  });

  test("is made good as the message says, and then shown by readers that met it", async () => {
    const { log, directory, at } = await damagedEarly();
    const reader = readerOf(directory);
    const source = await reader.refresh();
    expect(() => source.rows.at(at)?.entry).toThrow();
    await expect(reader.refresh()).rejects.toThrow(says);
    rmSync(indexFile(directory));
    await expectMended(directory, log);
    expect(idsOf(await reader.refresh())).toEqual(ids(log));
  });
});

test("a reader that knows a journal that is then mended follows it", async () => {
  const { log, directory, shown, whole } = await committed();
  const reader = readerOf(directory);
  expect(idsOf(await reader.refresh())).toEqual(shown[COMMITS]);
  const from = whole.indexOf('{"entry"', whole.length / 2);
  writeFileSync(logFile(directory), Buffer.from(whole).fill(0, from, from + 100));
  log.goTo(shown[2]?.at(-1) ?? null);
  talk(log, 40);
  await writerOf(directory).sync(log);
  const branch = idsOf(await readerOf(directory).refresh());
  expect(branch.length).toBeGreaterThan(100);
  expect(idsOf(await reader.refresh())).toEqual(branch);
});
