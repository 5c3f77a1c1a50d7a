// The window machine: what the log says, what is decided from it, and what no sequence of events can break.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UNNOTED_IN_A_ROW_MAX } from "../../src/window/log-state.ts";
import {
  type Effect,
  fenceOf,
  type LiveEvent,
  OVERFLOWS_IN_A_ROW_MAX,
  replay,
  step,
  type WindowState,
} from "../../src/window/machine.ts";
import { call, indexOf, openerDetails, TestLog, text } from "../log/branches.ts";
import { figure, rounds } from "../rounds.ts";
import { FENCE_REQUESTS, Life, MOVES } from "./lives.ts";

const decide = (log: TestLog, event: LiveEvent): Effect | undefined => step(replay(indexOf(log)), event).effect;
const newContext: LiveEvent = { type: "new_context_called", toolCallId: "call", batchIsClosed: false };
const compaction = (reason: "manual" | "threshold" | "overflow", unconsolidatedWindows = 0): LiveEvent => ({
  type: "compaction_started",
  reason,
  enabled: true,
  canWrite: true,
  isOurs: false,
  isFinished: false,
  isRefused: false,
  unconsolidatedWindows,
  requestId: "m1",
});

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
    expect(decide(log, newContext)).toEqual({ type: "open_window", cause: "new_context" });
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
    expect(decide(log, newContext)?.type).toBe("open_window");
    const steered = new TestLog();
    steered.user("hello");
    steered.newContext(2);
    steered.user("one more thing");
    expect(decide(steered, newContext)?.type).toBe("open_window");
  });

  it("is refused while the latest note write of the window failed, and allowed after one that was saved", () => {
    const log = new TestLog();
    log.user("hello");
    log.assistant(call("n1", "notes_write_file", { path: "checkpoint.md", text: "x" }));
    log.message({ role: "toolResult", toolCallId: "n1", toolName: "notes_write_file", content: [], isError: true });
    expect(decide(log, newContext)).toEqual({ type: "refuse_new_context", because: "write_failed", toolCallId: "n1" });
    log.assistant(call("n2", "notes_write_file", { path: "checkpoint.md", text: "x" }));
    log.result("n2", "notes_write_file", "saved");
    expect(decide(log, newContext)?.type).toBe("open_window");
  });

  it("does not hold a failed write of a closed window against the next one", () => {
    const log = new TestLog();
    log.user("hello");
    log.assistant(call("o", "new_context"), call("n", "notes_write_file", { path: "a", text: "" }));
    log.result("o", "new_context", "opened", openerDetails(2));
    log.message({ role: "toolResult", toolCallId: "n", toolName: "notes_write_file", content: [], isError: true });
    log.user("go on");
    expect(decide(log, newContext)?.type).toBe("open_window");
  });
});

describe("a fence whose note could not be stored", () => {
  it("is given up at the end of a run, but not when the person stopped it", () => {
    const log = new TestLog();
    log.user("hello");
    const details = { kind: "fallback", requestId: "f1", windowId: "w1" };
    log.customMessage("pi-token-budget:fallback", "save it", details);
    const called = {
      type: "tool_called",
      toolCallId: "n",
      ownNoteWrite: true,
      blank: false,
      canWrite: true,
      opensWindow: false,
      nested: false,
      batchIsClosed: false,
    } as const;
    const failed = { type: "note_failed", toolCallId: "n", ofStorage: true } as const;
    const claimed = step(replay(indexOf(log)), called).state;
    const { state } = step(claimed, failed);
    expect(step(state, { type: "settled", aborted: true }).effect).toBeUndefined();
    expect(step(state, { type: "settled", aborted: false }).effect).toEqual({ type: "step_aside", because: "storage" });
  });
});

describe("a model that saves nothing", () => {
  const due: LiveEvent = { type: "request_due", fenceMaxRequests: 1, canWrite: true };
  /** A window whose fence has reached its bound. */
  const fence = (log: TestLog, number: number) => {
    log.user("go on");
    const details = { kind: "fallback", requestId: `f${number}`, windowId: `w${number}` };
    log.customMessage("pi-token-budget:fallback", "save it", details);
    log.assistant(call(`r${number}`, "read"));
    log.result(`r${number}`, "read", "refused");
  };

  it("gets so many windows in a row without a note, and then windows step aside", () => {
    const log = new TestLog();
    for (let number = 1; number <= UNNOTED_IN_A_ROW_MAX; number++) {
      fence(log, number);
      expect(decide(log, due)).toEqual({ type: "open_window", cause: "without_note" });
      log.openingEntry(number + 1);
    }
    fence(log, UNNOTED_IN_A_ROW_MAX + 1);
    expect(decide(log, due)).toEqual({ type: "step_aside", because: "unsaved" });
  });

  it("gets them anew after a saved note", () => {
    const log = new TestLog();
    for (let number = 1; number <= UNNOTED_IN_A_ROW_MAX; number++) {
      fence(log, number);
      log.openingEntry(number + 1);
    }
    log.assistant(call("n", "notes_write_file", { path: "checkpoint.md", text: "x" }));
    log.result("n", "notes_write_file", "saved");
    fence(log, UNNOTED_IN_A_ROW_MAX + 1);
    expect(decide(log, due)).toEqual({ type: "open_window", cause: "without_note" });
  });
});

