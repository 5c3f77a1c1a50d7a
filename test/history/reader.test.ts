import { describe, expect, test } from "vitest";
import type { ItemFilter, ItemQuery } from "../../src/history/filter.ts";
import { HistoryReader, searchedFor } from "../../src/history/reader.ts";
import type { ItemSource } from "../../src/history/source.ts";
import { call, openerDetails, TestLog, text } from "../log/branches.ts";
import { liveSourceOf, sourceOf } from "./sources.ts";

const reader = new HistoryReader();

function query(filter: ItemFilter = {}, more: Partial<ItemQuery> = {}): ItemQuery {
  return { filter, limit: 50, recentFirst: false, runningCallId: undefined, ...more };
}

function listedIds(source: ItemSource, filter: ItemFilter = {}, more: Partial<ItemQuery> = {}): readonly string[] {
  const page = reader.listItems(source, query(filter, more));
  if (page.rows.length < (more.limit ?? 50)) expect(page.total).toBe(page.rows.length);
  return page.rows.map(({ row }) => row.head.id);
}

function foundIds(source: ItemSource, wanted: string, filter: ItemFilter = {}, more: Partial<ItemQuery> = {}) {
  const page = reader.searchItems(source, searchedFor(wanted), query(filter, more));
  return page.rows.map(({ row }) => row.head.id);
}

/** Two windows with ordinary, internal and mixed items; every item's text holds the word "needle". */
function session() {
  const log = new TestLog();
  const system = log.message({ role: "system", content: "needle system" });
  const asked = log.user("needle request");
  const mixed = log.assistant(
    text("needle said"),
    call("c1", "bash", { command: "grep needle" }),
    call("c2", "notes_write_file", { path: "a.md", text: "needle noted" }),
  );
  const ran = log.result("c1", "bash", "needle output");
  const noted = log.result("c2", "notes_write_file", '{"path":"needle"}');
  const silent = log.assistant(call("c3", "history_search_contents", { query: "needle" }));
  const searched = log.result("c3", "history_search_contents", "needle found");
  const reminder = log.customMessage("pi-token-budget:reminder", "needle: save your notes");
  const opening = log.assistant(call("c4", "new_context", { needle: 1 }));
  const opened = log.result("c4", "new_context", "needle", openerDetails(2));
  const steered = log.user("needle steered");
  const shell = log.bash("echo needle", "needle");
  const answer = log.assistant(text("needle answer"));
  return {
    log,
    ids: { system, asked, mixed, ran, noted, silent, searched, reminder, opening, opened, steered, shell, answer },
    source: sourceOf(log),
  };
}

describe("lists and searches leave internal items out before the limit", () => {
  const { ids, source } = session();
  const ordinary = [ids.asked, ids.mixed, ids.ran, ids.steered, ids.shell, ids.answer];

  test("a list shows what is not internal, oldest first, or newest first", () => {
    expect(listedIds(source)).toEqual(ordinary);
    expect(listedIds(source, {}, { recentFirst: true })).toEqual([...ordinary].reverse());
  });

  test("the limit counts shown items only, and the total counts them all", () => {
    expect(reader.listItems(source, query({}, { limit: 4 }))).toMatchObject({ total: 6 });
    expect(listedIds(source, {}, { limit: 4 })).toEqual(ordinary.slice(0, 4));
    const found = reader.searchItems(source, searchedFor("needle"), query({}, { limit: 2 }));
    expect(found.total).toBe(6);
    expect(found.rows.map(({ row }) => row.head.id)).toEqual(ordinary.slice(0, 2));
    expect(reader.findItems(source, searchedFor("needle"), query({}, { limit: 2 }))).toHaveLength(2);
  });

  test("a search finds the same items, and never a search", () => {
    expect(foundIds(source, "needle")).toEqual(ordinary);
    expect(foundIds(source, "needle", {}, { recentFirst: true })).toEqual([...ordinary].reverse());
  });

  test.each<[string, ItemFilter, (keyof typeof ids)[]]>([
    ["a window", { windowId: "w1" }, ["asked", "mixed", "ran"]],
    ["the other window", { windowId: "w2" }, ["steered", "shell", "answer"]],
    ["the role user", { role: "user" }, ["asked", "steered", "shell"]],
    ["the role assistant", { role: "assistant" }, ["mixed", "answer"]],
    ["the role tool", { role: "tool" }, ["ran"]],
    ["the role system", { role: "system" }, ["system"]],
    ["the role developer", { role: "developer" }, []],
    ["window and role", { windowId: "w2", role: "assistant" }, ["answer"]],
    ["an ordinary tool", { toolName: "bash" }, ["mixed", "ran"]],
    ["the flat tools", { toolNamespace: "functions" }, ["mixed", "ran", "opening", "opened"]],
    ["our notes tools", { toolNamespace: "notes" }, ["mixed", "noted"]],
    ["one of ours by its full name", { toolName: "notes_write_file" }, ["mixed", "noted"]],
    ["one of ours without its prefix", { toolNamespace: "notes", toolName: "write_file" }, ["mixed", "noted"]],
    ["a control tool", { toolName: "new_context" }, ["opening", "opened"]],
    ["our history tools", { toolNamespace: "history" }, ["silent", "searched"]],
    ["tool and role", { toolNamespace: "history", role: "tool" }, ["searched"]],
    ["tool and window", { toolNamespace: "functions", windowId: "w2" }, []],
    ["a name and namespace of two different calls", { toolNamespace: "notes", toolName: "bash" }, []],
    ["a tool nobody called", { toolName: "write" }, []],
    ["a namespace that does not exist", { toolNamespace: "web" }, []],
    ["a window that does not exist", { windowId: "w3" }, []],
    ["a window id that is none", { windowId: "current" }, []],
    ["no window at all", { windowId: "" }, []],
  ])("filtered by %s", (_name, filter, expected) => {
    expect(listedIds(source, filter)).toEqual(expected.map((name) => ids[name]));
    expect(listedIds(source, filter, { recentFirst: true })).toEqual(expected.map((name) => ids[name]).reverse());
    expect(foundIds(source, "needle", filter)).toEqual(expected.map((name) => ids[name]));
  });

  test("internal blocks of a mixed item are searched only when a tool filter means them", () => {
    expect(foundIds(source, "needle noted")).toEqual([]);
    expect(foundIds(source, "needle noted", { toolName: "bash" })).toEqual([]);
    expect(foundIds(source, "needle noted", { toolNamespace: "notes" })).toEqual([ids.mixed]);
  });

  test("an empty query is an error that says what to do", () => {
    expect(() => searchedFor("")).toThrow(/query is "".*at least one character/);
  });
});

