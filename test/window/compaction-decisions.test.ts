// What the machine makes of a compaction by the state of the session around it: switched off, our own, already answered.
import { describe, expect, it } from "vitest";
import { type Effect, type LiveEvent, replay, step } from "../../src/window/machine.ts";
import { indexOf, TestLog, text } from "../log/branches.ts";

type Started = Extract<LiveEvent, { type: "compaction_started" }>;

const STARTED: Started = {
  type: "compaction_started",
  reason: "threshold",
  enabled: true,
  canWrite: true,
  isOurs: false,
  isFinished: false,
  isRefused: false,
  unconsolidatedWindows: 0,
  requestId: "m1",
};

function decide(change: Partial<Started>): Effect | undefined {
  const log = new TestLog();
  log.user("hello");
  log.assistant(text("hi"));
  return step(replay(indexOf(log)), { ...STARTED, ...change }).effect;
}

describe("a compaction while windows are off", () => {
  it("is the host's, unless closed windows are held and its threshold asks: they are dropped", () => {
    const off = { enabled: false, canWrite: false } as const;
    expect(decide({ ...off })).toEqual({ type: "leave_to_host" });
    expect(decide({ ...off, unconsolidatedWindows: 1 })).toEqual({ type: "consolidate" });
    for (const reason of ["manual", "overflow"] as const)
      expect(decide({ ...off, reason, unconsolidatedWindows: 1 })).toEqual({ type: "leave_to_host" });
    // A finished answer does not make an overflow a threshold here.
    expect(decide({ ...off, reason: "overflow", isFinished: true, unconsolidatedWindows: 1 })).toEqual({
      type: "leave_to_host",
    });
    expect(decide({ ...off, isOurs: true, reason: "manual" })).toEqual({ type: "consolidate" });
  });
});

describe("a compaction where no checkpoint can be saved", () => {
  it("drops closed windows, and is the host's when there are none", () => {
    expect(decide({ canWrite: false, reason: "manual" })).toEqual({ type: "leave_to_host" });
    expect(decide({ canWrite: false, reason: "manual", unconsolidatedWindows: 1 })).toEqual({ type: "consolidate" });
  });

  it("is the same once others have blocked the checkpoint too often", () => {
    const log = new TestLog();
    log.user("hello");
    const blocked = { type: "write_blocked" } as const;
    const { state } = step(step(replay(indexOf(log)), blocked).state, blocked);
    expect(step(state, STARTED).effect).toEqual({ type: "leave_to_host" });
  });
});

describe("an overflow behind a finished answer", () => {
  it("is taken for a threshold: nothing is sent again", () => {
    expect(decide({ reason: "overflow", isFinished: true })).toEqual({
      type: "cancel_compaction",
      reason: "threshold",
    });
    expect(decide({ reason: "overflow" })).toEqual({ type: "open_window", cause: "overflow" });
  });
});

describe("a window that a person asks for", () => {
  it("does not open where this one holds nothing, nor while a checkpoint is being saved", () => {
    const log = new TestLog();
    log.user("hello");
    log.newContext(2);
    const fresh = replay(indexOf(log));
    const asked = { type: "checkpoint_asked", requestId: "m1" } as const;
    const none = (because: string) => ({ type: "answer_not_opened", because });
    expect(step(fresh, asked).effect).toEqual(none("nothing_to_leave"));
    expect(step(fresh, { type: "left_without_note" }).effect).toEqual(none("nothing_to_leave"));
    log.user("work");
    const waiting = step(replay(indexOf(log)), asked);
    expect(waiting.effect).toEqual({ type: "run_checkpoint", requestId: "m1" });
    expect(step(waiting.state, asked).effect).toEqual(none("under_way"));
    expect(step(waiting.state, { type: "left_without_note" }).effect).toEqual(none("under_way"));
  });
});

it("a request under a fence that no tool can answer is not counted against it", () => {
  const log = new TestLog();
  log.user("hello");
  log.customMessage("pi-token-budget:fallback", "save it", { kind: "fallback", requestId: "f1", windowId: "w1" });
  const due = { type: "request_due", fenceMaxRequests: 0 } as const;
  const state = replay(indexOf(log));
  expect(step(state, { ...due, canWrite: false }).effect).toBeUndefined();
  expect(step(state, { ...due, canWrite: true }).effect).toEqual({ type: "open_window", cause: "without_note" });
});
