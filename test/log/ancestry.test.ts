// Every walk over parents ends, whatever the session file says: each entry is read once at most.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { categoryOnLog } from "../../src/category/log.ts";
import { liveSource } from "../../src/history/live.ts";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { Journal } from "../../src/journal/journal.ts";
import { LogBatch } from "../../src/journal/log-format.ts";
import { JournalPlan, OlderCalls } from "../../src/journal/plan.ts";
import { ancestry, WayBack } from "../../src/log/ancestry.ts";
import { BranchIndex } from "../../src/log/branch.ts";

/** A walk without an end would never come back: it is stopped by what it reads. */
const ENOUGH = 1_000;

class CountingSource implements EntrySource {
  reads = 0;
  readonly #leaf: string | null;
  readonly #byId: ReadonlyMap<unknown, LogEntry>;

  constructor(entries: readonly LogEntry[], leaf: unknown) {
    this.#byId = new Map(entries.map((entry) => [entry.id as unknown, entry]));
    this.#leaf = leaf as string | null;
  }

  leafId(): string | null {
    return this.#leaf;
  }

  entry(id: string): LogEntry | undefined {
    if (++this.reads > ENOUGH) throw new Error("reads without end");
    return this.#byId.get(id);
  }
}

const IDS = ["a", "b", "c", "d", "e", "f"];
const anyId = fc.constantFrom<unknown>(...IDS, "gone", "", null, undefined, 5, {});

function entry(id: unknown, parentId: unknown, kind: number): LogEntry {
  const timestamp = "2026-03-01T09:00:00.000Z";
  const base = { id, parentId, timestamp };
  const fields = [
    { type: "message", message: { role: "user", content: "hello" } },
    { type: "message", message: { role: "assistant", content: [{ type: "text", text: "yes" }] } },
    { type: "message", message: { role: "toolResult", toolCallId: "nowhere", content: [] } },
    { type: "leaf" },
    { type: "custom", customType: "other" },
  ][kind];
  return { ...base, ...fields } as LogEntry;
}

const anyLog = fc
  .record({ entries: fc.array(fc.tuple(anyId, anyId, fc.nat(4)), { maxLength: 12 }), leaf: anyId })
  .map(({ entries, leaf }) => ({ entries: entries.map(([id, parent, kind]) => entry(id, parent, kind)), leaf }));

/** Each walk of the package, as one that goes over a whole branch. */
const WALKS: Readonly<Record<string, (source: EntrySource) => void>> = {
  "the way to the root": (source) => void [...ancestry(source, source.leafId())],
  "the index of the branch": (source) => void new BranchIndex().catchUp(source),
  "the category of the log": (source) => void categoryOnLog(source),
  "an item of an abandoned branch": (source) => {
    const live = liveSource("/root", new BranchIndex(), source);
    for (const id of IDS) live.rowElsewhere(id);
  },
  "the journal": (source) => {
    const state = new Journal({ directory: "none", agent: "/root" }).nothing();
    const plan = new JournalPlan(source, source.leafId(), state, new OlderCalls());
    while (!plan.lookBack());
    for (const batch = new LogBatch(); !plan.isDone; ) plan.next(batch);
  },
};

describe("a walk over parents", () => {
  for (const [name, walk] of Object.entries(WALKS)) {
    it(`reads each entry once at most: ${name}`, () => {
      fc.assert(
        fc.property(anyLog, ({ entries, leaf }) => {
          const source = new CountingSource(entries, leaf);
          walk(source);
          // A walk that starts at each id in turn, or once more for the calls of older results.
          expect(source.reads).toBeLessThanOrEqual((entries.length + 1) * (IDS.length + 1));
        }),
      );
    });
  }

  it("ends at an entry whose parent is missing, is no id or was passed already", () => {
    const ids = (entries: readonly LogEntry[], from: string) =>
      Array.from(ancestry(new CountingSource(entries, from), from), ({ id }) => id);
    expect(ids([entry("a", undefined, 0), entry("b", "a", 0)], "b")).toEqual(["b", "a"]);
    expect(ids([entry("a", "gone", 0), entry("b", "a", 0)], "b")).toEqual(["b", "a"]);
    expect(ids([entry("a", 5, 0)], "a")).toEqual(["a"]);
    expect(ids([entry("a", "a", 0)], "a")).toEqual(["a"]);
    expect(ids([entry("a", "c", 0), entry("b", "a", 0), entry("c", "b", 0)], "c")).toEqual(["c", "b", "a"]);
  });

  it("gives the same way as a list, cut where it leads in a circle, and ends at what is known", () => {
    fc.assert(
      fc.property(anyLog, fc.constantFrom(undefined, ...IDS), ({ entries, leaf }, until) => {
        const source = new CountingSource(entries, leaf);
        const way = new WayBack(source, leaf, until);
        for (let steps = 0; !way.hasEnded; steps++) {
          expect(steps).toBeLessThanOrEqual(4 * (entries.length + 1));
          way.step();
        }
        const expected: LogEntry[] = [];
        const walk = ancestry(source, leaf, (id) => id === until);
        let step = walk.next();
        for (; !step.done; step = walk.next()) expected.push(step.value);
        expect(way.entries).toEqual(expected);
        expect(way.hasMet).toBe(step.value !== null);
      }),
    );
  });

  it("costs what is new: the index reads on from where the branch has grown", () => {
    const entries = [entry("a", null, 0), entry("b", "a", 1), entry("c", "b", 0)];
    const branch = new BranchIndex();
    branch.catchUp(new CountingSource(entries, "b"));
    const grown = new CountingSource(entries, "c");
    expect(branch.catchUp(grown)).toBe("grown");
    expect(grown.reads).toBe(1);
    expect(branch.rows.map(({ entry: { id } }) => id)).toEqual(["a", "b", "c"]);
  });

  it("has no branch where the newest entry has no id", () => {
    const entries = [entry("a", null, 0), entry(undefined, "a", 3)];
    const branch = new BranchIndex();
    expect(branch.catchUp(new CountingSource(entries, null))).toBe("same");
    expect(branch.rows).toEqual([]);
  });
});
