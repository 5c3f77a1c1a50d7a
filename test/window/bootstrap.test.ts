// The text a new window starts from: what it says of requests, edits and notes.
import { describe, expect, it } from "vitest";
import { editedFilesIndex, nextBootstrap, notesIndex, recentItems, requestIndex } from "../../src/window/bootstrap.ts";
import { call, indexOf, TestLog, text } from "../log/branches.ts";

const IDENTITY = { agent: "/root", windowId: "w2", runId: "run" };
const requests = (log: TestLog) => requestIndex(indexOf(log), 2_000);

describe("the request index", () => {
  it("marks what got a final answer, and the latest request as open when it did not", () => {
    const log = new TestLog();
    log.user("first");
    log.assistant(text("done"));
    log.user("second");
    log.assistant(call("a", "read"));
    expect(requests(log)).toMatch(/w1 \(answered\) — first/);
    expect(requests(log)).toContain("The latest request is still open:\n<request");
    log.result("a", "read", "content");
    log.assistant(text("done too"));
    expect(requests(log)).toContain("The latest request got a final answer");
  });

  it("does not take the answer of a later request for one that was cut off", () => {
    const log = new TestLog();
    log.user("please migrate the whole database");
    log.message({ role: "assistant", content: [text("I will")], stopReason: "aborted" });
    log.user("what time is it");
    log.assistant(text("noon"));
    expect(requests(log)).toMatch(/w1 — please migrate/);
    expect(requests(log)).toContain("The latest request got a final answer");
  });

  it("takes an answer for a request and a steer of the same run", () => {
    const log = new TestLog();
    log.user("build it");
    log.assistant(call("a", "read"));
    log.result("a", "read", "content");
    log.user("and test it");
    log.assistant(text("done"));
    expect(requests(log)).toMatch(/w1 \(answered\) — build it/);
  });

  it("shows 25 at most and counts the older ones", () => {
    const log = new TestLog();
    for (let n = 0; n < 40; n++) log.user(`request ${n}`);
    const lines = requests(log).split("\n");
    expect(lines.filter((line) => / — request \d+$/.test(line))).toHaveLength(24);
    expect(requests(log)).toContain('(15 older: history_list_items {"role":"user"})');
  });
});

describe("the edited files", () => {
  it("are those whose edit succeeded, newest first, at most five", () => {
    const log = new TestLog();
    log.user("go");
    for (let n = 0; n < 7; n++) {
      log.assistant(call(`w${n}`, "write", { path: `src/${n}.ts`, content: "" }));
      log.result(`w${n}`, "write", "written");
    }
    log.assistant(call("bad", "edit", { path: "missing.ts" }));
    log.message({ role: "toolResult", toolCallId: "bad", toolName: "edit", content: [text("no")], isError: true });
    const lines = editedFilesIndex(indexOf(log)).split("\n").slice(1);
    expect(lines.map((line) => line.split(" — ")[0])).toEqual([6, 5, 4, 3, 2].map((n) => `src/${n}.ts`));
  });
});

describe("the notes index", () => {
  it("says when there are none, when they cannot be read, and how many are left out", () => {
    expect(notesIndex("/root", { rows: [], total: 0 })).toContain("No note files exist.");
    expect(notesIndex("/root", undefined)).toContain("notes_list_files_by_prefix");
    const rows = Array.from({ length: 25 }, (_, n) => ({ path: `/root/notes/${n}.md`, bytes: n, updated_at: "t" }));
    expect(notesIndex("/root", { rows, total: 40 }).split("\n").at(-1)).toBe("15 more: notes_list_files_by_prefix.");
  });

  it("stays within 6,000 characters in whole lines", () => {
    const rows = Array.from({ length: 25 }, (_, n) => ({
      path: `/root/notes/${"字".repeat(900)}${n}`,
      bytes: n,
      updated_at: "t",
    }));
    const index = notesIndex("/root", { rows, total: 25 });
    expect(Array.from(index).length).toBeLessThanOrEqual(6_000);
    for (const line of index.split("\n").slice(1, -1)) expect(() => JSON.parse(line)).not.toThrow();
  });
});

describe("after an overflow", () => {
  it("the last request takes a quarter of the model's window by tokens, also in Chinese", () => {
    const log = new TestLog();
    log.user("数".repeat(100_000));
    const bootstrap = nextBootstrap(indexOf(log), {
      identity: IDENTITY,
      notes: { rows: [], total: 0 },
      children: [],
      unsaved: { because: "overflow", contextWindow: 40_000 },
    });
    const shown = bootstrap.match(/数/g)?.length ?? 0;
    expect(shown).toBeLessThanOrEqual(10_000);
    expect(shown).toBeGreaterThan(9_000);
    expect(bootstrap).toContain("history_read_item");
    expect(bootstrap).toContain("without a checkpoint");
  });
});

it("a reminder names the newest items of the window and none of our own machinery", () => {
  const log = new TestLog();
  log.user("go");
  log.customMessage("pi-token-budget:reminder", "x", { kind: "reminder", windowId: "w1", requestId: "r" });
  log.assistant(call("n", "notes_read_file", { path: "a" }));
  log.assistant(text("a very long answer ".repeat(50)));
  const items = recentItems(indexOf(log));
  expect(items).toHaveLength(2);
  for (const item of items) expect(Array.from(item).length).toBeLessThan(200);
});
