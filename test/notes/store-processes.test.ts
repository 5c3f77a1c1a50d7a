// Several processes at one note: no append is lost, no line is torn, and killed writers leave nothing that a sweep misses.
import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../fixtures/pi/wait.ts";
import { NotesStore } from "../../src/notes/store.ts";
import { figure, rounds } from "../rounds.ts";
import { exitCodeOf, kill, startChild } from "../storage/children.ts";
import { temporaryDirectory, treeOf } from "../storage/disks.ts";

const WRITER = new URL("./children/append-lines.ts", import.meta.url);
const WRITERS = rounds(4, 8);
const TEST_MS = 600_000;
const STALE_MS = 2_000;
const KILLS = rounds(3, 16, 300);
const LINES_EACH = rounds(10, 25);
/** A kill comes after so many acknowledged lines, in turn. */
const LINES_BEFORE_KILL = [3, 11, 5, 17, 2, 8];

function startWriter(root: string, id: string, count: number, staleMs: number, acknowledged: string[]) {
  const child = startChild(WRITER, [root, id, String(count), String(staleMs)]);
  child.on("message", (line) => acknowledged.push(String(line)));
  return child;
}

function linesOf(root: string): string[] {
  const text = readFileSync(join(root, "shared.md"), "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text.split("\n").slice(0, -1);
}

test(`${WRITERS} processes append to one note and lose nothing`, { timeout: TEST_MS }, async () => {
  const root = join(temporaryDirectory(), "notes");
  const acknowledged: string[] = [];
  const ids = Array.from({ length: WRITERS }, (_, at) => `w${at}`);
  const children = ids.map((id) => startWriter(root, id, LINES_EACH, 0, acknowledged));
  expect(await Promise.all(children.map(exitCodeOf))).toEqual(ids.map(() => 0));
  const expected = ids.flatMap((id) => Array.from({ length: LINES_EACH }, (_, line) => `${id}:${line}`));
  expect(linesOf(root).sort()).toEqual(expected.sort());
  expect(acknowledged.sort()).toEqual(expected);
  expect(treeOf(`${root}.meta/tmp`)).toEqual([]);
  expect(treeOf(`${root}.meta/locks`)).toEqual([]);
});

test(`writers killed at any moment, ${KILLS} times, lose no acknowledged line`, { timeout: TEST_MS }, async () => {
  const root = join(temporaryDirectory(), "notes");
  const acknowledged: string[] = [];
  let started = 0;
  const start = () => startWriter(root, `w${started++}`, 0, STALE_MS, acknowledged);
  const children = Array.from({ length: WRITERS }, start);
  for (let kills = 0; kills < KILLS; kills++) {
    const wanted = acknowledged.length + (LINES_BEFORE_KILL[kills % LINES_BEFORE_KILL.length] ?? 1);
    await until(
      () => `${wanted} acknowledged lines, but ${acknowledged.length}`,
      () => acknowledged.length >= wanted,
      { checkMs: 1 },
    );
    const victim = children.splice(kills % WRITERS, 1, start())[0];
    if (victim) await kill(victim);
  }
  for (const child of children) child.send("stop");
  expect(await Promise.all(children.map(exitCodeOf))).toEqual(children.map(() => 0));

  const lines = linesOf(root);
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.filter((line) => !/^w\d+:\d+$/.test(line))).toEqual([]);
  const present = new Set(lines);
  expect(acknowledged.filter((line) => !present.has(line))).toEqual([]);

  // The next start, after the stale time.
  for (const place of ["tmp", "locks"]) {
    for (const name of treeOf(`${root}.meta/${place}`)) utimesSync(`${root}.meta/${place}/${name}`, 1, 1);
  }
  const store = new NotesStore({ root, agent: "/root", staleLockMs: STALE_MS });
  expect(store.sweep().failed).toEqual([]);
  expect(treeOf(`${root}.meta/tmp`)).toEqual([]);
  expect(treeOf(`${root}.meta/locks`)).toEqual([]);
  expect(linesOf(root)).toEqual(lines);
  figure("kills", KILLS);
  figure("acknowledged writes", acknowledged.length);
});
