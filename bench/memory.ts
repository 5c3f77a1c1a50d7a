// What the live index keeps in memory of a session, also when all of it has been searched, against the session's entries.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { liveSource } from "../src/history/live.ts";
import { HistoryReader, type ItemQuery, searchedFor } from "../src/history/reader.ts";
import type { BranchIndex } from "../src/log/branch.ts";
import { LiveWindow } from "../src/window/live.ts";
import { ABSENT_WORD, COMMON_WORD, GeneratedLog } from "./generated.ts";
import type { Group, Made } from "./group.ts";

const QUERY: ItemQuery = { filter: {}, limit: 200, recentFirst: true, runningCallId: undefined };
const WORDS = [ABSENT_WORD, COMMON_WORD, "cents", "a"];
const MEGABYTE = 1_000_000;

function heapMb(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round++) collect();
  return process.memoryUsage().heapUsed / MEGABYTE;
}

/** Made anew for each figure: what is measured is what is left behind. */
function memory(items: number): () => Made {
  return () => {
    const before = heapMb();
    const log = new GeneratedLog(items);
    const kept: unknown[] = [];
    const indexMb = (searches: readonly string[]) => {
      kept.length = 0;
      const live = new LiveWindow(log);
      const branch: BranchIndex = live.upToDate();
      const source = liveSource("/root", branch, log);
      const reader = new HistoryReader();
      for (const word of searches) reader.searchItems(source, searchedFor(word), QUERY);
      kept.push(live, source, reader);
      return heapMb() - restMb;
    };
    let restMb = 0;
    // What a first search does to the entries' own strings is theirs.
    indexMb(WORDS);
    kept.length = 0;
    restMb = heapMb();
    const entriesMb = restMb - before;
    const shown = `${items.toLocaleString("en-US")} items, in MB`;
    const race = { against: "the host's own entries", goal: 0.25, isFigure: true, samplesMin: 3 } as const;
    return {
      races: [
        { ...race, name: `index in memory, ${shown}`, ours: () => indexMb([]), reference: () => entriesMb },
        {
          ...race,
          name: `index in memory after searches, ${shown}`,
          ours: () => indexMb(WORDS),
          reference: () => entriesMb,
        },
      ],
    };
  };
}

export function memoryGroups(items: number): Group[] {
  return [{ topic: "memory", make: memory(items) }];
}
