// Notices at a screen that is about to be drawn anew: they come behind that, in their order, each once; elsewhere at once.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { HostContext } from "../../src/host/api.ts";
import { LateNotices } from "../../src/host/late-notices.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const CONTEXT = {} as HostContext;

function notices(isScreenDrawn: boolean) {
  const said: string[] = [];
  return {
    said,
    late: new LateNotices(
      (_ctx, message) => void said.push(message),
      () => isScreenDrawn,
    ),
  };
}

it("wait from when the chat is to be drawn until it is", () => {
  const { said, late } = notices(true);
  late.show(CONTEXT, "before", "info");
  late.hold();
  late.show(CONTEXT, "one", "warning");
  vi.runAllTimers();
  expect(said).toEqual(["before"]);
  late.release();
  late.show(CONTEXT, "two", "warning");
  expect(said).toEqual(["before"]);
  vi.runAllTimers();
  expect(said).toEqual(["before", "one", "two"]);
  late.show(CONTEXT, "after", "info");
  vi.runAllTimers();
  expect(said).toEqual(["before", "one", "two", "after"]);
});

it("wait for the last drawing, where one follows the other", () => {
  const { said, late } = notices(true);
  late.hold();
  late.show(CONTEXT, "one", "info");
  late.release();
  late.hold();
  vi.runAllTimers();
  expect(said).toEqual([]);
  late.release();
  vi.runAllTimers();
  expect(said).toEqual(["one"]);
});

it("come behind what the host says now, and at once where nothing is drawn", () => {
  const { said, late } = notices(true);
  late.showAfter(CONTEXT, "behind", "info");
  expect(said).toEqual([]);
  vi.runAllTimers();
  expect(said).toEqual(["behind"]);
  const plain = notices(false);
  plain.late.hold();
  plain.late.show(CONTEXT, "now", "info");
  plain.late.showAfter(CONTEXT, "and now", "info");
  expect(plain.said).toEqual(["now", "and now"]);
});
