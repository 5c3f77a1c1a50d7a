import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { NotesStore } from "../../src/notes/store.ts";
import { countCodePoints } from "../../src/storage/text.ts";
import { notesTools, type ToolNotes } from "../../src/tools/notes.ts";
import { callerOf } from "./calls.ts";

const FIRST_WRITE = Date.parse("2026-03-01T09:00:00.000Z");
const MINUTE_MS = 60_000;

let directory: string;
let root: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "notes-tools-"));
  root = join(directory, "notes");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface Options {
  readonly maxFileBytes?: number;
  readonly maxToolOutputChars?: number;
}

/** The notes tools over a store of one's own, in which each write comes a minute after the last. */
function tools({ maxFileBytes = 1_000_000, maxToolOutputChars = 12_000 }: Options = {}) {
  let minutes = 0;
  const now = () => FIRST_WRITE + minutes++ * MINUTE_MS;
  return callerFor(new NotesStore({ root, agent: "/root", maxFileBytes, now }), maxToolOutputChars);
}

function callerFor(store: ToolNotes, maxToolOutputChars: number) {
  return callerOf(
    notesTools({
      agent: () => "/root",
      notesToRead: (agent) => {
        if (agent === "/root") return store;
        throw new TokenBudgetError("unknown_agent", `No agent "${agent}" in this root task; there is /root.`);
      },
      notesToWrite: async (agent) => {
        if (agent === "/root") return { notes: store, readable: true };
        throw new TokenBudgetError("unknown_agent", `No agent "${agent}" in this root task; there is /root.`);
      },
      limits: () => ({ maxToolOutputChars }),
      onFailed: () => undefined,
      onSaved: () => ({}),
    }),
  );
}

