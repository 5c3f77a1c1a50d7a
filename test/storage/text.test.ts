// Code points: what the fast coordinates say is what Array.from says.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CodePointText, countCodePoints, headOf, shorten, tailOf } from "../../src/storage/text.ts";
import { anyText } from "../log/texts.ts";

/** Over 16k units, so that the table of checkpoints is in use; pairs fall on its boundaries. */
const LONG_UNITS = 16_500;
const longAstral = fc
  .tuple(
    anyText.filter((text) => text !== ""),
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([text, shift]) => {
    const piece = `😀${text}`;
    return "x".repeat(shift) + piece.repeat(Math.ceil(LONG_UNITS / piece.length));
  });
const runs = (numRuns: number) => ({ numRuns });

function unitsBefore(points: readonly string[], codePoint: number): number {
  return points.slice(0, codePoint).join("").length;
}

function checkText(text: string, at: number, length: number): void {
  const points = Array.from(text);
  const measured = new CodePointText(text);
  const from = Math.floor(at * points.length);
  const to = Math.min(points.length, from + length);
  expect(measured.length).toBe(points.length);
  expect(measured.slice(from, to)).toBe(points.slice(from, to).join(""));
  expect(measured.toUnit(from)).toBe(unitsBefore(points, from));
  expect(measured.toCodePoint(unitsBefore(points, from))).toBe(from);
}

const share = fc.double({ min: 0, max: 1, noNaN: true });

describe("a text in code points", () => {
  test("has the coordinates of Array.from, short", () => {
    fc.assert(fc.property(anyText, share, fc.nat(50), checkText), runs(300));
  });

  test("has the coordinates of Array.from, long with emoji", () => {
    fc.assert(fc.property(longAstral, share, fc.nat(5_000), checkText), runs(60));
  });

  test("ends where it ends, whatever offset is asked for", () => {
    for (const text of ["", "abc", "a😀", "😀".repeat(10_000)]) {
      const measured = new CodePointText(text);
      expect(measured.slice(measured.length, measured.length + 10)).toBe("");
      expect(measured.slice(0, measured.length + 10)).toBe(text);
      expect(measured.toUnit(measured.length + 1)).toBe(text.length);
    }
  });

  test("is cut at its head and tail without splitting an emoji", () => {
    fc.assert(
      fc.property(anyText, fc.nat(40), (text, size) => {
        const points = Array.from(text);
        expect(countCodePoints(text)).toBe(points.length);
        expect(headOf(text, size)).toBe(points.slice(0, size).join(""));
        expect(tailOf(text, size)).toBe(size === 0 ? "" : points.slice(-size).join(""));
        if (size > 0) expect(Array.from(shorten(text, size)).length).toBeLessThanOrEqual(size);
      }),
      runs(300),
    );
  });
});
