// Room for work: what counts, and that the least window is the least, over any settings.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_SETTINGS } from "../../src/settings-schema.ts";
import { thresholds } from "../../src/window/budget.ts";
import {
  FIXED_MIN_TOKENS,
  hasRoom,
  leastWindow,
  measuredFixedTokens,
  noRoomReason,
  roomForWork,
} from "../../src/window/room.ts";
import { indexOf, TestLog, text } from "../log/branches.ts";

const DEFAULTS = { reserveTokens: 16_384, settings: DEFAULT_SETTINGS };

const anyLimits = fc.record({
  reserveTokens: fc.nat(100_000),
  settings: fc.record({
    reminderRemainingPercent: fc.double({ min: 0, max: 1, noNaN: true }),
    reminderRemainingFloorTokens: fc.nat(200_000),
    reminderRemainingCeilingTokens: fc.nat(200_000),
    hardRolloverUsedTokens: fc.constant(0),
  }),
});

describe("room for work", () => {
  it("is what lies between a new window's start and its enforced checkpoint", () => {
    const { fallback } = thresholds(200_000, 16_384, DEFAULT_SETTINGS);
    expect(roomForWork(200_000, 10_000, DEFAULTS)).toBe(200_000 - fallback - 10_000 - 4_000);
  });

  it("is there in windows of 16,000 tokens and more with Pi's own prompt, and not in 8,192", () => {
    expect(leastWindow(FIXED_MIN_TOKENS, DEFAULTS)).toBe(15_999);
    expect(hasRoom(8_192, FIXED_MIN_TOKENS, DEFAULTS)).toBe(false);
    expect(hasRoom(16_384, FIXED_MIN_TOKENS, DEFAULTS)).toBe(true);
    expect(hasRoom(32_768, 27_000, DEFAULTS)).toBe(false);
  });

  it("never shrinks as the window grows, so that the least window is the least", () => {
    fc.assert(
      fc.property(anyLimits, fc.nat(100_000), fc.nat(300_000), (limits, fixed, more) => {
        const least = leastWindow(fixed, limits);
        expect(hasRoom(least, fixed, limits)).toBe(true);
        expect(hasRoom(least - 1, fixed, limits)).toBe(false);
        expect(roomForWork(least + more, fixed, limits)).toBeGreaterThanOrEqual(roomForWork(least, fixed, limits));
      }),
    );
  });

  it("that is missing is said with the figures and the window that would do", () => {
    const { because, wayBack } = noRoomReason(32_768, 27_000, DEFAULTS);
    expect(because).toContain("27,000");
    expect(because).toContain("32,768");
    expect(wayBack).toMatch(/at least \d\d,000 tokens/);
    const guessed = noRoomReason(8_192, 3_911, DEFAULTS);
    expect([guessed.because, guessed.wayBack].join(" ")).toMatch(
      /^up to 4,000 tokens of every request .* at least 16,000 /,
    );
  });

  it("counts as fixed what the first answer of a window says of its request, not what it wrote itself", () => {
    const log = new TestLog();
    log.newContext(2);
    const usage = { input: 9_000, output: 8_000, cacheRead: 0, cacheWrite: 0, totalTokens: 17_000 };
    log.message({ role: "assistant", content: [text("a long file")], stopReason: "stop", usage });
    const measured = measuredFixedTokens(indexOf(log)) ?? 0;
    expect(measured).toBeGreaterThan(8_900);
    expect(measured).toBeLessThanOrEqual(9_000);
  });

  it("knows nothing of the first window, nor of one whose first answer reports nothing", () => {
    const log = new TestLog();
    log.user("hello");
    log.message({ role: "assistant", content: [], stopReason: "stop", usage: { totalTokens: 5_000 } });
    expect(measuredFixedTokens(indexOf(log))).toBeUndefined();
    log.newContext(2);
    log.assistant(text("silent"));
    log.message({ role: "assistant", content: [], stopReason: "stop", usage: { totalTokens: 50_000 } });
    expect(measuredFixedTokens(indexOf(log))).toBeUndefined();
  });
});
