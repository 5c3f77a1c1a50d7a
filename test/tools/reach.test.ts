// Whatever there is can be reached by the calls that the hints name, taken to the letter: lists and searches of any size
// are gone through to their end, nothing is missed, and a hint that says to raise a limit is true.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { notesTools } from "../../src/tools/notes.ts";
import { TOOL_SPECS, type ToolName, type ToolSpec } from "../../src/tools/specs.ts";
import { sourceOf } from "../history/sources.ts";
import { TestLog } from "../log/branches.ts";
import { newStore } from "../notes/stores.ts";
import { type CallTool, callerOf, historyCaller } from "./calls.ts";

type Row = Readonly<Record<string, unknown>>;
type Args = Readonly<Record<string, unknown>>;

const GO_ON = /repeat the call with (\w+) ("(?:[^"\\]|\\.)*") to go on/i;
const RAISE = /raise (\w+)(?: or (\w+))?/i;
const PAGES_MAX = 2_000;

/** The rows of a call and of all calls that its hints lead to. */
async function everything<N extends ToolName>(run: CallTool<N>, tool: N, args: Args): Promise<Row[]> {
  const rows: Row[] = [];
  let asked = args;
  for (let page = 0; page < PAGES_MAX; page++) {
    const lines = (await run(tool, asked)).lines();
    const returned = Number(lines[0]?.returned);
    rows.push(...lines.slice(1, 1 + returned));
    const hint = lines[1 + returned]?.hint;
    if (hint === undefined) return rows;
    await expectRaisingHelps(run, tool, asked, returned, String(hint));
    const [, field = "", value = '""'] = GO_ON.exec(String(hint)) ?? [];
    expect(field, String(hint)).not.toBe("");
    asked = { ...asked, [field]: JSON.parse(value) };
  }
  throw new Error(`no end after ${PAGES_MAX} pages: ${JSON.stringify(asked)}`);
}

async function expectRaisingHelps<N extends ToolName>(
  run: CallTool<N>,
  tool: N,
  args: Args,
  returned: number,
  hint: string,
) {
  const [, ...limits] = RAISE.exec(hint) ?? [];
  const { params }: ToolSpec = TOOL_SPECS[tool];
  const raised = limits.filter((limit) => limit !== undefined).map((limit) => [limit, params[limit]?.maximum]);
  if (raised.length === 0) return;
  const more = (await run(tool, { ...args, ...Object.fromEntries(raised) })).lines();
  expect(Number(more[0]?.returned), hint).toBeGreaterThan(returned);
}

function ids(rows: readonly Row[], field: string): unknown[] {
  return rows.map((row) => row[field]);
}

const limits = fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined });
const bounds = fc.constantFrom(60, 900, 2_500, 12_000);
const common = { recent: fc.boolean(), limit: limits, bound: bounds };

