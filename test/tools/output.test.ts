import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CodePointText, countCodePoints, headOf } from "../../src/storage/text.ts";
import { type ListOutput, listOutput, PREVIEW_MIN_CODE_POINTS, readOutput } from "../../src/tools/output.ts";
import { anyText, longText } from "../log/texts.ts";

interface TestRow {
  readonly id: string;
  readonly text: string;
}

function render({ id, text }: TestRow, previewChars: number) {
  return { id, preview: headOf(text, previewChars) };
}

function list(texts: readonly string[], more: Partial<ListOutput<TestRow>> = {}) {
  const rows = texts.map((text, at) => ({ id: `r${at + 1}`, text }));
  return listOutput({
    scope: { agent: "/root" },
    total: rows.length,
    limit: 50,
    rows,
    render,
    hint: () => "Narrow it.",
    bound: 6_000,
    ...more,
  });
}

function linesOf(answer: { readonly text: string }): readonly Record<string, unknown>[] {
  return answer.text.split("\n").map((line) => JSON.parse(line));
}

function previewsOf(answer: { readonly text: string }): readonly string[] {
  return linesOf(answer).flatMap(({ preview }) => (typeof preview === "string" ? [preview] : []));
}

describe("list output", () => {
  test.each<[string, readonly string[], Partial<ListOutput<TestRow>>, string]>([
    ["nothing", [], {}, '{"agent":"/root","total":0,"returned":0,"limit":50}'],
    [
      "everything, with the filters that were given",
      ["one", "two\n"],
      { scope: { agent: "/root", role: "user", window_id: undefined }, previewChars: 10 },
      '{"agent":"/root","total":2,"returned":2,"limit":50,"role":"user"}\n{"id":"r1","preview":"one"}\n{"id":"r2","preview":"two\\n"}',
    ],
    [
      "what the limit left out",
      ["one"],
      { total: 9, limit: 1, previewChars: 10 },
      '{"agent":"/root","total":9,"returned":1,"limit":1}\n{"id":"r1","preview":"one"}\n{"omitted":8,"hint":"Narrow it."}',
    ],
    [
      "a bound that has room for nothing: one row comes, as small as it gets",
      ["one", "two"],
      { bound: 1, previewChars: 10 },
      '{"agent":"/root","total":2,"returned":1,"limit":50}\n{"id":"r1","preview":""}\n{"omitted":1,"hint":"Narrow it."}',
    ],
    [
      "a lone surrogate, escaped",
      ["a\ud83d"],
      { previewChars: 10 },
      '{"agent":"/root","total":1,"returned":1,"limit":50}\n{"id":"r1","preview":"a\\ud83d"}',
    ],
  ])("%s", (_name, texts, more, expected) => {
    expect(list(texts, more).text).toBe(expected);
  });

  test("details carry the same facts typed", () => {
    expect(list(["one", "two"], { total: 5, previewChars: 2 }).details).toEqual({
      agent: "/root",
      total: 5,
      returned: 2,
      limit: 50,
      rows: [
        { id: "r1", preview: "on" },
        { id: "r2", preview: "tw" },
      ],
      omitted: 3,
      hint: "Narrow it.",
    });
  });

  test("previews shrink evenly before a row is left out, and as little as needed", () => {
    const texts = Array.from({ length: 8 }, (_none, at) => (at === 3 ? "short" : "x".repeat(5_000)));
    const answer = list(texts, { previewChars: 5_000 });
    const lengths = previewsOf(answer).map((preview) => preview.length);
    expect(lengths).toHaveLength(8);
    expect(lengths[3]).toBe(5);
    expect(new Set(lengths).size).toBe(2);
    expect(linesOf(answer)[0]).toMatchObject({ total: 8, returned: 8 });
    // One more character in each of the seven long previews would not have fitted.
    expect(answer.text.length).toBeGreaterThan(6_000 - 7);
    expect(answer.text.length).toBeLessThanOrEqual(6_000);
  });

  test("below the least preview rows are left out instead, and the rest shares the room", () => {
    const answer = list(
      Array.from({ length: 200 }, () => "x".repeat(1_000)),
      { previewChars: 1_000 },
    );
    const lengths = previewsOf(answer).map((preview) => preview.length);
    expect(lengths.length).toBeGreaterThan(30);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(PREVIEW_MIN_CODE_POINTS);
    expect(linesOf(answer).at(-1)).toEqual({ omitted: 200 - lengths.length, hint: "Narrow it." });
  });

  test("a preview requested below the least is kept as it is", () => {
    const answer = list(
      Array.from({ length: 10 }, () => "x".repeat(1_000)),
      { previewChars: 50, bound: 400 },
    );
    expect(new Set(previewsOf(answer).map((preview) => preview.length))).toEqual(new Set([50]));
  });

  test("escapes are counted: control characters shrink a preview more than letters", () => {
    const of = (char: string) => previewsOf(list([char.repeat(9_000)], { previewChars: 9_000 }))[0]?.length ?? 0;
    expect(of("x")).toBeGreaterThan(5.9 * of("\u0000"));
    expect(of("\u0000")).toBeGreaterThan(900);
  });

  test("characters are code points: emoji fill the bound as letters do", () => {
    const answer = list(["😀".repeat(9_000)], { previewChars: 9_000 });
    expect(countCodePoints(answer.text)).toBe(6_000);
  });

  test("a filter as long as a book is repeated shortened; the agent is whole", () => {
    const agent = `/root/${"a".repeat(300)}`;
    const [first] = linesOf(list([], { scope: { agent, query: "q".repeat(100_000) } }));
    expect(first?.agent).toBe(agent);
    expect(String(first?.query)).toHaveLength(120);
  });

  test("always within the bound that holds its first and last line, and every line parses", () => {
    const made = fc.record({
      texts: fc.array(fc.oneof(anyText, longText), { maxLength: 30 }),
      more: fc.nat({ max: 100 }),
      previewChars: fc.integer({ min: 1, max: 6_000 }),
      bound: fc.integer({ min: 200, max: 8_000 }),
    });
    fc.assert(
      fc.property(made, ({ texts, more, previewChars, bound }) => {
        const total = texts.length + more;
        const answer = list(texts, { total, previewChars, bound });
        expect(countCodePoints(answer.text)).toBeLessThanOrEqual(bound);
        expect(answer.text.isWellFormed()).toBe(true);
        const lines = linesOf(answer);
        const returned = Number(lines[0]?.returned);
        const shown = previewsOf(answer);
        expect(shown).toHaveLength(returned);
        expect(lines).toHaveLength(1 + returned + (returned < total ? 1 : 0));
        if (returned < total) expect(lines.at(-1)?.omitted).toBe(total - returned);
        for (const [at, preview] of shown.entries()) {
          const whole = Array.from(texts[at] ?? "");
          const points = Array.from(preview);
          expect(points).toEqual(whole.slice(0, points.length));
          // A row that is alone shrinks as far as it must.
          const least = returned === 1 ? 1 : PREVIEW_MIN_CODE_POINTS;
          expect(points.length).toBeGreaterThanOrEqual(Math.min(whole.length, previewChars, least));
        }
      }),
    );
  });
});

