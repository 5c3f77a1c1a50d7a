// The rows of `npm run torture`: what is tried, its goal, and the tests that try it. `npm test` runs the same tests with small
// counts. A row without `host` runs on the oldest one.
export const ROWS = [
  {
    name: "kills",
    goal: "1,000 kills, 8 processes: nothing acknowledged lost, nothing torn, nothing left over",
    minutes: 12,
    files: [
      "test/notes/store-processes.test.ts",
      "test/journal/processes.test.ts",
      "test/task/processes.test.ts",
      "test/torture/record-kills.test.ts",
    ],
  },
  {
    name: "faults",
    goal: "each call, each error, each moment: told, old content stands, the next call works",
    minutes: 6,
    files: [
      "test/torture/faults.test.ts",
      "test/notes/store-faults.test.ts",
      "test/journal/faults.test.ts",
      "test/task/faults.test.ts",
      "test/storage/short-writes.test.ts",
    ],
  },
  {
    name: "power-cuts",
    goal: "every prefix and order of what was unsynced: nothing acknowledged lost, nothing torn shown",
    minutes: 6,
    files: ["test/torture/power-cuts.test.ts", "test/journal/holes.test.ts"],
  },
  {
    name: "formats",
    goal: "every stored file cut, flipped, spliced, doubled, swapped: a typed error or what was there",
    minutes: 4,
    files: ["test/torture/formats.test.ts"],
  },
  {
    name: "locks",
    goal: "a blocked holder, a stolen lock: the loser learns it, the process goes on",
    minutes: 3,
    files: ["test/storage/lock.test.ts", "test/journal/log-lock.test.ts", "test/storage/clocks.test.ts"],
  },
  {
    name: "tool-calls",
    goal: "random calls, valid and hostile: no crash, every output bounded, every error typed",
    minutes: 4,
    files: ["test/tools"],
  },
  {
    name: "machine",
    goal: "20,000 random event sequences: no invariant broken, replay equals living",
    minutes: 3,
    files: ["test/window/machine.test.ts"],
  },
  {
    name: "trees",
    goal: "2,000 random trees: windows, fence and todos of the shown branch",
    minutes: 3,
    files: ["test/window/trees.test.ts"],
  },
  {
    name: "read-back",
    goal: "every item in pages of any size: byte-identical",
    minutes: 3,
    files: ["test/history/read-back.test.ts", "test/history/long-items.test.ts"],
  },
  {
    name: "apart",
    goal: "two root tasks, hostile paths: no read or write across",
    minutes: 2,
    files: [
      "test/notes/paths.test.ts",
      "test/notes/store.test.ts",
      "test/storage/tree.test.ts",
      "test/task/contexts.test.ts",
    ],
  },
  {
    name: "categories",
    goal: "10,000 random trees and dispatches: no content to who may not have it",
    minutes: 3,
    files: ["test/category"],
  },
];