describe("the running history call", () => {
  function running() {
    const log = new TestLog();
    const earlier = log.assistant(call("c1", "history_list_items", { role: "user" }));
    const answered = log.result("c1", "history_list_items", "rows");
    const silent = log.assistant(call("c2", "history_search_contents", { query: "own words" }));
    return { log, earlier, answered, silent, source: sourceOf(log) };
  }

  test("finds neither itself nor its arguments, even with a filter that means it", () => {
    const { earlier, answered, silent, source } = running();
    const filter = { toolNamespace: "history" };
    expect(listedIds(source, filter)).toEqual([earlier, answered, silent]);
    expect(listedIds(source, filter, { runningCallId: "c2" })).toEqual([earlier, answered]);
    expect(foundIds(source, "own words", filter)).toEqual([silent]);
    expect(foundIds(source, "own words", filter, { runningCallId: "c2" })).toEqual([]);
  });

  test("does not hide the text and the other calls beside it", () => {
    const log = new TestLog();
    const turn = log.assistant(
      text("I look for own words"),
      call("c1", "history_search_contents", { query: "own words, running" }),
      call("c2", "history_read_item", { item_id: "own words, beside" }),
    );
    const source = sourceOf(log);
    const own = { runningCallId: "c1" };
    expect(listedIds(source, {}, own)).toEqual([turn]);
    expect(listedIds(source, { toolName: "history_search_contents" }, own)).toEqual([]);
    expect(listedIds(source, { toolName: "history_read_item" }, own)).toEqual([turn]);
    const seen = (wanted: string, filter: ItemFilter = {}) => foundIds(source, wanted, filter, own).length;
    expect(seen("look for own words")).toBe(1);
    expect(seen("words, beside")).toBe(0);
    expect(seen("words, beside", { toolNamespace: "history" })).toBe(1);
    expect(seen("words, running", { toolNamespace: "history" })).toBe(0);
  });

  test("does not hide another tool's call or result that has the same id", () => {
    const log = new TestLog();
    const earlier = log.assistant(call("call_0", "bash", {}));
    const result = log.result("call_0", "bash", "output");
    log.assistant(call("call_0", "history_list_items", {}));
    expect(listedIds(sourceOf(log), { toolName: "bash" }, { runningCallId: "call_0" })).toEqual([earlier, result]);
    log.goTo(null);
    const noted = log.assistant(
      call("call_0", "notes_write_file", { text: "kept" }),
      call("call_1", "history_read_item"),
    );
    log.assistant(call("call_0", "history_list_items", {}));
    const notes = { toolNamespace: "notes" };
    expect(foundIds(sourceOf(log), "kept", notes, { runningCallId: "call_0" })).toEqual([noted]);
  });
});