/** A file put in the notes root by hand. */
function place(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

describe("the exact answers", () => {
  test("of writes and appends", async () => {
    const run = tools();
    const path = "plans/db.md";
    expect((await run("notes_write_file", { path, text: "é\n" })).text).toBe(
      '{"path":"/root/notes/plans/db.md","bytes":3,"created":true}',
    );
    expect((await run("notes_append_to_file", { path: "/root/notes/plans/db.md", text: "b" })).text).toBe(
      '{"path":"/root/notes/plans/db.md","bytes":4,"created":false}',
    );
    expect(readFileSync(join(root, path), "utf8")).toBe("é\nb");
    expect((await run("notes_write_file", { path, text: "" })).details).toEqual({
      path: "/root/notes/plans/db.md",
      bytes: 0,
      created: false,
    });
    expect((await run("notes_append_to_file", { path: "empty.md", text: "" })).text).toBe(
      '{"path":"/root/notes/empty.md","bytes":0,"created":true}',
    );
  });

  test("of lists, by a string prefix and in each order", async () => {
    const run = tools();
    for (const path of ["checkpoint.md", "a.md", "check/list.md"]) await run("notes_write_file", { path, text: path });
    const paths = async (args: object) =>
      (await run("notes_list_files_by_prefix", args)).lines().flatMap(({ path }) => path ?? []);
    expect((await run("notes_list_files_by_prefix", { prefix: "a" })).lines()).toEqual([
      { agent: "/root", total: 1, returned: 1, limit: 100, prefix: "a" },
      {
        path: "/root/notes/a.md",
        bytes: 4,
        created_at: expect.stringMatching(/^2026-03-01T09:0\d:00.000Z$/),
        updated_at: expect.stringMatching(/^2026-03-01T09:0\d:00.000Z$/),
      },
    ]);
    expect(await paths({})).toEqual(["/root/notes/a.md", "/root/notes/check/list.md", "/root/notes/checkpoint.md"]);
    expect(await paths({ prefix: "check" })).toEqual(["/root/notes/check/list.md", "/root/notes/checkpoint.md"]);
    expect(await paths({ prefix: "/root/notes/check/" })).toEqual(["/root/notes/check/list.md"]);
    expect(await paths({ prefix: null, file_order_by: "created_at", file_order: "descending" })).toEqual([
      "/root/notes/check/list.md",
      "/root/notes/a.md",
      "/root/notes/checkpoint.md",
    ]);
    const limited = await run("notes_list_files_by_prefix", { max_results: 1 });
    expect(limited.lines()).toMatchObject([
      { total: 3, returned: 1, limit: 1 },
      { path: "/root/notes/a.md" },
      { omitted: 2, hint: expect.stringContaining("max_results") },
    ]);
    expect((await run("notes_list_files_by_prefix", { max_results: 9_999 })).lines()[0]).toMatchObject({ limit: 500 });
  });

  test("of an empty list", async () => {
    expect((await tools()("notes_list_files_by_prefix")).text).toBe(
      '{"agent":"/root","total":0,"returned":0,"limit":100}',
    );
  });

  test.each<[string, object, string]>([
    [
      "a whole note",
      {},
      '{"path":"/root/notes/n.md","start_line":1,"stop_line":3,"total_lines":3,"offset_chars":0,"end_chars":13,"total_chars":13}\none\ntwo\nthree',
    ],
    [
      "some lines",
      { start_line: 2, stop_line: 2 },
      '{"path":"/root/notes/n.md","start_line":2,"stop_line":2,"total_lines":3,"offset_chars":0,"end_chars":4,"total_chars":4}\ntwo\n',
    ],
    [
      "the last line",
      { start_line: -1 },
      '{"path":"/root/notes/n.md","start_line":3,"stop_line":3,"total_lines":3,"offset_chars":0,"end_chars":5,"total_chars":5}\nthree',
    ],
    [
      "a page of the lines",
      { start_line: 2, offset_chars: 4, limit_chars: 3 },
      '{"path":"/root/notes/n.md","start_line":2,"stop_line":3,"total_lines":3,"offset_chars":4,"end_chars":7,"total_chars":9,"next_offset_chars":7}\nthr',
    ],
    [
      "a range past the end",
      { start_line: 3, stop_line: 9 },
      '{"path":"/root/notes/n.md","start_line":3,"stop_line":3,"total_lines":3,"offset_chars":0,"end_chars":5,"total_chars":5,"note":"The note ends at line 3, before stop_line 9."}\nthree',
    ],
    [
      "nothing but nulls",
      { start_line: null, stop_line: null, offset_chars: 99 },
      '{"path":"/root/notes/n.md","start_line":1,"stop_line":3,"total_lines":3,"offset_chars":13,"end_chars":13,"total_chars":13}\n',
    ],
  ])("of reading %s", async (_name, args, expected) => {
    const run = tools();
    await run("notes_write_file", { path: "n.md", text: "one\ntwo\nthree" });
    expect((await run("notes_read_file", { path: "n.md", ...args })).text).toBe(expected);
  });

  test("of searches", async () => {
    const run = tools();
    await run("notes_write_file", { path: "b.md", text: "first\na needle\n" });
    await run("notes_write_file", { path: "a.md", text: "needle 1\nneedle 2\nNeedle\n" });
    expect((await run("notes_search_contents", { query: "needle" })).text).toBe(
      [
        '{"agent":"/root","total":3,"returned":3,"limit":50,"max_matches_per_file":10,"files":2,"query":"needle"}',
        '{"path":"/root/notes/a.md","line":1,"text":"needle 1"}',
        '{"path":"/root/notes/a.md","line":2,"text":"needle 2"}',
        '{"path":"/root/notes/b.md","line":2,"text":"a needle"}',
      ].join("\n"),
    );
    const oldest = await run("notes_search_contents", {
      query: "needle",
      recent_file_first: true,
      max_files: 1,
      max_matches_per_file: 1,
    });
    expect(oldest.lines()).toMatchObject([
      { total: 3, returned: 1, limit: 1, max_matches_per_file: 1, files: 2 },
      { path: "/root/notes/a.md", line: 1 },
      { omitted: 2, hint: expect.stringContaining("max_matches_per_file") },
    ]);
    await run("notes_write_file", { path: "b.md", text: "needle again" });
    const newest = await run("notes_search_contents", { query: "needle", recent_file_first: true });
    expect(newest.lines()[1]).toMatchObject({ path: "/root/notes/a.md" });
    expect((await run("notes_search_contents", { query: "again", path_prefix: "a" })).lines()).toMatchObject([
      { total: 0, files: 0, path_prefix: "a" },
    ]);
  });
});

describe("bounds", () => {
  test("a long line is shortened around its match, whole characters only", async () => {
    const run = tools();
    await run("notes_write_file", {
      path: "n.md",
      text: `${"😀".repeat(600)}needle${"漢".repeat(600)}\nneedle${"x".repeat(900)}`,
    });
    const [, middle, start] = (await run("notes_search_contents", { query: "needle" })).lines();
    expect(middle?.text).toMatch(/^…😀+needle漢+…$/u);
    expect(countCodePoints(String(middle?.text))).toBe(400);
    expect(start?.text).toMatch(/^needlex+…$/);
  });

  test("many long lines shrink evenly, then are left out, and the output stays within its bound", async () => {
    const run = tools({ maxToolOutputChars: 3_000 });
    for (let at = 0; at < 40; at++)
      await run("notes_write_file", { path: `n${at}.md`, text: `${"x".repeat(500)}needle` });
    const found = await run("notes_search_contents", { query: "needle" });
    const lines = found.lines();
    expect(countCodePoints(found.text)).toBeLessThanOrEqual(3_000);
    expect(lines.at(-1)).toMatchObject({ omitted: 40 - (lines.length - 2) });
    for (const { text } of lines.slice(1, -1)) {
      expect(text).toMatch(/needle$/);
      expect(String(text).length).toBeGreaterThanOrEqual(120);
    }
    const listed = await run("notes_list_files_by_prefix");
    expect(listed.text.length).toBeLessThanOrEqual(3_000);
    expect(listed.lines().at(-1)).toHaveProperty("omitted");
  });

  test("a note is read back in pages of any size, whatever it holds", async () => {
    const content = fc
      .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\n", "\r\n", "😀", "漢字")))
      .map((parts) => parts.join(""));
    const run = tools({ maxToolOutputChars: 400 });
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 300 }), async (text, limit_chars) => {
        await run("notes_write_file", { path: "n.md", text });
        let rebuilt = "";
        let offset: unknown = 0;
        while (offset !== undefined) {
          const page = await run("notes_read_file", { path: "n.md", offset_chars: offset, limit_chars });
          expect(countCodePoints(page.text)).toBeLessThanOrEqual(400);
          rebuilt += page.body();
          offset = page.header().next_offset_chars;
        }
        expect(rebuilt).toBe(text);
      }),
      { numRuns: 40 },
    );
  });
});

