// The window machine: what the log says, and what is decided from it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BranchIndex } from "../../src/log/branch.ts";
import {
  CURSOR_AT_START,
  type Effect,
  factsSince,
  INITIAL_STATE,
  replay,
  step,
  type WindowEvent,
  type WindowState,
} from "../../src/window/machine.ts";
import { call, indexOf, openerDetails, TestLog, text } from "../log/branches.ts";

const decide = (log: TestLog, event: WindowEvent): Effect | undefined => step(replay(indexOf(log)), event).effects[0];
const newContext = { type: "new_context_called" } as const;
const compaction = (byPerson: boolean) => ({ type: "host_compaction_started", byPerson }) as const;

function withUsage(log: TestLog, ...content: readonly unknown[]): string {
  return log.message({
    role: "assistant",
    content,
    stopReason: "stop",
    usage: { input: 10, output: 1, totalTokens: 11 },
  });
}

describe("new_context", () => {
  it("opens a window when the current one holds a user's message", () => {
    const log = new TestLog();
    log.user("hello");
    log.assistant(call("a", "new_context"));
    expect(decide(log, newContext)).toEqual({ type: "open_window" });
  });

  it("finds nothing to leave in a window that holds only the call itself", () => {
    const log = new TestLog();
    log.user("hello");
    log.newContext(2);
    log.assistant(text("again"), call("b", "new_context"));
    expect(decide(log, newContext)).toEqual({ type: "answer_nothing_to_leave" });
  });

  it("counts any other call, and a message that arrived, as work", () => {
    const log = new TestLog();
    log.user("hello");
    log.newContext(2);
    log.assistant(call("r", "read"), call("b", "new_context"));
    expect(decide(log, newContext)).toEqual({ type: "open_window" });
    const steered = new TestLog();
    steered.user("hello");
    steered.newContext(2);
    steered.user("one more thing");
    expect(decide(steered, newContext)).toEqual({ type: "open_window" });
  });

  it("is refused while the latest note write of the window failed, and allowed after one that was saved", () => {
    const log = new TestLog();
    log.user("hello");
    log.assistant(call("n1", "notes_write_file", { path: "checkpoint.md", text: "x" }));
    log.message({ role: "toolResult", toolCallId: "n1", toolName: "notes_write_file", content: [], isError: true });
    expect(decide(log, newContext)).toEqual({ type: "refuse_new_context", because: "write_failed", toolCallId: "n1" });
    log.assistant(call("n2", "notes_write_file", { path: "checkpoint.md", text: "x" }));
    log.result("n2", "notes_write_file", "saved");
    expect(decide(log, newContext)).toEqual({ type: "open_window" });
  });

  it("does not hold a failed write of a closed window against the next one", () => {
    const log = new TestLog();
    log.user("hello");
    log.assistant(call("o", "new_context"), call("n", "notes_write_file", { path: "a", text: "" }));
    log.result("o", "new_context", "opened", openerDetails(2));
    log.message({ role: "toolResult", toolCallId: "n", toolName: "notes_write_file", content: [], isError: true });
    log.user("go on");
    expect(decide(log, newContext)).toEqual({ type: "open_window" });
  });
});

describe("a compaction of the host", () => {
  it("leaves a window with work for the next one", () => {
    const log = new TestLog();
    log.user("hello");
    expect(decide(log, compaction(false))).toEqual({ type: "open_window" });
    expect(decide(log, compaction(true))).toEqual({ type: "open_window" });
  });

  it("consolidates when it goes by the figures of a closed window", () => {
    const log = new TestLog();
    log.user("hello");
    withUsage(log, text("much"));
    log.newContext(2);
    log.user("a steer");
    expect(decide(log, compaction(false))).toEqual({ type: "consolidate" });
    withUsage(log, text("answer"));
    expect(decide(log, compaction(false))).toEqual({ type: "open_window" });
  });

  it("by a person opens the next window though this one has no figures yet", () => {
    const log = new TestLog();
    log.user("hello");
    log.newContext(2);
    log.user("a steer");
    expect(decide(log, compaction(true))).toEqual({ type: "open_window" });
  });

  it("of a window without work consolidates once, and then there is nothing to compact", () => {
    const log = new TestLog();
    log.user("hello");
    log.newContext(2);
    expect(decide(log, compaction(true))).toEqual({ type: "consolidate" });
    log.compaction("again", { consolidates: "w2", bootstrap: "b", bootstrapTimestamp: 1 });
    expect(decide(log, compaction(true))).toEqual({ type: "cancel_compaction" });
    expect(decide(log, compaction(false))).toEqual({ type: "cancel_compaction" });
  });
});

