// Searching the lines of one note, the names a wrong path may have meant, and the warnings about sizes.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noteWarnings } from "../../src/notes/limits.ts";
import { searchLines } from "../../src/notes/search.ts";
import { similarNames } from "../../src/similar.ts";
import { anyText } from "../log/texts.ts";

const ALL = Number.POSITIVE_INFINITY;

describe("a search in a note", () => {
  test("gives each matching line once, with its number and its first match", () => {
    expect(searchLines("a needle\n\nNeedle\nneedle needle\r\n", "needle", ALL)).toEqual({
      matches: [
        { line: 1, text: "a needle", start: 2, end: 8 },
        { line: 4, text: "needle needle\r", start: 0, end: 6 },
      ],
      total: 2,
    });
  });

  test("counts the lines beyond the limit", () => {
    const found = searchLines("x\nx\nx", "x", 1);
    expect(found.total).toBe(3);
    expect(found.matches.map(({ line }) => line)).toEqual([1]);
    expect(searchLines("x", "x", 0)).toMatchObject({ matches: [], total: 1, next: { line: 1 } });
  });

  test("is literal, and never finds half of a character or more than a line", () => {
    expect(searchLines("a.c\nabc", "a.c", ALL).total).toBe(1);
    expect(searchLines("😀", "\ud83d", ALL).total).toBe(0);
    expect(searchLines("a\nb", "a\nb", ALL).total).toBe(0);
    expect(searchLines("abc", "", ALL).total).toBe(0);
  });

  test("finds what looking at every line finds", () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom("a", "ab", "😀", "\r", " ", "漢"), (raw, query) => {
        const text = raw.toWellFormed();
        const expected = text
          .split("\n")
          .map((line, at) => ({ line: at + 1, text: line, start: line.indexOf(query) }))
          .filter(({ start }) => start >= 0)
          .map((match) => ({ ...match, end: match.start + query.length }));
        expect(searchLines(text, query, ALL)).toEqual({ matches: expected, total: expected.length });
      }),
      { numRuns: 500 },
    );
  });
});

describe("similar paths", () => {
  const paths = ["checkpoint.md", "plans/db.md", "plans/api.md", "zzz"];
  test("are those that look like the wanted one, likest first", () => {
    expect(similarNames("check-point.md", paths, 5)[0]).toBe("checkpoint.md");
    expect(similarNames("db.md", paths, 5)[0]).toBe("plans/db.md");
    expect(similarNames("Plans/DB.md", paths, 1)).toEqual(["plans/db.md"]);
    expect(similarNames("qqqqq", paths, 5)).toEqual([]);
  });
});

describe("warnings about sizes", () => {
  const sizes = { path: "/root/notes/a.md", bytes: 62_500, totalBytes: 250_000, maxFileBytes: 1_000_000 };
  test("come when a note passes 1/16 of the cap or an agent's notes 1/4 of it", () => {
    expect(noteWarnings(sizes)).toEqual([]);
    expect(noteWarnings({ ...sizes, bytes: 62_501 })).toEqual([
      expect.stringContaining("/root/notes/a.md is 62501 bytes"),
    ]);
    expect(noteWarnings({ ...sizes, totalBytes: 250_001 })).toEqual([expect.stringContaining("250001 bytes in all")]);
    expect(noteWarnings({ ...sizes, bytes: 900_000, totalBytes: 900_000 })).toHaveLength(2);
  });
});