describe("sizes", () => {
  test("a note over a sixteenth of the cap, and notes over a quarter of it, are warned of and written", async () => {
    const run = tools({ maxFileBytes: 1_600 });
    const write = async (path: string, bytes: number) =>
      (await run("notes_write_file", { path, text: "x".repeat(bytes) })).details.warnings;
    expect(await write("a.md", 100)).toBeUndefined();
    expect(await write("b.md", 101)).toEqual([expect.stringMatching(/^\/root\/notes\/b.md is 101 bytes/)]);
    expect(await write("c.md", 200)).toEqual([
      expect.stringMatching(/c.md is 200 bytes/),
      expect.stringMatching(/401 bytes in all/),
    ]);
  });

  test("over the cap is an error and changes nothing", async () => {
    const run = tools({ maxFileBytes: 10 });
    await run("notes_write_file", { path: "a.md", text: "12345678" });
    const tooLarge = expect.objectContaining({ code: "too_large" });
    await expect(run("notes_append_to_file", { path: "a.md", text: "漢" })).rejects.toThrow(tooLarge);
    await expect(run("notes_write_file", { path: "a.md", text: "x".repeat(11) })).rejects.toThrow(tooLarge);
    expect(readFileSync(join(root, "a.md"), "utf8")).toBe("12345678");
  });

  test("a write that is done does not fail because the notes cannot be counted", async () => {
    const notes: ToolNotes = {
      maxFileBytes: 1_600,
      write: async () => ({ bytes: 3, created: true }),
      append: async () => ({ bytes: 3, created: true }),
      read: () => ({ text: "", bytes: 0, updatedAt: "" }),
      listing: () => {
        throw new Error("nothing lists");
      },
      searching: () => {
        throw new Error("nothing searches");
      },
      usage: () => {
        throw new Error("EACCES");
      },
    };
    expect((await callerFor(notes, 12_000)("notes_write_file", { path: "a.md", text: "abc" })).text).toBe(
      '{"path":"/root/notes/a.md","bytes":3,"created":true}',
    );
  });
});

