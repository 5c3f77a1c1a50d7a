// A disk on which every call takes its time. What looks at many files lets the event loop run behind a few calls, and ends
// when the call is aborted: calls are counted in each turn of the loop, of a real session whose disk is made slow.
import fs from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { call, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, first, pi, using } from "./support.ts";

closeAfterEach();

const DELAY_MS = 4;
/** 50 ms of them, and what a step that began before takes. */
const CALLS_IN_A_TURN_MAX = 16;
const NOTES = 40;

const SLOW = [
  "closeSync",
  "fstatSync",
  "lstatSync",
  "mkdirSync",
  "openSync",
  "readFileSync",
  "readSync",
  "readdirSync",
  "renameSync",
  "rmdirSync",
  "unlinkSync",
  "utimesSync",
  "writeSync",
] as const;

/** Makes the disk slow where notes lie, until the test ends; tells the most calls of one turn of the loop. */
function slowDisk(): { readonly calls: () => number; readonly most: () => number; readonly rest: () => void } {
  const still = new Int32Array(new SharedArrayBuffer(4));
  const ours = new Set<unknown>();
  let calls = 0;
  let most = 0;
  let inTurn = 0;
  let isOver = false;
  const turn = () => {
    inTurn = 0;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const originals = Object.fromEntries(SLOW.map((name) => [name, fs[name]]));
  for (const name of SLOW) {
    const own = fs[name] as (...args: unknown[]) => unknown;
    const slow = (...args: unknown[]) => {
      const isOurs = ours.has(args[0]) || /pi-token-budget\/notes\//.test(String(args[0]));
      if (!isOurs) return own(...args);
      calls++;
      most = Math.max(most, ++inTurn);
      Atomics.wait(still, 0, 0, DELAY_MS);
      const answer = own(...args);
      if (name === "openSync") ours.add(answer);
      if (name === "closeSync") ours.delete(args[0]);
      return answer;
    };
    Object.assign(fs, { [name]: slow });
  }
  const rest = () => {
    isOver = true;
    Object.assign(fs, originals);
  };
  onTestFinished(rest);
  return { calls: () => calls, most: () => most, rest };
}

async function withNotes(): Promise<PiSession> {
  const s = await pi({
    ui: true,
    next: (_request, n) => (n % 2 === 0 ? using(2_000, text("OLD"), call("new_context")) : using(1_000, text("done"))),
  });
  for (let at = 0; at < NOTES; at++)
    await s.callTool("notes_write_file", { path: `plans/${at}.md`, text: `the plan ${at}\nof the ledger` });
  return s;
}

test("notes are listed and searched a few calls at a time, and the search ends when it is aborted", async () => {
  const s = await withNotes();
  for (const [name, args] of [
    ["notes_search_contents", { query: "ledger", recent_file_first: true }],
    ["notes_list_files_by_prefix", { file_order_by: "created_at" }],
  ] as const) {
    const disk = slowDisk();
    const answer = await s.callTool(name, args);
    disk.rest();
    expect(JSON.parse(textOf({ content: answer.content }).split("\n")[0] ?? "")).toMatchObject({ total: NOTES });
    expect(disk.calls()).toBeGreaterThan(2 * NOTES);
    expect(disk.most(), name).toBeLessThanOrEqual(CALLS_IN_A_TURN_MAX);
  }
  const whole = slowDisk();
  await s.callTool("notes_search_contents", { query: "ledger" });
  whole.rest();
  const disk = slowDisk();
  const abort = new AbortController();
  setImmediate(() => abort.abort());
  const tool = s.session.getToolDefinition("notes_search_contents");
  const context = s.session.extensionRunner.createContext();
  const running = tool?.execute("aborted", { query: "ledger" } as never, abort.signal, undefined, context);
  await expect(running).rejects.toMatchObject({ name: "AbortError" });
  disk.rest();
  expect(disk.calls()).toBeLessThan(whole.calls() / 2);
});

test("a window opens with its list of notes at the cost of one look at each", async () => {
  const s = await withNotes();
  const disk = slowDisk();
  await s.prompt("and on in a new window");
  disk.rest();
  expect(s.requests).toHaveLength(2);
  expect(first(s.requests[1])).toContain("window, w2");
  expect(first(s.requests[1])).toContain("plans/");
  expect(s.ui.notices.filter(({ type }) => type === "error")).toEqual([]);
  // Each note is looked at once, and none is opened.
  expect(disk.calls()).toBeLessThan(2 * NOTES);
});
