// Real processes on one journal: several writers of one session, and writers that are killed at any instant. What was
// acknowledged is readable, nothing is there twice, and no reader ever sees a part of a branch.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { chance } from "../../fixtures/story/random.ts";
import type { JournalReader } from "../../src/journal/reader.ts";
import { figure, rounds, seed } from "../rounds.ts";
import { exitCodeOf, kill } from "../storage/children.ts";
import { temporaryDirectory } from "../storage/disks.ts";
import { branchUpTo, idOf, SHARED_ENTRIES } from "./children/shared-session.ts";
import { newDirectory, readerOf } from "./journals.ts";

const KILLS = rounds(9, 60, 300);
const SEED = seed(4);
const ENTRIES_EACH = rounds(8, 20);
const WRITERS = 3;
const STALE_MS = 1_000;
const TEST_MS = 120_000 + KILLS * 4_000;
const LONGEST_LIFE_MS = 250;

/** Compiled once: a process that only has to run starts ten times as fast. */
async function compiledChild(): Promise<string> {
  const outfile = join(temporaryDirectory(), "sync-journal.mjs");
  const entry = fileURLToPath(new URL("./children/sync-journal.ts", import.meta.url));
  const banner = { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' };
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    banner,
    logLevel: "error",
  });
  return outfile;
}

class Writers {
  readonly #file: string;
  readonly #directory: string;
  /** The number of the last acknowledged entry of each. */
  readonly acknowledged = new Map<string, number>();

  constructor(file: string, directory: string) {
    this.#file = file;
    this.#directory = directory;
  }

  start(name: string, more = 0): ChildProcess {
    const from = (this.acknowledged.get(name) ?? -1) + 1;
    const child = fork(this.#file, [this.#directory, name, String(from), String(more), String(STALE_MS)], {
      execArgv: [],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.on("message", (number) => {
      this.acknowledged.set(name, Math.max(this.acknowledged.get(name) ?? -1, Number(number)));
    });
    return child;
  }
}

async function expectWhole(reader: JournalReader, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const promised = [...acknowledged];
  const source = await reader.refresh();
  const ids = source.rows.map(({ head }) => head.id);
  const leaf = ids.at(-1);
  if (promised.length > 0) expect(leaf).toBeDefined();
  if (leaf === undefined) return;
  expect(ids).toEqual(branchUpTo(leaf));
  for (const [name, number] of promised) {
    const id = idOf(name, number);
    const row = source.row(id) ?? source.rowElsewhere(id);
    expect(row?.entry.id, `the acknowledged entry ${id}`).toBe(id);
  }
}

function writtenIds(directory: string): string[] {
  const lines = readFileSync(join(directory, "journal.jsonl"), "utf8").split("\n");
  return lines.filter((line) => line.startsWith('{"entry"')).map((line) => JSON.parse(line).entry.id);
}

test("writers of one session in several processes lose nothing and write nothing twice", {
  timeout: TEST_MS,
}, async () => {
  const directory = newDirectory();
  const writers = new Writers(await compiledChild(), directory);
  const names = Array.from({ length: WRITERS }, (_, at) => `w${at}`);
  const children = names.map((name) => writers.start(name, ENTRIES_EACH));
  const reader = readerOf(directory);
  const ended = Promise.all(children.map(exitCodeOf));
  let running = true;
  void ended.then(() => {
    running = false;
  });
  while (running) {
    await expectWhole(reader, new Map(writers.acknowledged));
    await sleep(10);
  }
  expect(await ended).toEqual(names.map(() => 0));
  await expectWhole(reader, writers.acknowledged);
  await expectWhole(readerOf(directory), writers.acknowledged);
  const written = writtenIds(directory);
  expect(new Set(written).size).toBe(written.length);
  expect(written).toHaveLength(SHARED_ENTRIES + WRITERS * ENTRIES_EACH);
  expect([...writers.acknowledged.values()]).toEqual(names.map(() => ENTRIES_EACH - 1));
  expect(readdirSync(directory).sort()).toEqual(["journal.index", "journal.jsonl"]);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
});

test(`writers that are killed at any instant, ${KILLS} times`, { timeout: TEST_MS }, async () => {
  const luck = chance(SEED);
  const file = await compiledChild();
  let kills = 0;
  // Several journals, so that first journals are cut off too.
  while (kills < KILLS) {
    const directory = newDirectory();
    const writers = new Writers(file, directory);
    const reader = readerOf(directory);
    const names = Array.from({ length: WRITERS }, (_, at) => `w${at}`);
    const children = names.map((name) => writers.start(name));
    for (const last = Math.min(KILLS, kills + 12); kills < last; kills++) {
      const victim = kills % WRITERS;
      const child = children[victim] as ChildProcess;
      // From its start, from an acknowledgement, or from nothing in particular.
      if (kills % 3 > 0) await Promise.race([once(child, "message"), once(child, "exit")]);
      expect(child.exitCode, `the writer ${victim}, kill ${kills}`).toBeNull();
      await sleep(luck.between(0, kills % 3 === 1 ? 12 : LONGEST_LIFE_MS));
      await kill(child);
      await expectWhole(reader, new Map(writers.acknowledged));
      children[victim] = writers.start(names[victim] as string);
    }
    for (const child of children) if (child.connected) child.send("stop");
    expect(await Promise.all(children.map(exitCodeOf))).toEqual(names.map(() => 0));
    await expectWhole(reader, writers.acknowledged);
    await expectWhole(readerOf(directory), writers.acknowledged);
    const written = writtenIds(directory);
    expect(new Set(written).size).toBe(written.length);
    expect(readdirSync(directory).sort()).toEqual(["journal.index", "journal.jsonl"]);
  }
  figure("kills", KILLS);
});
