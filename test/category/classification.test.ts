// What a session's content is: the log by replay, and the stricter of registry and log.
import { describe, expect, test } from "vitest";
import { classify, ownerCategory, type RegistryCategory } from "../../src/category/classification.ts";
import { CATEGORY_ENTRY, categoryOf, categoryOnLog, type LogCategory } from "../../src/category/log.ts";
import type { LogEntry } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";
import { type Category, mayRead } from "../../src/task/category.ts";

const AT = Date.parse("2025-01-02T03:04:05.000Z");
const LATER = "2025-01-02T03:04:06.000Z";
const EARLIER = "2025-01-02T03:04:04.000Z";

function tree(...rows: readonly (readonly [id: string, parentId: string | null, data?: unknown])[]) {
  const entries = new Map<string, LogEntry>();
  for (const [id, parentId, data] of rows) {
    const base = { id, parentId, timestamp: new Date(AT).toISOString() };
    entries.set(
      id,
      data === undefined ? { ...base, type: "message" } : { ...base, type: "custom", customType: CATEGORY_ENTRY, data },
    );
  }
  let leaf: string | null = rows.at(-1)?.[0] ?? null;
  let looked = 0;
  return {
    source: {
      leafId: () => leaf,
      entry: (id: string) => {
        looked++;
        return entries.get(id);
      },
    },
    go: (id: string | null) => {
      leaf = id;
    },
    looked: () => looked,
  };
}

describe("the log", () => {
  test("says what its newest entry on the branch says", () => {
    const { source, go } = tree(
      ["a", null],
      ["b", "a", { category: "s" }],
      ["c", "b"],
      ["d", "c", { category: null }],
      ["e", "d"],
    );
    const branch = new BranchIndex();
    const read = () => {
      branch.catchUp(source);
      const said = categoryOf(branch.lastCustom(CATEGORY_ENTRY)?.entry);
      expect(categoryOnLog(source)).toEqual(said);
      return said;
    };
    expect(read()).toEqual({ type: "said", category: null, at: AT });
    go("c");
    expect(read()).toEqual({ type: "said", category: "s", at: AT });
    go("a");
    expect(read()).toEqual({ type: "silent" });
    go("e");
    expect(read()).toMatchObject({ category: null });
    go(null);
    expect(read()).toEqual({ type: "silent" });
  });

  test.each([null, "s", {}, { category: 5 }, { category: "" }, { category: "a b" }])("with %j is damaged", (data) => {
    expect(categoryOnLog(tree(["a", null, data ?? 0]).source)).toEqual({ type: "damaged" });
  });

  test("is looked through once at most, and a damaged tree ends", () => {
    const log = tree(...Array.from({ length: 1_000 }, (_, at) => [`${at}`, at === 0 ? null : `${at - 1}`] as const));
    categoryOnLog(log.source);
    expect(log.looked()).toBe(1_000);
    expect(categoryOnLog(tree(["a", "b"], ["b", "a"]).source)).toEqual({ type: "silent" });
    expect(categoryOnLog(tree(["a", "gone"]).source)).toEqual({ type: "silent" });
  });
});

const silent: LogCategory = { type: "silent" };
const says = (category: Category): LogCategory => ({ type: "said", category, at: AT });
const registry = (category: Category, decided?: string): RegistryCategory => ({
  type: "said",
  category,
  ...(decided === undefined ? {} : { decided }),
});
const unreadable: RegistryCategory = { type: "unreadable", problem: "damaged" };

test.each<[string, RegistryCategory, LogCategory, boolean, Category | "unknown"]>([
  ["both ordinary", registry(null), silent, false, null],
  ["the registry alone", registry("s"), silent, false, "s"],
  ["the registry against an ordinary log", registry("s"), says(null), false, "s"],
  ["the log alone", registry(null), says("s"), false, "s"],
  ["both", registry("s"), says("s"), true, "s"],
  ["two categories", registry("s"), says("t"), false, "unknown"],
  ["a person's later decision for ordinary", registry(null, LATER), says("s"), false, null],
  ["a person's later decision for another", registry("t", LATER), says("s"), false, "t"],
  ["a decision that the log is newer than", registry(null, EARLIER), says("s"), false, "s"],
  ["an unreadable registry and a category", unreadable, says("s"), false, "unknown"],
  ["an unreadable registry and an ordinary root", unreadable, silent, false, null],
  ["an unreadable registry and a root that became ordinary", unreadable, says(null), false, null],
  ["an unreadable registry and a child that said nothing yet", unreadable, silent, true, "unknown"],
  ["an unreadable registry and a child that said it is ordinary", unreadable, says(null), true, null],
  ["a damaged log", registry(null), { type: "damaged" }, false, "unknown"],
])("of %s", (_name, registered, log, isChild, expected) => {
  const classification = classify({ registry: registered, log, isChild });
  expect(classification.type === "known" ? classification.category : "unknown").toBe(expected);
});

test("another agent's content is read by who is of its category for sure", () => {
  const tampered = ownerCategory({ category: null }, says("s"));
  expect(tampered).toBe("s");
  expect(mayRead(null, tampered)).toBe(false);
  expect(mayRead("s", tampered)).toBe(true);
  const unclear = ownerCategory({ category: "t" }, says("s"));
  expect([null, "s", "t"].map((category) => mayRead(category, unclear))).toEqual([false, false, false]);
});
