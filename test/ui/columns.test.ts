// Text in a terminal: never wider than asked for, as the hosts themselves count, because they stop when a line is.
import { visibleWidth } from "@mariozechner/pi-tui";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columnsOf, fitted, laidOut, wrapped } from "../../src/ui/columns.ts";

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

describe("an answer laid out", () => {
  const line = fc.array(fc.stringMatching(/^[a-z/-]{1,60}$/), { maxLength: 12 }).map((words) => words.join(" "));
  const text = fc.array(fc.tuple(fc.integer({ min: 0, max: 50 }), line)).map((lines) => {
    return lines.map(([indent, words]) => `${" ".repeat(indent)}${words}`).join("\n");
  });

  it("fits, loses nothing, and what goes on stands further in than what it goes on from", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 20, max: 120 }), (whole, columns) => {
        const shown = laidOut(whole, columns);
        for (const one of shown.split("\n")) expect(columnsOf(one)).toBeLessThanOrEqual(Math.max(columns, 0));
        expect(shown.replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
      }),
    );
  });

  it("breaks a path behind a slash and below its words, and leaves what fits as it is", () => {
    const path = "/home/somebody/work/sessions/--home-somebody-work--/pi-token-budget";
    expect(laidOut(`Storage in ${path}\n  short`, 38)).toBe(
      [
        "Storage in",
        "  /home/somebody/work/sessions/",
        "  --home-somebody-work--/",
        "  pi-token-budget",
        "  short",
      ].join("\n"),
    );
    expect(laidOut("w1 *  2026-03-01 09:00 UTC  12 items, 1 request  mend the test", 38)).toBe(
      "w1 *  2026-03-01 09:00 UTC  12 items,\n  1 request  mend the test",
    );
    expect(laidOut("too narrow to lay anything out in it", 10)).toBe("too narrow to lay anything out in it");
  });
});
