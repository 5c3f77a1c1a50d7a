// Whether a manual compaction has ended a run: told from the settled boundary on, whose handlers may take their time.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Runs } from "../../src/host/runs.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const ended = (stopReason: string) => ({ messages: [{ role: "assistant", stopReason, content: [] }] }) as never;

function stopped(stopReason: string): Runs {
  const runs = new Runs(() => undefined);
  runs.started();
  runs.ended(ended(stopReason));
  return runs;
}

it("a run that was stopped counts as going on for a moment after its settled boundary, however long that took", () => {
  const runs = stopped("aborted");
  vi.advanceTimersByTime(3_000);
  expect(runs.isInRun()).toBe(false);
  runs.settled();
  expect(runs.isInRun()).toBe(true);
  vi.advanceTimersByTime(3_000);
  expect(runs.isInRun()).toBe(false);
});

it("a run that has finished does not, and one that was stopped counts at its own boundary alone", () => {
  const runs = stopped("stop");
  runs.settled();
  expect(runs.isInRun()).toBe(false);
  runs.started();
  runs.ended(ended("aborted"));
  runs.settled();
  vi.advanceTimersByTime(3_000);
  runs.started();
  runs.ended(ended("stop"));
  runs.settled();
  expect(runs.isInRun()).toBe(false);
});
