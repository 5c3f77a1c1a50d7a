import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BranchIndex, windowId, windowNumber } from "../../src/log/branch.ts";
import { call, indexOf, openerDetails, TestLog, text } from "./branches.ts";

/** What an index says of its branch, in comparable form. */
function stateOf(index: BranchIndex) {
  return {
    rows: index.rows.map(({ entry, head, window }) => ({ id: entry.id, head, window })),
    windows: index.windows.map((window) => ({ ...window, ...index.rowRange(window) })),
    custom: ["a", "b"].map((type) => index.lastCustom(type)?.entry.id),
    compaction: index.lastCompaction && { ...index.lastCompaction, entry: index.lastCompaction.entry.id },
    batch: [...index.newestBatch],
    closed: index.batchIsClosed,
  };
}

function windowsOf(index: BranchIndex): readonly (readonly string[])[] {
  return index.windows.map((window) => {
    const { from, to } = index.rowRange(window);
    return index.rows.slice(from, to).map(({ head }) => head.id);
  });
}

describe("windows along a branch", () => {
  test("an empty branch has one empty window", () => {
    const index = indexOf(new TestLog());
    expect(index.current).toMatchObject({ id: "w1", number: 1, opener: undefined, firstRow: 0 });
    expect(windowsOf(index)).toEqual([[]]);
  });

  test("the opener's whole batch belongs to the window it closes, whatever stands between its results", () => {
    const log = new TestLog();
    const asked = log.user("do it");
    const batch = log.assistant(call("c1", "bash"), call("c2", "new_context"), call("c3", "read"), call("c4", "read"));
    const before = log.result("c1", "bash", "done");
    const opener = log.result("c2", "new_context", "{}", openerDetails(2));
    const after = log.result("c3", "read", "text");
    const between = log.customMessage("other:note", "between");
    const lastOfBatch = log.result("c4", "read", "text");
    const steered = log.user("steered meanwhile");
    const index = indexOf(log);
    expect(windowsOf(index)).toEqual([[asked, batch, before, opener, after, between, lastOfBatch], [steered]]);
    expect(index.current).toMatchObject({ id: "w2", number: 2, openerEntryId: opener });
    expect(index.rows.every((row) => row.window === (row.head.id === steered ? 2 : 1))).toBe(true);
    expect(index.batchIsClosed).toBe(true);
    log.assistant(text("going on"));
    index.catchUp(log);
    expect(index.batchIsClosed).toBe(false);
  });

  test("a second opener in the same batch opens nothing more", () => {
    const log = new TestLog();
    log.assistant(call("c1", "notes_write_file"), call("c2", "new_context"));
    log.result("c1", "notes_write_file", "{}", openerDetails(2, "checkpoint"));
    log.result("c2", "new_context", "{}", openerDetails(3));
    expect(indexOf(log).windows.map(({ id }) => id)).toEqual(["w1", "w2"]);
  });

  test("an opener whose call is not on the branch opens nothing: it was written there while a person walked the tree", () => {
    const log = new TestLog();
    const opener = log.result("gone", "new_context", "{}", openerDetails(2));
    const after = log.user("next");
    expect(windowsOf(indexOf(log))).toEqual([[opener, after]]);
  });

  test("messages and compactions that open a window are its first item", () => {
    const log = new TestLog();
    const asked = log.user("one");
    const foreign = log.compaction("Pi's own summary");
    const going = log.user("two");
    const ours = log.compaction("bootstrap", openerDetails(3, "manual_compact"));
    const opening = log.openingMessage(4);
    const index = indexOf(log);
    expect(windowsOf(index)).toEqual([[asked], [foreign, going], [ours], [opening]]);
    expect(index.windows.map(({ opener }) => opener?.type)).toEqual([
      undefined,
      "foreign_compaction",
      "compaction",
      "message",
    ]);
  });

  test("a compaction inside a closing batch ends it: results that come later are the new window's", () => {
    const log = new TestLog();
    const batch = log.assistant(call("c1", "new_context"), call("c2", "bash"));
    const opener = log.result("c1", "new_context", "{}", openerDetails(2));
    const foreign = log.compaction("summary");
    const late = log.result("c2", "bash", "late");
    expect(windowsOf(indexOf(log))).toEqual([[batch, opener], [], [foreign, late]]);
  });

  test("a consolidation is no item and opens nothing, but it is the latest compaction", () => {
    const log = new TestLog();
    log.user("one");
    log.newContext(2);
    const kept = log.user("two");
    const entry = log.compaction("bootstrap", { consolidates: "w2", bootstrap: "b", bootstrapTimestamp: 1 });
    const index = indexOf(log);
    expect(index.windows.map(({ id }) => id)).toEqual(["w1", "w2"]);
    expect(index.row(entry)).toBeUndefined();
    expect(windowsOf(index)[1]).toEqual([kept]);
    expect(index.lastCompaction).toMatchObject({ rowsBefore: 4, consolidates: "w2" });
  });

  test("entries that are no items and malformed ones leave the rest in place", () => {
    const log = new TestLog();
    const first = log.user(null);
    log.add({ type: "message", message: null });
    log.add({ type: "message" });
    log.add({ type: "from_the_future", content: "x" });
    log.add({ type: "label", targetId: first, label: "here" });
    const blocks = log.assistant(
      { type: "toolCall", id: 4, name: null },
      null,
      { type: "hologram" },
      call("c", "bash"),
    );
    const result = log.message({ role: "toolResult", toolCallId: "c", content: null });
    const index = indexOf(log);
    expect(windowsOf(index)).toEqual([[first, blocks, result]]);
    expect(index.row(result)?.head.calls).toEqual([{ namespace: "functions", name: "bash" }]);
  });

  test("ids and numbers of windows are each other's inverse, and nothing else is an id", () => {
    for (const number of [1, 2, 10, 1000]) expect(windowNumber(windowId(number))).toBe(number);
    for (const wrong of ["", "w", "w0", "w01", "W1", "w1 ", "w-1", "1", "w1e3"])
      expect(windowNumber(wrong)).toBeUndefined();
  });
});