describe("read output", () => {
  function read(text: string, offset: number, limit: number | undefined, bound = 12_000) {
    return readOutput({ header: { item_id: "a" }, points: new CodePointText(text), offset, limit, bound });
  }

  test.each<[string, string, number, number | undefined, number | undefined, string]>([
    [
      "all of it",
      "héllo\n",
      0,
      undefined,
      undefined,
      '{"item_id":"a","offset_chars":0,"end_chars":6,"total_chars":6}\nhéllo\n',
    ],
    [
      "a part with more behind it",
      "hello",
      1,
      3,
      undefined,
      '{"item_id":"a","offset_chars":1,"end_chars":4,"total_chars":5,"next_offset_chars":4}\nell',
    ],
    ["the rest", "hello", 4, 3, undefined, '{"item_id":"a","offset_chars":4,"end_chars":5,"total_chars":5}\no'],
    ["past the end", "hello", 99, 3, undefined, '{"item_id":"a","offset_chars":5,"end_chars":5,"total_chars":5}\n'],
    ["an empty text", "", 0, undefined, undefined, '{"item_id":"a","offset_chars":0,"end_chars":0,"total_chars":0}\n'],
    [
      "code points",
      "😀😀😀",
      1,
      1,
      undefined,
      '{"item_id":"a","offset_chars":1,"end_chars":2,"total_chars":3,"next_offset_chars":2}\n😀',
    ],
    [
      "one character whatever the bound",
      "hello",
      0,
      undefined,
      1,
      '{"item_id":"a","offset_chars":0,"end_chars":1,"total_chars":5,"next_offset_chars":1}\nh',
    ],
    [
      "a lone surrogate as it is",
      "\ude00x",
      0,
      undefined,
      undefined,
      '{"item_id":"a","offset_chars":0,"end_chars":2,"total_chars":2}\n\ude00x',
    ],
  ])("%s", (_name, text, offset, limit, bound, expected) => {
    expect(read(text, offset, limit, bound).text).toBe(expected);
  });

  test("what does not belong before the range follows it, and what is not there is left out", () => {
    const answer = readOutput({
      header: { path: "p", start_line: undefined },
      footer: { images: 2, branch: undefined },
      points: new CodePointText("x"),
      offset: 0,
      limit: undefined,
      bound: 1_000,
    });
    expect(answer.text).toBe('{"path":"p","offset_chars":0,"end_chars":1,"total_chars":1,"images":2}\nx');
    expect(answer.details).toEqual({ path: "p", offset_chars: 0, end_chars: 1, total_chars: 1, images: 2 });
  });

  test("a limit above the bound is clamped to it, and the header shows what was used", () => {
    const text = "x".repeat(50_000);
    const unlimited = read(text, 0, undefined);
    expect(read(text, 0, 40_000)).toEqual(unlimited);
    expect(unlimited.text.length).toBeLessThanOrEqual(12_000);
    expect(unlimited.text.length).toBeGreaterThan(11_990);
    expect(unlimited.text.length - unlimited.text.indexOf("\n") - 1).toBe(unlimited.details.end_chars);
  });

  test("pages of any sizes within any bound concatenate to the original", () => {
    const limits = fc.infiniteStream(fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 3_000 })));
    fc.assert(
      fc.property(fc.oneof(anyText, longText), limits, fc.integer({ min: 150, max: 2_000 }), (text, stream, bound) => {
        let rebuilt = "";
        let offset: unknown = 0;
        while (offset !== undefined) {
          const answer = read(text, Number(offset), stream.next().value, bound);
          expect(countCodePoints(answer.text)).toBeLessThanOrEqual(bound);
          rebuilt += answer.text.slice(answer.text.indexOf("\n") + 1);
          offset = answer.details.next_offset_chars;
        }
        expect(rebuilt).toBe(text);
      }),
    );
  });
});