function given(fields: Args): Args {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function expectAll(actual: unknown[], expected: readonly unknown[], reversed: boolean) {
  expect(actual).toEqual(reversed ? [...expected].reverse() : expected);
}

describe("by the hints alone", () => {
  test("every window is listed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 450 }),
        fc.record(common),
        async (windows, { recent, limit, bound }) => {
          const log = new TestLog();
          log.user("begin");
          for (let number = 2; number <= windows; number++) log.newContext(number);
          const run = historyCaller(sourceOf(log), { maxToolOutputChars: bound });
          const rows = await everything(
            run,
            "history_list_windows",
            given({ limit, recent_first: recent, agent_name: null }),
          );
          const all = Array.from({ length: windows }, (_, at) => `w${at + 1}`);
          expectAll(ids(rows, "window_id"), all, recent);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("every item is listed and every match found, of all windows and of one", async () => {
    const sizes = fc.tuple(fc.nat(20), fc.nat(220));
    const more = {
      window: fc.constantFrom(undefined, "w1", "w2"),
      text: fc.constantFrom("x", "漢字 ", "\u0001", "😀 long "),
    };
    await fc.assert(
      fc.asyncProperty(sizes, fc.record({ ...common, ...more }), async ([before, after], options) => {
        const { recent, limit, bound, window, text } = options;
        const log = new TestLog();
        const items: [string, string][] = [];
        const talk = (id: string, count: number) => {
          for (let at = 0; at < count; at++) items.push([id, log.user(`needle ${text.repeat((at * 37) % 300)}`)]);
        };
        talk("w1", before);
        log.newContext(2);
        talk("w2", after);
        const run = historyCaller(sourceOf(log), { maxToolOutputChars: bound });
        const wanted = items.filter(([id]) => window === undefined || id === window).map(([, item]) => item);
        const args = given({ limit, recent_first: recent, window_id: window, role: "user" });
        expectAll(ids(await everything(run, "history_list_items", args), "item_id"), wanted, recent);
        const found = await everything(run, "history_search_contents", { ...args, query: "needle" });
        expectAll(ids(found, "item_id"), wanted, recent);
      }),
      { numRuns: 10 },
    );
  });

  test("every note is listed, in each order", async () => {
    const store = newStore({ agent: "/root" });
    const run = notesCaller(store);
    const paths: string[] = [];
    for (let at = 0; at < 301; at++) {
      const path = ["plans/", "a from ", "n", "日本/"][at % 4] + String(at);
      paths.push(path);
      await store.write(path, "needle");
    }
    const full = (path: string) => `/root/notes/${path}`;
    const random = fc.record({
      max_results: fc.option(fc.integer({ min: 20, max: 400 }), { nil: undefined }),
      file_order_by: fc.constantFrom(undefined, "name", "created_at", "updated_at"),
      file_order: fc.constantFrom(undefined, "ascending", "descending"),
      prefix: fc.constantFrom(undefined, "", "n", "a from", "/root/notes/", "/root/notes/plans/", "none"),
    });
    await fc.assert(
      fc.asyncProperty(random, fc.constantFrom(3_000, 12_000), async (options, bound) => {
        const rows = await everything(notesCaller(store, bound), "notes_list_files_by_prefix", given(options));
        const prefix = (options.prefix ?? "").replace("/root/notes/", "");
        const wanted = paths.filter((path) => path.startsWith(prefix)).map(full);
        expect(new Set(ids(rows, "path"))).toEqual(new Set(wanted));
        expect(rows).toHaveLength(wanted.length);
      }),
      { numRuns: 10 },
    );
    await expect(run("notes_list_files_by_prefix", { prefix: "n//from nowhere" })).rejects.toThrow(/not among these/);
  });

  test("every match in notes is found", async () => {
    const sizes = fc.array(fc.constantFrom(0, 1, 3, 12, 130, 230), { maxLength: 5 });
    const random = fc.record({
      max_files: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      max_matches_per_file: fc.option(fc.integer({ min: 1, max: 120 }), { nil: undefined }),
      recent_file_first: fc.boolean(),
      path_prefix: fc.constantFrom(undefined, "n", "/root/notes/n"),
    });
    await fc.assert(
      fc.asyncProperty(sizes, random, fc.constantFrom(900, 12_000), async (files, options, bound) => {
        const store = newStore({ agent: "/root" });
        const wanted: string[] = [];
        for (const [at, count] of files.entries()) {
          const path = `n${at} from:7`;
          const line = (number: number) => (number % 2 === 0 ? "needle and needle" : "hay");
          await store.write(path, Array.from({ length: count }, (_, number) => line(number)).join("\n"));
          for (let number = 0; number < count; number += 2) wanted.push(`/root/notes/${path} ${number + 1}`);
        }
        const args = { query: "needle", ...given(options) };
        const rows = await everything(notesCaller(store, bound), "notes_search_contents", args);
        expect(new Set(rows.map(({ path, line }) => `${path} ${line}`))).toEqual(new Set(wanted));
      }),
      { numRuns: 10 },
    );
  });

  test("a place that is not there is an error that says how to begin again", async () => {
    const log = new TestLog();
    const first = log.user("one");
    log.newContext(2);
    log.user("two");
    const run = historyCaller(sourceOf(log));
    for (const window_id of ["from ffffffff", `w2 from ${first}`])
      await expect(run("history_list_items", { window_id })).rejects.toThrow(
        expect.objectContaining({ code: "unknown_item", message: expect.stringContaining("leave that part out") }),
      );
    expect((await run("history_list_windows", { agent_name: "from w9" })).lines()).toEqual([
      { agent: "/root", total: 0, returned: 0, limit: 50, from: "w9" },
    ]);
    await expect(
      notesCaller(newStore())("notes_search_contents", { query: "x", path_prefix: "//from a" }),
    ).rejects.toThrow(/a note and a line, such as plan.md:12/);
  });
});

function notesCaller(store: ReturnType<typeof newStore>, maxToolOutputChars = 12_000) {
  return callerOf(
    notesTools({
      agent: () => "/root",
      notesToRead: () => store,
      notesToWrite: async () => ({ notes: store, readable: true }),
      limits: () => ({ maxToolOutputChars }),
      onFailed: () => undefined,
      onSaved: () => ({}),
    }),
  );
}
