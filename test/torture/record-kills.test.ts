// Processes that dispatch tasks and end them, killed at any moment: what they have said is there, whole, and the next start
// ends what they have left.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { chance } from "../../fixtures/story/random.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { blobFacts } from "../../src/storage/blobs.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { figure, rounds, seed } from "../rounds.ts";
import { exitCodeOf, kill, startChild } from "../storage/children.ts";
import { temporaryDirectory } from "../storage/disks.ts";
import { leftOversIn, unnamedFilesIn } from "./subjects.ts";
import { contextIn } from "./task-rows.ts";

const CHILD = new URL("./children/run-tasks.ts", import.meta.url);
const KILLS = rounds(6, 40, 300);
const WRITERS = rounds(3, 8);
const STALE_MS = 2_000;
const SEED = seed(5);
const LONGEST_LIFE_MS = 120;

interface Said {
  readonly id: string;
  readonly step: "created" | "used" | "finished";
}

function storeIn(base: string): RecordStore {
  return new RecordStore(contextIn(base));
}

/** What was said is so; a record that is not there throws. */
async function expectKept(base: string, said: readonly Said[]): Promise<void> {
  const store = storeIn(base);
  for (const { id, step } of said) {
    const record = store.read(id);
    if (step === "finished") expect(record.task.status, id).toBe("completed");
    if (step === "used") expect(store.ledger.usageOf({ task: id, run: 1 }), id).toHaveLength(1);
    for (const row of record.files)
      expect((await blobFacts(store.files.pathOf(row)))?.sha256, `${row.role} of ${id}`).toBe(row.sha256);
  }
}

test(`${WRITERS} processes killed ${KILLS} times while they dispatch tasks lose nothing`, {
  timeout: 900_000,
}, async () => {
  const base = temporaryDirectory();
  writeFileSync(join(base, "in.txt"), "the bytes of a file");
  const luck = chance(SEED);
  const said: Said[] = [];
  let started = 0;
  const start = () => {
    const child = startChild(CHILD, [base, (started++).toString(16).padStart(8, "0"), String(STALE_MS)]);
    child.on("message", (step) => said.push(step as Said));
    return child;
  };
  const children = Array.from({ length: WRITERS }, start);
  let checked = 0;
  for (let kills = 0; kills < KILLS; kills++) {
    const at = luck.between(0, WRITERS - 1);
    const victim = children[at] as ChildProcess;
    // From its start, or from something that it has said.
    if (kills % 3 > 0) await Promise.race([once(victim, "message"), once(victim, "exit")]);
    expect(victim.exitCode).toBeNull();
    await sleep(luck.between(0, LONGEST_LIFE_MS));
    await kill(victim);
    children[at] = start();
    // What is new; all of it at the end.
    const now = said.length;
    await expectKept(base, said.slice(checked, now));
    checked = now;
  }
  for (const child of children) child.send("stop");
  expect(await Promise.all(children.map(exitCodeOf))).toEqual(children.map(() => 0));
  await expectKept(base, said);

  // The next start, after the stale time; what a record does not name is removed when it is an hour old.
  for (const path of leftOversIn(base).filter((path) => !path.includes("/opening/")))
    utimesSync(join(base, path), 1, 1);
  const store = storeIn(base);
  for (const path of readdirSync(store.directory, { recursive: true }))
    utimesSync(join(store.directory, String(path)), 1, 1);
  const { problems } = await store.recover(thisProcess(), { filesOf: () => [] });
  expect(problems).toEqual([]);
  const { records, problems: unreadable } = store.list();
  expect(unreadable).toEqual([]);
  expect(records.filter(({ task }) => task.status === "processing")).toEqual([]);
  expect(leftOversIn(base)).toEqual([]);
  expect(unnamedFilesIn(base)).toEqual([]);
  await expectKept(base, said);
  figure("kills", KILLS);
  figure("acknowledged writes", said.length);
});
