// A page of a search costs a page, however long the branch is; a search that has to go through all of it lets the event
// loop run, and ends when the call is aborted.
import { expect, test } from "vitest";
import type { ItemSource } from "../../src/history/source.ts";
import { historyTools } from "../../src/tools/history.ts";
import { sourceOf } from "../history/sources.ts";
import { TestLog } from "../log/branches.ts";
import { historyCaller } from "./calls.ts";

function logOf(items: number, word: string): TestLog {
  const log = new TestLog();
  for (let i = 0; i < items; i++) log.user(`${word} ${i}`);
  return log;
}

/** A source that says how many of its items were looked into. */
function watched(source: ItemSource, onLook = () => {}): { source: ItemSource; looked: () => number } {
  let looked = 0;
  const sieve: ItemSource["sieve"] = (needle) => {
    const inner = source.sieve?.(needle);
    return (at) => {
      looked++;
      onLook();
      return inner?.(at);
    };
  };
  const own: PropertyDescriptorMap = { sieve: { value: sieve } };
  return { source: Object.create(source, own) as ItemSource, looked: () => looked };
}

test("the first page looks into as many items of a long branch as of a short one", async () => {
  const looks = [2_000, 20_000].map(async (items) => {
    const { source, looked } = watched(sourceOf(logOf(items, "word")));
    const found = await historyCaller(source)("history_search_contents", { query: "word", limit: 5 });
    const [first, ...rows] = found.lines();
    expect(first).toMatchObject({ total_at_least: true, returned: 5, limit: 5 });
    expect(first?.total).toBeGreaterThan(5);
    expect(rows.at(-1)).toMatchObject({
      omitted: Number(first?.total) - 5,
      hint: expect.stringContaining("window_id"),
    });
    return looked();
  });
  const [short, long] = await Promise.all(looks);
  expect(short).toBe(long);
  expect(short).toBeLessThan(1_000);
});

test("what is counted to the end is exact and not marked", async () => {
  const run = historyCaller(sourceOf(logOf(300, "word")));
  const [first] = (await run("history_search_contents", { query: "word", limit: 5 })).lines();
  expect(first).toEqual({ agent: "/root", total: 300, returned: 5, limit: 5, query: "word" });
  const long = historyCaller(sourceOf(logOf(5_000, "other")));
  const [none] = (await long("history_search_contents", { query: "word" })).lines();
  expect(none).toEqual({ agent: "/root", total: 0, returned: 0, limit: 20, query: "word" });
});

test("a long search ends when its call is aborted", async () => {
  const items = 5_000;
  const abort = new AbortController();
  const slow = () => {
    for (const until = performance.now() + 0.2; performance.now() < until; );
  };
  const { source, looked } = watched(sourceOf(logOf(items, "other")), slow);
  const limits = () => ({ maxToolOutputChars: 12_000, historyItemPreviewChars: 400 });
  const tools = historyTools({ sourceOf: () => source, limits, takesImages: () => true });
  setImmediate(() => abort.abort());
  const searching = tools.history_search_contents({ query: "word" }, { id: "c", signal: abort.signal });
  await expect(searching).rejects.toMatchObject({ name: "AbortError" });
  expect(looked()).toBeLessThan(items);
});