describe("windows", () => {
  test("are listed with their items, ids and times, and say which is current", () => {
    const { ids, source, log } = session();
    const { total, rows } = reader.listWindows(source, { limit: 50, recentFirst: false });
    expect(total).toBe(2);
    expect(rows.map(({ window: _window, ...row }) => row)).toEqual([
      {
        items: 3,
        firstItemId: ids.asked,
        lastItemId: ids.ran,
        startedAt: log.entry(ids.system)?.timestamp,
        endedAt: log.entry(ids.opened)?.timestamp,
        current: false,
      },
      {
        items: 3,
        firstItemId: ids.steered,
        lastItemId: ids.answer,
        startedAt: log.entry(ids.steered)?.timestamp,
        endedAt: log.entry(ids.answer)?.timestamp,
        current: true,
      },
    ]);
    expect(reader.listWindows(source, { limit: 1, recentFirst: true }).rows.map(({ window }) => window.id)).toEqual([
      "w2",
    ]);
  });

  test("a window that holds nothing yet has no ids and no times", () => {
    const log = new TestLog();
    log.newContext(2);
    expect(reader.listWindows(sourceOf(log), { limit: 5, recentFirst: true }).rows[0]).toMatchObject({
      items: 0,
      firstItemId: null,
      lastItemId: null,
      startedAt: null,
      endedAt: null,
      current: true,
    });
  });
});

describe("running counts", () => {
  test("stay right while a branch grows, moves items into a closing window, and is rebuilt", () => {
    const log = new TestLog();
    const source = sourceOf(log);
    const counting = new HistoryReader();
    // A fresh reader and source know nothing and count anew: the reference.
    const check = (kept: ItemSource) => {
      for (const role of [undefined, "user", "assistant", "tool", "system"] as const) {
        const wanted = query({ role }, { limit: 1 });
        const { total } = counting.listItems(kept, wanted);
        expect(total).toBe(
          new HistoryReader().listItems(sourceOf(log), query({ role }, { limit: 10_000 })).rows.length,
        );
      }
      const windows = (from: HistoryReader, source: ItemSource) =>
        from.listWindows(source, { limit: 200, recentFirst: false }).rows;
      expect(windows(counting, kept)).toEqual(windows(new HistoryReader(), sourceOf(log)));
    };
    check(source);
    const grow = liveSourceOf(log);
    check(grow());
    log.user("one");
    log.message({ role: "system", content: "s" });
    check(grow());
    log.assistant(call("c1", "new_context"), call("c2", "bash"));
    log.result("c1", "new_context", "{}", openerDetails(2));
    const between = log.customMessage("other:x", "between");
    check(grow());
    log.result("c2", "bash", "moves the one between");
    check(grow());
    log.user("two");
    check(grow());
    log.goTo(between);
    check(grow());
    log.user("elsewhere");
    check(grow());
  });

  test("a page without a window or tool filter looks at no more rows than it shows", () => {
    const log = new TestLog();
    for (let at = 0; at < 500; at++) log.user(`message ${at}`);
    const source = sourceOf(log);
    const counting = new HistoryReader();
    counting.listItems(source, query());
    let looked = 0;
    const rows = new Proxy(source.rows, {
      get: (target, key) => {
        if (typeof key === "string" && /^\d+$/.test(key)) looked++;
        return Reflect.get(target, key);
      },
    });
    const watched: ItemSource = { ...source, rows, windows: source.windows };
    counting.listItems(watched, query());
    looked = 0;
    expect(counting.listItems(watched, query({}, { limit: 20, recentFirst: true }))).toMatchObject({ total: 500 });
    expect(looked).toBe(20);
  });
});

describe("reading an item", () => {
  test("needs the item's own window, and an error names the right one", () => {
    const { ids, source } = session();
    expect(reader.readItem(source, ids.asked, "w1")).toMatchObject({ branch: "current", row: { window: 1 } });
    for (const wrong of ["w2", "w9", "", "1"])
      expect(() => reader.readItem(source, ids.asked, wrong)).toThrow(
        expect.objectContaining({ code: "wrong_window", message: expect.stringContaining('window_id "w1"') }),
      );
  });

  test("works for internal items, whole", () => {
    const { ids, source } = session();
    expect(reader.readItem(source, ids.mixed, "w1").text.points.text).toContain("needle noted");
    expect(reader.readItem(source, ids.searched, "w1").text.points.text).toBe("needle found");
    expect(reader.readItem(source, ids.system, "w1").text.points.text).toBe("needle system");
  });

  test("an id that is none, or an entry that is no item, is an error with the way out", () => {
    const { log } = session();
    const label = log.add({ type: "label", targetId: "x", label: "y" });
    for (const id of ["nope", "", label])
      expect(() => reader.readItem(sourceOf(log), id, "w1")).toThrow(
        expect.objectContaining({ code: "unknown_item", message: expect.stringContaining("history_list_items") }),
      );
  });

  test("an item of an abandoned branch is read by the window of its own branch, and not listed", () => {
    const log = new TestLog();
    const first = log.user("one");
    log.newContext(2);
    const abandoned = log.user("in w2 of the old way");
    log.goTo(first);
    const here = log.user("in w1 of the new way");
    const source = sourceOf(log);
    expect(listedIds(source)).toEqual([first, here]);
    expect(reader.readItem(source, abandoned, "w2")).toMatchObject({ branch: "other", row: { window: 2 } });
    expect(() => reader.readItem(source, abandoned, "w1")).toThrow(/window_id "w2"/);
  });
});