describe("addresses and errors", () => {
  test.each<
    [
      string,
      "notes_read_file" | "notes_write_file" | "notes_list_files_by_prefix" | "notes_search_contents",
      object,
      string,
      RegExp,
    ]
  >([
    [
      "another agent's note",
      "notes_read_file",
      { path: "/root/reviewer/notes/a.md" },
      "unknown_agent",
      /\/root\/reviewer.*there is \/root/,
    ],
    [
      "another agent's prefix",
      "notes_list_files_by_prefix",
      { prefix: "/root/reviewer/notes/" },
      "unknown_agent",
      /reviewer/,
    ],
    [
      "another agent's notes searched",
      "notes_search_contents",
      { query: "x", path_prefix: "/root/reviewer/notes" },
      "unknown_agent",
      /reviewer/,
    ],
    [
      "an absolute path without notes",
      "notes_read_file",
      { path: "/etc/passwd" },
      "invalid_path",
      /\/root\/<agent>\/notes/,
    ],
    [
      "a prefix that is only an address",
      "notes_list_files_by_prefix",
      { prefix: "/root/" },
      "invalid_path",
      /prefix is "\/root\/"/,
    ],
    ["a way out of the notes", "notes_write_file", { path: "../x.md", text: "" }, "invalid_path", /"\.\."/],
    [
      "a lone surrogate to be stored",
      "notes_write_file",
      { path: "a.md", text: "\ud83d" },
      "invalid_argument",
      /surrogate/,
    ],
    ["line 0", "notes_read_file", { path: "n.md", start_line: 0 }, "invalid_argument", /start_line is 0/],
    [
      "a range backwards",
      "notes_read_file",
      { path: "n.md", start_line: 3, stop_line: 2 },
      "invalid_argument",
      /stop_line 2 lies before start_line 3/,
    ],
    ["an empty query", "notes_search_contents", { query: "" }, "invalid_argument", /query is empty/],
    ["a note that is not there", "notes_read_file", { path: "m.md" }, "not_found", /n\.md/],
  ])("%s", async (_name, tool, args, code, message) => {
    const run = tools();
    await run("notes_write_file", { path: "n.md", text: "one\ntwo\nthree\n" });
    await expect(run(tool, args)).rejects.toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test("a lone surrogate is tolerated where it is searched", async () => {
    const run = tools();
    await run("notes_write_file", { path: "n.md", text: "😀" });
    expect((await run("notes_search_contents", { query: "\ud83d" })).lines()[0]).toMatchObject({ total: 0 });
  });

  test("what is no readable note is left out, and said", async () => {
    place("n.md", "needle");
    symlinkSync("/etc/passwd", join(root, "link.md"));
    const run = tools();
    for (const answer of [
      await run("notes_list_files_by_prefix"),
      await run("notes_search_contents", { query: "needle" }),
    ]) {
      expect(answer.lines()).toMatchObject([
        { total: 1, returned: 1 },
        { path: "/root/notes/n.md" },
        { omitted: 1, hint: expect.stringContaining('"link.md" (a symbolic link)') },
      ]);
    }
  });
});