describe("keeping up with the log", () => {
  test("says whether nothing came, rows were added, or another branch is shown", () => {
    const log = new TestLog();
    const index = new BranchIndex();
    expect(index.catchUp(log)).toBe("same");
    const first = log.user("one");
    log.newContext(2);
    expect(index.catchUp(log)).toBe("grown");
    expect(index.catchUp(log)).toBe("same");
    expect(index.current.id).toBe("w2");
    log.goTo(first);
    expect(index.catchUp(log)).toBe("rebuilt");
    expect(index.current.id).toBe("w1");
    expect(index.rows).toHaveLength(1);
    const other = log.user("another way");
    expect(index.catchUp(log)).toBe("grown");
    expect(index.row(other)?.window).toBe(1);
    log.goTo(null);
    expect(index.catchUp(log)).toBe("rebuilt");
    expect(index.rows).toHaveLength(0);
  });

  test("reads only what is new", () => {
    const log = new TestLog();
    for (let at = 0; at < 50; at++) log.user(`message ${at}`);
    const index = indexOf(log);
    log.user("new");
    log.assistant(text("newer"));
    const read: string[] = [];
    index.catchUp({
      leafId: () => log.leafId(),
      entry: (id) => {
        read.push(id);
        return log.entry(id);
      },
    });
    expect(read).toHaveLength(2);
  });

  test("a branch whose parent is missing begins where it breaks", () => {
    const log = new TestLog();
    log.goTo("nowhere");
    const orphan = log.user("orphan");
    const index = indexOf(log);
    expect(index.rows.map(({ head }) => head.id)).toEqual([orphan]);
    expect(index.catchUp(log)).toBe("same");
  });

  test("10,000 entries in 100 windows are indexed, and the text of each is rendered once", () => {
    const log = new TestLog();
    for (let window = 1; window <= 100; window++) {
      for (let turn = 0; turn < 49; turn++) {
        log.assistant(call(`c${window}-${turn}`, "bash", { turn }));
        log.result(`c${window}-${turn}`, "bash", `result ${turn}`);
      }
      log.newContext(window + 1);
    }
    const index = indexOf(log);
    expect(index.rows).toHaveLength(10_000);
    expect(index.windows).toHaveLength(101);
    expect(index.rowRange(index.current)).toEqual({ from: 10_000, to: 10_000 });
    const row = index.rows[5000];
    if (!row) throw new Error("the row is there");
    expect(index.text(row)).toBe(index.text(row));
  });
});

type Step = (log: TestLog) => void;

/** One random thing that happens to a session. Few call ids, so that links and batches meet often. */
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.string({ maxLength: 3 }).map(
      (value): Step =>
        (log) =>
          void log.user(value),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom("c1", "c2", "c3"), fc.constantFrom("bash", "new_context", "notes_write_file")), {
        maxLength: 3,
      })
      .map(
        (calls): Step =>
          (log) =>
            void log.assistant(...calls.map(([id, name]) => call(id, name))),
      ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom("c1", "c2", "c3", "c9"), fc.constantFrom("bash", "new_context"), fc.boolean())
      .map(
        ([id, name, opens]): Step =>
          (log) =>
            void log.result(id, name, "r", opens ? openerDetails(2) : undefined),
      ),
  },
  fc.constantFrom<Step>(
    (log) => void log.compaction("foreign"),
    (log) => void log.compaction("ours", openerDetails(2, "manual_compact")),
    (log) => void log.compaction("again", { consolidates: "w2", bootstrap: "b", bootstrapTimestamp: 1 }),
    (log) => void log.openingMessage(2),
    (log) => void log.custom("a"),
    (log) => void log.custom("b"),
    (log) => void log.message({ role: "system", content: "s" }),
  ),
  {
    weight: 2,
    arbitrary: fc.nat().map(
      (at): Step =>
        (log) =>
          log.goTo(log.entries.length === 0 ? null : (log.entries[at % log.entries.length]?.id ?? null)),
    ),
  },
);

describe("properties over random trees", () => {
  // How far the index reads behind each step.
  const far = fc.constantFrom(0, 1, 2, 7, Number.POSITIVE_INFINITY);
  const life = fc.array(fc.tuple(step, far), { maxLength: 60 });

  test("an index that kept up says the same as one that reads the branch from scratch", () => {
    fc.assert(
      fc.property(life, (steps) => {
        const log = new TestLog();
        const index = new BranchIndex();
        for (const [happens, reads] of steps) {
          happens(log);
          if (reads > 0) index.catchUp(log, reads);
        }
        index.catchUp(log);
        expect(stateOf(index)).toEqual(stateOf(indexOf(log)));
      }),
      { numRuns: 500 },
    );
  });

  test("windows are numbered in a row, hold every item once, and ranges and rows agree", () => {
    fc.assert(
      fc.property(life, (steps) => {
        const log = new TestLog();
        for (const [happens] of steps) happens(log);
        const index = indexOf(log);
        expect(index.windows.map(({ number }) => number)).toEqual(index.windows.map((_window, at) => at + 1));
        expect(windowsOf(index).flat()).toEqual(index.rows.map(({ head }) => head.id));
        for (const window of index.windows) {
          const { from, to } = index.rowRange(window);
          for (const row of index.rows.slice(from, to)) expect(row.window).toBe(window.number);
        }
      }),
      { numRuns: 500 },
    );
  });
});
