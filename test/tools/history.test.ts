import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { countCodePoints } from "../../src/storage/text.ts";
import { historyTools } from "../../src/tools/history.ts";
import { sourceOf } from "../history/sources.ts";
import { call, image, TestLog, text } from "../log/branches.ts";
import { anyText } from "../log/texts.ts";
import { callerOf, historyCaller } from "./calls.ts";

/** A small session in two windows. Ids count the entries: 00000001, 00000002, … */
function session(): TestLog {
  const log = new TestLog();
  log.user("Fix the 😀 parser.");
  log.assistant(text("I look."), call("c1", "read", { path: "parser.ts" }));
  log.result("c1", "read", [text("const parser = 1;\n"), image("abc")]);
  log.newContext(2);
  log.user([text("And the parser tests?"), image("ab"), image("abc", "image/webp")]);
  log.assistant(call("c2", "bash", { command: "ls" }), call("c3", "read", { path: "parser.test.ts" }));
  return log;
}

describe("the exact answers", () => {
  const run = historyCaller(sourceOf(session()));

  test("history_list_windows", async () => {
    expect((await run("history_list_windows")).text).toBe(
      [
        '{"agent":"/root","total":2,"returned":2,"limit":50}',
        '{"window_id":"w1","items":3,"first_item_id":"00000001","last_item_id":"00000003","started_at":"2026-03-01T09:00:01.000Z","ended_at":"2026-03-01T09:00:05.000Z","current":false}',
        '{"window_id":"w2","items":2,"first_item_id":"00000006","last_item_id":"00000007","started_at":"2026-03-01T09:00:06.000Z","ended_at":"2026-03-01T09:00:07.000Z","current":true}',
      ].join("\n"),
    );
    expect((await run("history_list_windows", { limit: 1, recent_first: true })).lines()).toMatchObject([
      { total: 2, returned: 1, limit: 1 },
      { window_id: "w2" },
      { omitted: 1, hint: expect.stringContaining("limit") },
    ]);
  });

  test("history_list_items", async () => {
    expect((await run("history_list_items", { window_id: "w1", max_chars_per_item: 20 })).text).toBe(
      [
        '{"agent":"/root","total":3,"returned":3,"limit":50,"window_id":"w1"}',
        '{"item_id":"00000001","window_id":"w1","role":"user","chars":17,"preview":"Fix the 😀 parser."}',
        '{"item_id":"00000002","window_id":"w1","role":"assistant","tool_namespace":"functions","tool_name":"read","chars":48,"preview":"I look.\\n[tool_call r"}',
        '{"item_id":"00000003","window_id":"w1","role":"tool","tool_namespace":"functions","tool_name":"read","chars":18,"images":{"count":1,"types":["image/png"],"bytes":3},"preview":"const parser = 1;\\n"}',
      ].join("\n"),
    );
    expect((await run("history_list_items", { window_id: "w2" })).lines().slice(1)).toMatchObject([
      { images: { count: 2, types: ["image/png", "image/webp"], bytes: 5 } },
      { role: "assistant", tool_calls: 2 },
    ]);
  });

  test("history_search_contents", async () => {
    expect((await run("history_search_contents", { query: "parser", role: "user" })).text).toBe(
      [
        '{"agent":"/root","total":2,"returned":2,"limit":20,"query":"parser","role":"user"}',
        '{"item_id":"00000001","window_id":"w1","role":"user","chars":17,"regions":[{"text":"Fix the 😀 parser.","offset_chars":0,"limit_chars":17,"matches":[{"start":10,"end":16}]}]}',
        '{"item_id":"00000006","window_id":"w2","role":"user","chars":21,"images":{"count":2,"types":["image/png","image/webp"],"bytes":5},"regions":[{"text":"And the parser tests?","offset_chars":0,"limit_chars":21,"matches":[{"start":8,"end":14}]}]}',
      ].join("\n"),
    );
    expect((await run("history_search_contents", { query: "Parser" })).text).toBe(
      '{"agent":"/root","total":0,"returned":0,"limit":20,"query":"Parser"}',
    );
  });

  test("history_read_item", async () => {
    const place = { item_id: "00000001", window_id: "w1" };
    expect((await run("history_read_item", place)).text).toBe(
      '{"agent":"/root","window_id":"w1","item_id":"00000001","role":"user","offset_chars":0,"end_chars":17,"total_chars":17}\nFix the 😀 parser.',
    );
    expect((await run("history_read_item", { ...place, offset_chars: 8, limit_chars: 2 })).text).toBe(
      '{"agent":"/root","window_id":"w1","item_id":"00000001","role":"user","offset_chars":8,"end_chars":10,"total_chars":17,"next_offset_chars":10}\n😀 ',
    );
    expect((await run("history_read_item", { ...place, offset_chars: 99 })).header()).toMatchObject({
      offset_chars: 17,
      end_chars: 17,
      total_chars: 17,
    });
  });

  test("an unknown window answers with no rows", async () => {
    for (const name of ["history_list_items", "history_search_contents"] as const)
      expect(
        (await run(name, { window_id: "w9", ...(name === "history_list_items" ? {} : { query: "x" }) })).lines(),
      ).toMatchObject([{ total: 0, returned: 0, window_id: "w9" }]);
  });

  test("limits above the maximum are clamped, and shown as used", async () => {
    expect((await run("history_list_items", { limit: 9_999 })).lines()[0]).toMatchObject({ limit: 200 });
    expect((await run("history_search_contents", { query: "a", limit: 201 })).lines()[0]).toMatchObject({ limit: 200 });
  });
});

