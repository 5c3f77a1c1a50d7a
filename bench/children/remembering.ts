// Says what a generated session takes in memory, what the index of it takes, and what is kept when all of it was searched.

import type { ItemQuery } from "../../src/history/filter.ts";
import { liveSource } from "../../src/history/live.ts";
import { HistoryReader, searchedFor } from "../../src/history/reader.ts";
import { LiveWindow } from "../../src/window/live.ts";
import { ABSENT_WORD, COMMON_WORD, GeneratedLog } from "../generated.ts";

export interface MemoryFigures {
  readonly entriesMb: number;
  readonly indexMb: number;
  readonly searchedMb: number;
}

const QUERY: ItemQuery = { filter: {}, limit: 200, recentFirst: true, runningCallId: undefined };
const WORDS = [ABSENT_WORD, COMMON_WORD, "cents", "a"];
const MEGABYTE = 1_000_000;

function heapMb(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  return process.memoryUsage().heapUsed / MEGABYTE;
}

/** What is left behind by an index, which has been searched for those words. */
function keptBy(log: GeneratedLog, words: readonly string[]): number {
  const before = heapMb();
  const live = new LiveWindow(log);
  const source = liveSource("/root", live.upToDate(), log);
  const reader = new HistoryReader();
  for (const word of words) reader.searchItems(source, searchedFor(word), QUERY);
  const after = heapMb();
  // It is there until now.
  if (source.rows.length === 0 || live.branch.rows.length === 0) throw new Error("the session is empty");
  return after - before;
}

const before = heapMb();
const log = new GeneratedLog(Number(process.argv[2]));
// What a first search does to the entries' own strings is theirs.
keptBy(log, WORDS);
const entriesMb = heapMb() - before;
const figures: MemoryFigures = { entriesMb, indexMb: keptBy(log, []), searchedMb: keptBy(log, WORDS) };
process.stdout.write(JSON.stringify(figures));
