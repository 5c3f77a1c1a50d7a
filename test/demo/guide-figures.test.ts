// The figures of the guide follow from the settings: with how much left the reminder comes, by the size of the window.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { DEFAULT_SETTINGS } from "../../src/settings.ts";
import { thresholds } from "../../src/window/budget.ts";
import { FIXED_MIN_TOKENS, leastWindow } from "../../src/window/room.ts";

const page = (name: string) => readFileSync(join(PACKAGE_DIR, "docs", name), "utf8");
const RESERVE_TOKENS = 16_384;
const reminder = (size: number) => thresholds(size, RESERVE_TOKENS, DEFAULT_SETTINGS).reminder;

it("of the reminder", () => {
  expect(page("guide.md")).toContain(
    "with 60,000 tokens left in a window of more than 240,000, with 21,384 in one of less than 85,536, and with half of it left in one of less than 42,768",
  );
  expect([240_000, 240_004, 1_000_000].map(reminder)).toEqual([60_000, 60_000, 60_000]);
  expect([239_996, 85_536, 128_000].map((size) => [reminder(size), size / 4])).toEqual(
    [239_996, 85_536, 128_000].map((size) => [size / 4, size / 4]),
  );
  expect([85_532, 65_536, 42_768].map(reminder)).toEqual([21_384, 21_384, 21_384]);
  expect([42_766, 32_768, 20_000].map(reminder)).toEqual([21_383, 16_384, 10_000]);
});

it("of the least window", () => {
  expect(page("troubleshooting.md")).toContain("about 16,000 tokens are the least");
  const least = leastWindow(FIXED_MIN_TOKENS, { reserveTokens: RESERVE_TOKENS, settings: DEFAULT_SETTINGS });
  expect(Math.round(least / 1_000)).toBe(16);
});