describe("a compaction of the host", () => {
  it("at the threshold is cancelled, and asks for the reminder first and for the fallback then", () => {
    const log = new TestLog();
    log.user("hello");
    const check = { type: "budget_checked", level: "ok", hardTriggerTokens: undefined, via: "nextTurn" } as const;
    const { state, effect } = step(replay(indexOf(log)), compaction("threshold"));
    expect(effect).toEqual({ type: "cancel_compaction", reason: "threshold" });
    const reminding = step(state, check);
    expect(reminding.effect).toMatchObject({ type: "send_control", kind: "reminder" });
    // The host asks again before the prompt that the reminder rides along with.
    expect(step(step(reminding.state, compaction("threshold")).state, check).effect).toBeUndefined();
    log.customMessage("pi-token-budget:reminder", "soon full", { kind: "reminder", requestId: "r1", windowId: "w1" });
    const reminded = step(replay(indexOf(log)), compaction("threshold")).state;
    expect(step(reminded, check).effect).toMatchObject({ type: "send_control", kind: "fallback" });
  });

  it("consolidates what the host still holds of closed windows", () => {
    const log = new TestLog();
    log.user("hello");
    log.newContext(2);
    log.user("a steer");
    expect(decide(log, compaction("threshold", 1))).toEqual({ type: "consolidate" });
  });

  it("at the threshold of a window that refuses every request opens the next one, also when older ones are held", () => {
    const log = new TestLog();
    log.user("hello");
    const refused = { ...compaction("threshold", 1), isRefused: true } as LiveEvent;
    expect(decide(log, refused)).toEqual({ type: "open_window", cause: "overflow" });
    log.compaction("opens w2", openerDetails(2, "overflow"));
    log.message({ role: "assistant", content: [], stopReason: "error" });
    expect(decide(log, refused)).toEqual({ type: "leave_overflow" });
  });

  it("by hand runs a checkpoint, or nothing where there is no work", () => {
    const log = new TestLog();
    log.user("hello");
    expect(decide(log, compaction("manual"))).toEqual({ type: "run_checkpoint", requestId: "m1" });
    log.newContext(2);
    expect(decide(log, compaction("manual", 1))).toEqual({ type: "consolidate" });
    expect(decide(log, compaction("manual", 0))).toEqual({ type: "cancel_compaction", reason: "manual" });
  });

  it("after an overflow opens a window once, and not a second time without an answer between", () => {
    const log = new TestLog();
    log.user("hello");
    expect(decide(log, compaction("overflow"))).toEqual({ type: "open_window", cause: "overflow" });
    log.compaction("opens w2", openerDetails(2, "overflow"));
    expect(decide(log, compaction("overflow"))).toEqual({ type: "leave_overflow" });
    withUsage(log, text("answer"));
    expect(decide(log, compaction("overflow"))?.type).toBe("open_window");
    log.message({ role: "assistant", content: [], stopReason: "length", usage: { input: 10, output: 0 } });
    expect(decide(log, compaction("overflow"))?.type).toBe("open_window");
  });
});

const RUNS = rounds(2_000, 20_000);

function durable({ log }: WindowState) {
  return log;
}

describe(`over ${RUNS} random sessions`, () => {
  it("no invariant breaks, and replaying a branch gives the state that living through it gave", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...MOVES), { maxLength: 60 }), (moves) => {
        const life = new Life();
        for (const move of moves) {
          life.play(move);
          expect(durable(life.state)).toEqual(durable(replay(indexOf(life.log))));
          // What was taken back before it arrived asks for nothing.
          expect(life.cancelledEarly).not.toContain(fenceOf(life.state)?.requestId);
          // At most one fence, and a claim only under one.
          if (life.state.live.claim !== undefined && move.endsWith("turn")) {
            expect(fenceOf(life.state) ?? life.state.live.manual).toBeDefined();
          }
        }
        // No fence costs more than its bound.
        expect(life.mostRequests).toBeLessThanOrEqual(FENCE_REQUESTS);
        // At most one reminder and one fallback per window, unless one was taken back.
        expect(new Set(life.delivered).size).toBe(life.delivered.length);
        // Nothing but own note writes runs under a fence, and at most one of them is its checkpoint.
        expect(life.ranUnderFence).toBe(0);
        // Overflows alone never go on for ever.
        expect(life.mostOverflows).toBeLessThanOrEqual(OVERFLOWS_IN_A_ROW_MAX);
        // Nor does a model that saves nothing.
        expect(life.mostUnnoted).toBeLessThanOrEqual(UNNOTED_IN_A_ROW_MAX);
        for (const writes of life.writesUnderFence.values()) expect(writes).toBe(1);
        for (const opening of life.openings) {
          expect(opening.repeats).toBe(false);
          // No window out of a fence without its checkpoint, except by an overflow, its bound or its own manual compaction.
          if (opening.fenced)
            expect(["checkpoint", "overflow", "without_note", "manual_compact"]).toContain(opening.cause);
          // Two windows in a row never open with no work between them; only an overflow may leave an empty one.
          if (opening.cause !== "overflow") expect(opening.hadWork).toBe(true);
        }
      }),
      { numRuns: RUNS },
    );
    figure("event sequences", RUNS);
  });
});