describe("errors", () => {
  const run = historyCaller(sourceOf(session()));

  test.each<[string, () => Promise<unknown>, string, RegExp]>([
    [
      "an unknown item",
      () => run("history_read_item", { item_id: "nope", window_id: "w1" }),
      "unknown_item",
      /"nope".*list_items/,
    ],
    [
      "a wrong window",
      () => run("history_read_item", { item_id: "00000001", window_id: "w2" }),
      "wrong_window",
      /"w1"/,
    ],
    ["an empty query", () => run("history_search_contents", { query: "" }), "invalid_argument", /query is ""/],
  ])("%s", async (_name, fails, code, message) => {
    await expect(fails()).rejects.toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });

  test("whose history it is, and whether it may be read, is asked for every call", async () => {
    const asked: unknown[] = [];
    const refused = callerOf(
      historyTools({
        sourceOf: (agentName) => {
          asked.push(agentName);
          throw new TokenBudgetError("unknown_agent", "no such agent");
        },
        limits: () => ({ maxToolOutputChars: 1, historyItemPreviewChars: 1 }),
        takesImages: () => true,
      }),
    );
    const unknown = expect.objectContaining({ code: "unknown_agent" });
    await expect(refused("history_list_windows", { agent_name: "/root/a" })).rejects.toThrow(unknown);
    await expect(refused("history_list_items", { agent_name: null })).rejects.toThrow(unknown);
    await expect(refused("history_search_contents", { query: "x", agent_name: "b" })).rejects.toThrow(unknown);
    await expect(refused("history_read_item", { item_id: "a", window_id: "w1" })).rejects.toThrow(unknown);
    expect(asked).toEqual(["/root/a", undefined, "b", undefined]);
  });
});

describe("images", () => {
  const place = { item_id: "00000006", window_id: "w2" };
  const types = (answer: { images: readonly { mimeType?: string }[] }) => answer.images.map(({ mimeType }) => mimeType);

  test("come with the page that begins the item, and every page tells of them", async () => {
    const run = historyCaller(sourceOf(session()));
    const first = await run("history_read_item", { ...place, limit_chars: 3 });
    expect(types(first)).toEqual(["image/png", "image/webp"]);
    expect(first.header().images).toEqual({ count: 2, types: ["image/png", "image/webp"], bytes: 5 });
    const next = await run("history_read_item", { ...place, offset_chars: 3 });
    expect(next.images).toEqual([]);
    expect(next.header().images).toMatchObject({ count: 2, note: "2 images attached at offset_chars 0" });
  });

  test("a model that takes none is told how many there are, and the text stays exact", async () => {
    const run = historyCaller(sourceOf(session()), { takesImages: false });
    const answer = await run("history_read_item", place);
    expect(answer.images).toEqual([]);
    expect(answer.header().images).toMatchObject({
      count: 2,
      note: "this model takes no images: 2 images not attached",
    });
    expect(answer.body()).toBe("And the parser tests?");
  });

  test("lists and searches attach none, and a hostile type cannot fill the output", async () => {
    const log = new TestLog();
    log.user([text("look"), ...["a", "b", "c", "d"].map((kind) => image("x", kind.repeat(9_000)))]);
    const run = historyCaller(sourceOf(log));
    for (const answer of [await run("history_list_items"), await run("history_search_contents", { query: "look" })]) {
      expect(answer.images).toEqual([]);
      expect(answer.lines()[1]?.images).toMatchObject({
        count: 4,
        types: [/^a+…$/, /^b+…$/, /^c+…$/].map((type) => expect.stringMatching(type)),
      });
      expect(answer.text.length).toBeLessThan(600);
    }
  });

  test("an item of nothing but an image is listed and read", async () => {
    const log = new TestLog();
    const id = log.user([image()]);
    const run = historyCaller(sourceOf(log));
    expect((await run("history_list_items")).lines()[1]).toMatchObject({ chars: 0, preview: "", images: { count: 1 } });
    const read = await run("history_read_item", { item_id: id, window_id: "w1" });
    expect(types(read)).toEqual(["image/png"]);
    expect(read.body()).toBe("");
  });
});

