import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  holdsMatch,
  type IsHidden,
  MATCHES_PER_REGION_MAX,
  MatchScan,
  needleOf,
  previewOf,
  REGIONS_MAX,
  regionsOf,
} from "../../src/history/search.ts";
import { type ItemText, itemText, type TextRegion } from "../../src/log/item.ts";
import { atOnce } from "../../src/storage/slices.ts";
import { call, TestLog, text } from "../log/branches.ts";
import { anyText, longText } from "../log/texts.ts";

const hidesNothing: IsHidden = () => false;

function holds(...args: Parameters<typeof holdsMatch>): boolean {
  const answer = holdsMatch(...args);
  return typeof answer === "boolean" ? answer : atOnce(answer);
}

const hidesInternal = (region: TextRegion) => region.internal;

function itemOf(...blocks: readonly unknown[]): ItemText {
  const log = new TestLog();
  const entry = log.entry(log.assistant(...blocks));
  if (!entry) throw new Error("the entry was written");
  return itemText(entry);
}

function matchesOf(item: ItemText, query: string, isHidden = hidesNothing) {
  const scan = new MatchScan(item, needleOf(query), isHidden);
  const found: [number, number][] = [];
  for (let match = scan.next(); match; match = scan.next()) found.push([match.start, match.end]);
  return found;
}

function found(item: ItemText, query: string, previewChars = 400, isHidden = hidesNothing) {
  const needle = needleOf(query);
  return regionsOf(item.points, new MatchScan(item, needle, isHidden), needle, previewChars);
}

describe("matches", () => {
  test.each<[string, readonly unknown[], string, readonly (readonly [number, number])[]]>([
    ["one", [text("a needle here")], "needle", [[2, 8]]],
    ["none of another case", [text("a Needle here")], "needle", []],
    [
      "all, not overlapping",
      [text("aaaaa")],
      "aa",
      [
        [0, 2],
        [2, 4],
      ],
    ],
    [
      "counted in code points",
      [text("😀😀x😀x")],
      "x",
      [
        [2, 3],
        [4, 5],
      ],
    ],
    ["an emoji itself", [text("a😀b")], "😀", [[1, 2]]],
    [
      "characters that are special to patterns",
      [text("a.*b .*")],
      ".*",
      [
        [1, 3],
        [5, 7],
      ],
    ],
    [
      "in several regions",
      [text("ab"), text("ab")],
      "ab",
      [
        [0, 2],
        [3, 5],
      ],
    ],
    ["never across two regions", [text("ab"), text("cd")], "b\nc", []],
    ["never the newline between regions", [text("ab"), text("cd")], "\n", []],
    ["a newline inside a region", [text("a\nb"), text("")], "\n", [[1, 2]]],
    ["behind a hit that spans two regions", [text("xa"), text("a\na")], "a\na", [[3, 6]]],
    ["half a pair standing alone", [text("a\ud83d b😀")], "\ud83d", [[1, 2]]],
    ["a lone low half, not the end of a pair", [text("😀\ude00")], "\ude00", [[1, 2]]],
    ["empty regions in between", [text(""), text(""), text("x")], "x", [[2, 3]]],
  ])("%s", (_name, blocks, query, expected) => {
    const item = itemOf(...blocks);
    expect(matchesOf(item, query)).toEqual(expected);
    expect(holds(item, needleOf(query), hidesNothing)).toBe(expected.length > 0);
  });

  test("hidden regions are not searched, and those around them are", () => {
    const item = itemOf(
      text("key 1"),
      call("c1", "notes_write_file", { text: "key 2" }),
      call("c2", "bash", { c: "key 3" }),
    );
    expect(matchesOf(item, "key")).toHaveLength(3);
    expect(found(item, "key", 400, hidesInternal).map((region) => region.text)).toEqual([
      "key 1",
      '[tool_call bash c2]\n{"c":"key 3"}',
    ]);
    expect(holds(item, needleOf("key 2"), hidesInternal)).toBe(false);
    expect(holds(itemOf(call("c", "notes_write_file", { text: "key" })), needleOf("key"), hidesInternal)).toBe(false);
  });

  test("the same as a search in code points, for any text and any part of it", () => {
    fc.assert(
      fc.property(longText, fc.nat(), fc.integer({ min: 1, max: 6 }), (value, at, length) => {
        const points = Array.from(value);
        fc.pre(points.length > 0);
        const from = at % points.length;
        const query = points.slice(from, from + length).join("");
        const matches = matchesOf(itemOf(text(value)), query);
        expect(matches.length).toBeGreaterThan(0);
        let previous = 0;
        for (const [start, end] of matches) {
          expect(points.slice(start, end).join("")).toBe(query);
          expect(start).toBeGreaterThanOrEqual(previous);
          previous = end;
        }
      }),
    );
  });
});

