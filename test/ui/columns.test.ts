// Text in a terminal: never wider than asked for, as the hosts themselves count, because they stop when a line is.
import { visibleWidth } from "@mariozechner/pi-tui";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columnsOf, fitted, wrapped } from "../../src/ui/columns.ts";

const ODD = [
  "e\u0301",
  "👩‍👩‍👧‍👦",
  "🇯🇵🇩🇪",
  "©️ 1️⃣ ☑️ ▶️",
  "กำ ຳ",
  "שלום مرحبا",
  "한글 ㄱㅏ",
  "全角ＡＢ ｶﾞ",
  "\u001b[31mred\u001b[0m",
  "\u202eevil\u2066",
  "a\tb\nc",
  "\ud83d",
];
const words = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...ODD)), { maxLength: 12 });
const anything = words.map((all) => all.join(" "));

describe("lines", () => {
  it("that are cut or wrapped are never wider than asked for, nor hold what a terminal obeys", () => {
    fc.assert(
      fc.property(anything, fc.integer({ min: 1, max: 60 }), (text, width) => {
        for (const line of [fitted(text, width), ...wrapped(text, width)]) {
          expect(columnsOf(line)).toBeLessThanOrEqual(width);
          expect(visibleWidth(line)).toBeLessThanOrEqual(width);
          expect(line).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
          expect(line.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("that fit stay whole, and cut ones end with an ellipsis", () => {
    expect(fitted("write the test", 20)).toBe("write the test");
    expect(fitted("write the test", 10)).toBe("write the…");
    expect(fitted("日本語のテキスト", 7)).toBe("日本語…");
    expect(fitted("x".repeat(1_000_000), 5)).toBe("xxxx…");
    expect(fitted("anything", 0)).toBe("");
  });

  it("that are wrapped lose no word, and keep their ends and indents", () => {
    expect(wrapped("  one two three\n\nfour", 10)).toEqual(["  one two", "three", "", "four"]);
    expect(wrapped("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrapped("字", 1)).toEqual([]);
  });
});