describe("what a model does first in a new window", () => {
  test("the latest eight requests with up to 5,000 characters each: all eight, newest first, as long as fits", async () => {
    const log = new TestLog();
    for (let at = 1; at <= 20; at++) {
      log.user(at % 3 === 0 ? `Request ${at}: ${"a long story ".repeat(400)}` : `Request ${at}: short`);
      log.assistant(text("done"));
    }
    log.newContext(2);
    const run = historyCaller(sourceOf(log));
    const answer = await run("history_list_items", {
      role: "user",
      recent_first: true,
      limit: 8,
      max_chars_per_item: 5_000,
    });
    const [first, ...rows] = answer.lines();
    expect(first).toEqual({ agent: "/root", total: 20, returned: 8, limit: 8, role: "user" });
    expect(rows.slice(0, 8).map(({ preview }) => String(preview).split(":")[0])).toEqual(
      [20, 19, 18, 17, 16, 15, 14, 13].map((at) => `Request ${at}`),
    );
    expect(rows[8]).toMatchObject({ omitted: 12 });
    const lengths = rows.slice(0, 8).map(({ preview }) => String(preview).length);
    expect(Math.max(...lengths)).toBeGreaterThan(2_000);
    expect(answer.text.length).toBeLessThanOrEqual(6_000);
    expect(answer.text.length).toBeGreaterThan(5_900);
  });

  test("a mixed item is previewed without its internal calls, and reading it shows all", async () => {
    const log = new TestLog();
    const id = log.assistant(call("n", "notes_append_to_file", { path: "log.md", text: "noted" }), text("Done."));
    const run = historyCaller(sourceOf(log));
    expect((await run("history_list_items")).lines()[1]).toMatchObject({ preview: "Done." });
    expect((await run("history_list_items", { tool_namespace: "notes" })).lines()[1]?.preview).toContain("noted");
    expect((await run("history_read_item", { item_id: id, window_id: "w1" })).body()).toContain("noted");
  });

  test("the running call is not in its own answer", async () => {
    const log = new TestLog();
    log.user("find the word");
    log.assistant(text("I look"), call("now", "history_search_contents", { query: "word" }));
    const run = historyCaller(sourceOf(log));
    const query = { query: "word", tool_namespace: "history" };
    expect((await run("history_search_contents", query, "now")).lines()[0]).toMatchObject({ total: 0 });
    expect((await run("history_search_contents", { query: "word" }, "now")).lines()).toHaveLength(2);
  });
});