describe("regions around matches", () => {
  const filler = "lorem ipsum ".repeat(100);

  test("a lone match has all of the preview around it", () => {
    const item = itemOf(text(`${filler}NEEDLE${filler}`));
    const [region, ...others] = found(item, "NEEDLE");
    expect(others).toEqual([]);
    expect(region?.limit_chars).toBe(400);
    expect(region?.offset_chars).toBe(1200 - 197);
    expect(region?.matches).toEqual([{ start: 1200, end: 1206 }]);
  });

  test("near a region's start or end the preview moves inwards instead of shrinking", () => {
    expect(found(itemOf(text(`NEEDLE${filler}`)), "NEEDLE")).toMatchObject([{ offset_chars: 0, limit_chars: 400 }]);
    expect(found(itemOf(text(`${filler}NEEDLE`)), "NEEDLE")).toMatchObject([{ offset_chars: 806, limit_chars: 400 }]);
    expect(found(itemOf(text("short NEEDLE")), "NEEDLE")).toMatchObject([{ offset_chars: 0, limit_chars: 12 }]);
  });

  test("far matches share the preview among at most three regions, the first ones", () => {
    const item = itemOf(text(`NEEDLE${filler}`.repeat(5)));
    const regions = found(item, "NEEDLE");
    expect(regions).toHaveLength(REGIONS_MAX);
    expect(regions.map((region) => region.matches[0]?.start)).toEqual([0, 1206, 2412]);
    expect(regions.every((region) => region.limit_chars === 133)).toBe(true);
  });

  test("two far matches share it in halves", () => {
    const regions = found(itemOf(text(`NEEDLE${filler}`.repeat(2))), "NEEDLE");
    expect(regions.map((region) => region.limit_chars)).toEqual([200, 200]);
  });

  test("neighbourhoods that touch are one region with all of their matches", () => {
    const item = itemOf(text(`${filler}NEEDLE and a NEEDLE${" ".repeat(90)}NEEDLE${filler}`));
    const regions = found(item, "NEEDLE");
    expect(regions).toHaveLength(1);
    expect(regions[0]?.matches).toHaveLength(3);
  });

  test("at every distance two matches share a region or have a gap between theirs", () => {
    const counts = new Set<number>();
    for (let gap = 0; gap < 300; gap++) {
      const regions = found(itemOf(text(`${filler}NEEDLE${" ".repeat(gap)}NEEDLE${filler}`)), "NEEDLE");
      counts.add(regions.length);
      const [first, second] = regions;
      if (first && second) expect(second.offset_chars).toBeGreaterThan(first.offset_chars + first.limit_chars);
    }
    expect(counts).toEqual(new Set([1, 2]));
  });

  test("matches in different blocks are never in one region", () => {
    expect(found(itemOf(text("a NEEDLE"), text("b NEEDLE")), "NEEDLE").map((region) => region.text)).toEqual([
      "a NEEDLE",
      "b NEEDLE",
    ]);
  });

  test("a match longer than the preview is shown from its start, with its true end", () => {
    const long = "0123456789".repeat(100);
    const item = itemOf(text(`${filler}${long}${filler}`));
    expect(found(item, long)).toEqual([
      { text: long.slice(0, 400), offset_chars: 1200, limit_chars: 400, matches: [{ start: 1200, end: 2200 }] },
    ]);
  });

  test("a long query gets fewer regions rather than no context", () => {
    const query = "0123456789".repeat(20);
    const regions = found(itemOf(text(`${filler}${query}`.repeat(4))), query);
    expect(regions).toHaveLength(1);
    expect(regions[0]?.limit_chars).toBe(400);
  });

  test("a region full of matches lists the first few", () => {
    const [region] = found(itemOf(text("a".repeat(1000))), "a");
    expect(region?.matches).toHaveLength(MATCHES_PER_REGION_MAX);
  });

  test("an emoji at an edge is never split", () => {
    for (let previewChars = 1; previewChars < 40; previewChars++)
      for (const region of found(itemOf(text(`${"😀".repeat(50)}NEEDLE${"😀".repeat(50)}`)), "NEEDLE", previewChars))
        expect(region.text.isWellFormed()).toBe(true);
  });

  test("whatever the text, the query and the preview: read back exactly, within the preview, in order", () => {
    const blocks = fc.array(fc.oneof(anyText, longText), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        blocks,
        fc.nat(),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 900 }),
        (values, at, length, previewChars) => {
          const item = itemOf(...values.map(text));
          const searched = Array.from(values[at % values.length] ?? "");
          fc.pre(searched.length > 0);
          const from = at % searched.length;
          const query = searched.slice(from, from + length).join("");
          const regions = found(item, query, previewChars);
          expect(regions.length).toBeGreaterThan(0);
          expect(regions.length).toBeLessThanOrEqual(REGIONS_MAX);
          expect(regions.reduce((sum, region) => sum + region.limit_chars, 0)).toBeLessThanOrEqual(previewChars);
          let previousEnd = 0;
          for (const region of regions) {
            const end = region.offset_chars + region.limit_chars;
            expect(region.offset_chars).toBeGreaterThanOrEqual(previousEnd);
            expect(item.points.slice(region.offset_chars, end)).toBe(region.text);
            expect(region.matches.length).toBeGreaterThan(0);
            for (const match of region.matches) {
              expect(item.points.slice(match.start, match.end)).toBe(query);
              expect(match.start).toBeGreaterThanOrEqual(region.offset_chars);
              expect(match.start).toBeLessThan(end);
            }
            previousEnd = end;
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("previews", () => {
  test("are the beginning of the text, without hidden regions", () => {
    const item = itemOf(text("one"), call("c", "notes_write_file", { text: "secret" }), text("two"));
    expect(previewOf(item, hidesInternal, 100)).toBe("one\ntwo");
    expect(previewOf(item, hidesInternal, 5)).toBe("one\nt");
    expect(previewOf(item, hidesInternal, 3)).toBe("one");
    expect(previewOf(item, hidesNothing, 6)).toBe("one\n[t");
    expect(previewOf(itemOf(text("😀😀😀")), hidesNothing, 2)).toBe("😀😀");
    expect(previewOf(itemOf(call("c", "notes_write_file")), hidesInternal, 100)).toBe("");
  });
});