it("refuses calls after an opener in the same batch, and only those", () => {
  const state = replay(indexOf(new TestLog()));
  expect(step(state, { type: "tool_called", batchIsClosed: true }).effects).toEqual([
    { type: "refuse_tool", because: "window_closed" },
  ]);
  expect(step(state, { type: "tool_called", batchIsClosed: false }).effects).toEqual([{ type: "allow_tool" }]);
});

type Move = "user" | "answer" | "tool" | "failed write" | "write" | "new_context" | "mixed" | "foreign" | "consolidate";
const MOVES: readonly Move[] = [
  "user",
  "answer",
  "tool",
  "failed write",
  "write",
  "new_context",
  "mixed",
  "foreign",
  "consolidate",
];

/** Carries out a move as a live session would: it asks the machine first. */
function live(log: TestLog, move: Move, n: number): void {
  const state = replay(indexOf(log));
  const opens = (event: WindowEvent) => step(state, event).effects[0]?.type === "open_window";
  switch (move) {
    case "user":
      return void log.user(`message ${n}`);
    case "answer":
      return void withUsage(log, text(`answer ${n}`));
    case "tool":
      log.assistant(call(`t${n}`, "read"));
      return void log.result(`t${n}`, "read", "content");
    case "failed write":
    case "write":
      log.assistant(call(`n${n}`, "notes_write_file", { path: "a", text: "" }));
      return void log.message({
        role: "toolResult",
        toolCallId: `n${n}`,
        toolName: "notes_write_file",
        content: [],
        isError: move !== "write",
      });
    case "new_context":
    case "mixed": {
      log.assistant(
        ...(move === "mixed" ? [call(`m${n}`, "read")] : []),
        call(`o${n}`, "new_context"),
        call(`p${n}`, "read"),
      );
      if (move === "mixed") log.result(`m${n}`, "read", "content");
      const index = indexOf(log);
      const isOpened = step(replay(index), newContext).effects[0]?.type === "open_window";
      log.result(`o${n}`, "new_context", "answer", isOpened ? openerDetails(index.current.number + 1) : {});
      return void log.result(`p${n}`, "read", "refused or run");
    }
    case "foreign":
      return void log.compaction(`summary ${n}`);
    case "consolidate": {
      const { id } = indexOf(log).current;
      if (!opens(compaction(true)) && state.unconsolidated)
        log.compaction(`again ${n}`, { consolidates: id, bootstrap: "b", bootstrapTimestamp: n });
    }
  }
}

describe("over random sessions", () => {
  it("replaying a branch gives the state that living through it gave", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...MOVES), { maxLength: 40 }), (moves) => {
        const log = new TestLog();
        const index = new BranchIndex();
        let state: WindowState = INITIAL_STATE;
        let cursor = CURSOR_AT_START;
        moves.forEach((move, n) => {
          const before = log.entries.length;
          live(log, move, n);
          // Lived entry by entry, as the shell sees them.
          const leaf = log.leafId();
          for (const entry of log.entries.slice(before)) {
            log.goTo(entry.id);
            index.catchUp(log);
            const read = factsSince(index, cursor);
            for (const fact of read.facts) state = step(state, fact).state;
            cursor = read.cursor;
          }
          log.goTo(leaf);
        });
        expect(state).toEqual(replay(indexOf(log)));
      }),
      { numRuns: 1000 },
    );
  });

  it("two windows never open in a row with no work between them by our own tools", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...MOVES.filter((move) => move !== "foreign")), { maxLength: 40 }),
        (moves) => {
          const log = new TestLog();
          moves.forEach((move, n) => {
            live(log, move, n);
          });
          const index = indexOf(log);
          for (const window of index.windows.slice(0, -1)) {
            const { from, to } = index.rowRange(window);
            const works = index.rows
              .slice(from, to)
              .filter(({ head }) => head.role === "user" || head.calls.some((ref) => ref.name !== "new_context"));
            expect(works.length).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