describe("bounds", () => {
  const messages = fc.array(
    fc.tuple(anyText, fc.integer({ min: 1, max: 60 })).map(([unit, times]) => unit.repeat(times)),
    {
      minLength: 1,
      maxLength: 40,
    },
  );

  test("every list and search is within its bound, parses, and its coordinates read back the match", async () => {
    await fc.assert(
      fc.asyncProperty(
        messages,
        fc.nat(),
        fc.integer({ min: 300, max: 12_000 }),
        async (texts, at, maxToolOutputChars) => {
          const log = new TestLog();
          for (const value of texts) log.user(value);
          const run = historyCaller(sourceOf(log), { maxToolOutputChars });
          const bound = Math.min(maxToolOutputChars, 6_000);
          const listed = await run("history_list_items", { limit: 200, max_chars_per_item: 3_000 });
          expect(countCodePoints(listed.text)).toBeLessThanOrEqual(bound);
          // One row always comes, so that who follows the hints gets on.
          expect(listed.lines()[0]?.returned).toBeGreaterThan(0);

          const query = Array.from(texts[at % texts.length] ?? "")
            .slice(0, 5)
            .join("");
          fc.pre(query !== "");
          const found = await run("history_search_contents", { query, limit: 200 });
          expect(countCodePoints(found.text)).toBeLessThanOrEqual(bound);
          for (const row of found.lines().filter((line) => "regions" in line)) {
            const place = { item_id: row.item_id, window_id: row.window_id };
            for (const region of row.regions as {
              text: string;
              offset_chars: number;
              limit_chars: number;
              matches: { start: number; end: number }[];
            }[]) {
              const { offset_chars, limit_chars } = region;
              const wide = historyCaller(sourceOf(log));
              expect((await wide("history_read_item", { ...place, offset_chars, limit_chars })).body()).toBe(
                region.text,
              );
              for (const { start, end } of region.matches)
                expect(
                  (await wide("history_read_item", { ...place, offset_chars: start, limit_chars: end - start })).body(),
                ).toBe(query);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("where there is little room a single row shrinks, then its hint, at last to where it is", async () => {
    const log = new TestLog();
    for (let at = 0; at < 3; at++) log.user(`needle ${"x".repeat(500)}`);
    const search = async (maxToolOutputChars: number) => {
      const run = historyCaller(sourceOf(log), { maxToolOutputChars });
      const answer = await run("history_search_contents", { query: "needle" });
      const [, row, left] = answer.lines();
      return { size: countCodePoints(answer.text), row, hint: left?.hint };
    };
    const goOn = 'epeat the call with window_id "from 00000002" to go on';
    const wide = await search(430);
    expect(wide.row?.regions).toMatchObject([{ text: expect.stringMatching(/^needle x{10,}$/) }]);
    expect(wide.hint).toContain(`R${goOn}, or use a longer query`);
    const narrow = await search(330);
    expect(narrow.row?.regions).toMatchObject([{ text: expect.stringMatching(/^n/), matches: [{ start: 0, end: 6 }] }]);
    expect(narrow.hint).toBe(`R${goOn}.`);
    const least = await search(260);
    expect(least.row).toEqual({ item_id: "00000001", window_id: "w1", role: "user", chars: 507, regions: [] });
    expect(least.hint).toBe(`R${goOn}.`);
    expect(wide.size).toBeLessThanOrEqual(430);
    expect(narrow.size).toBeLessThanOrEqual(330);
    expect(least.size).toBeLessThanOrEqual(260);
    // Nothing is smaller than that.
    expect((await search(1)).size).toBe(least.size);
  });

  test("with the smallest settings every tool still answers with its first line and a row, or its header and a character", async () => {
    const run = historyCaller(sourceOf(session()), { maxToolOutputChars: 1, historyItemPreviewChars: 1 });
    expect((await run("history_list_windows")).lines()).toMatchObject([{ returned: 1 }, {}, { omitted: 1 }]);
    expect((await run("history_list_items")).lines()).toMatchObject([{ returned: 1 }, {}, { omitted: 4 }]);
    expect((await run("history_search_contents", { query: "parser" })).lines()).toMatchObject([
      { returned: 1 },
      {},
      { omitted: 4 },
    ]);
    const read = await run("history_read_item", { item_id: "00000001", window_id: "w1" });
    expect(read.body()).toBe("F");
    expect(read.header()).toMatchObject({ next_offset_chars: 1 });
  });

  test("a 300,000-character result is listed, found at its end, and read back in pages", async () => {
    const log = new TestLog();
    const long = `${"😀 output line\n".repeat(21_400)}the END`;
    const id = log.result("c1", "bash", long);
    const run = historyCaller(sourceOf(log));
    expect((await run("history_list_items")).lines()[1]).toMatchObject({ chars: Array.from(long).length });
    const [, row] = (await run("history_search_contents", { query: "END" })).lines();
    expect(row?.regions).toMatchObject([{ text: expect.stringMatching(/the END$/) }]);
    let rebuilt = "";
    let offset: unknown = 0;
    while (offset !== undefined) {
      const page = await run("history_read_item", { item_id: id, window_id: "w1", offset_chars: offset });
      rebuilt += page.body();
      offset = page.header().next_offset_chars;
    }
    expect(rebuilt).toBe(long);
  });
});
