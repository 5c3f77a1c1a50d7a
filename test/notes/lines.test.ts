// Lines of a note: which ones a range chooses, and that all of them together are the note.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countLines, selectLines } from "../../src/notes/lines.ts";
import { CodePointText } from "../../src/storage/text.ts";
import { anyText } from "../log/texts.ts";

const THREE = "one\ntwo\r\nthree\n";
const OPEN = "one\ntwo\nthree";

/** The lines of a text, each with its line feed, written down independently of the code under test. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

const withFeeds = fc.array(fc.oneof(anyText, fc.constant("\n")), { maxLength: 12 }).map((pieces) => pieces.join(""));
const number = fc.option(
  fc.integer({ min: -15, max: 15 }).filter((line) => line !== 0),
  { nil: undefined },
);

describe("lines", () => {
  test("are counted without one after a final line feed", () => {
    const counts: [string, number][] = [
      ["", 0],
      ["a", 1],
      ["\n", 1],
      ["a\n", 1],
      ["a\nb", 2],
      ["\n\n", 2],
      ["a\r\nb\r", 2],
    ];
    for (const [text, count] of counts) expect(countLines(text), JSON.stringify(text)).toBe(count);
  });

  test.each([
    [THREE, undefined, undefined, 1, 3, THREE],
    [THREE, 2, undefined, 2, 3, "two\r\nthree\n"],
    [THREE, undefined, 2, 1, 2, "one\ntwo\r\n"],
    [THREE, 2, 2, 2, 2, "two\r\n"],
    [THREE, -1, undefined, 3, 3, "three\n"],
    [THREE, -2, -1, 2, 3, "two\r\nthree\n"],
    [THREE, -2, 3, 2, 3, "two\r\nthree\n"],
    [THREE, 1, -2, 1, 2, "one\ntwo\r\n"],
    [THREE, -9, 1, 1, 1, "one\n"],
    [THREE, undefined, -9, 1, 1, "one\n"],
    [THREE, -9, -8, 1, 1, "one\n"],
    [OPEN, -1, undefined, 3, 3, "three"],
  ])("%j from %s to %s are %s to %s", (text, start, stop, startLine, stopLine, chosen) => {
    expect(selectLines(text, { start, stop })).toEqual({ text: chosen, startLine, stopLine, totalLines: 3 });
  });

  test.each([
    [THREE, 2, 9, 2, 3, "two\r\nthree\n", "ends at line 3"],
    [THREE, 4, undefined, 0, 0, "", "has 3 lines"],
    [THREE, 4, 9, 0, 0, "", "has 3 lines"],
    [THREE, 4, -1, 0, 0, "", "has 3 lines"],
    ["a", 2, undefined, 0, 0, "", "has 1 line."],
    ["", 1, undefined, 0, 0, "", "has 0 lines"],
    ["", -1, 5, 0, 0, "", "has 0 lines"],
  ])("%j from %s to %s reach past the end and say so", (text, start, stop, startLine, stopLine, chosen, says) => {
    const lines = selectLines(text, { start, stop });
    expect(lines).toMatchObject({ text: chosen, startLine, stopLine });
    expect(lines.pastEnd).toContain(says);
  });

  test("of an empty note are none, without a word about its end", () => {
    expect(selectLines("")).toEqual({ text: "", startLine: 0, stopLine: 0, totalLines: 0 });
  });

  test.each([
    [0, undefined, "start_line is 0"],
    [undefined, 0, "stop_line is 0"],
    [1.5, undefined, "start_line is 1.5"],
    [3, 2, "stop_line 2 lies before start_line 3"],
    [9, 8, "stop_line 8 lies before start_line 9"],
    [-1, -2, "stop_line -2 lies before start_line -1"],
    [-1, 2, "stop_line 2 lies before start_line -1"],
    [3, -2, "stop_line -2 lies before start_line 3"],
  ])("from %s to %s are an error", (start, stop, message) => {
    const select = () => selectLines(THREE, { start, stop });
    expect(select).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    expect(select).toThrow(message);
  });

  test("chosen by any range are those lines, byte for byte", () => {
    fc.assert(
      fc.property(withFeeds, number, number, (text, start, stop) => {
        const all = linesOf(text);
        const { startLine, stopLine, totalLines, ...chosen } = (() => {
          try {
            return selectLines(text, { start, stop });
          } catch {
            return { text: "", startLine: 0, stopLine: 0, totalLines: all.length };
          }
        })();
        expect(totalLines).toBe(all.length);
        expect(chosen.text).toBe(startLine === 0 ? "" : all.slice(startLine - 1, stopLine).join(""));
      }),
      { numRuns: 1_000 },
    );
  });

  test("one after the other, and in pages of characters, are the note", () => {
    fc.assert(
      fc.property(withFeeds, fc.integer({ min: 1, max: 9 }), (text, size) => {
        const { totalLines } = selectLines(text);
        let joined = "";
        for (let line = 1; line <= totalLines; line++) joined += selectLines(text, { start: line, stop: line }).text;
        expect(joined).toBe(text);
        const points = new CodePointText(selectLines(text).text);
        let pages = "";
        for (let offset = 0; offset < points.length; offset += size) pages += points.slice(offset, offset + size);
        expect(pages).toBe(text);
      }),
    );
  });
});
