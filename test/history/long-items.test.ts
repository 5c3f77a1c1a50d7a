// Long items are measured and searched in pieces, so that nothing holds the event loop for long; what comes of it is the same
// as in one go. Pauses are counted, no time is taken.
import { describe, expect, test } from "vitest";
import { HistoryReader, searchedFor } from "../../src/history/reader.ts";
import { holdsMatch, type IsHidden, MatchScan, needleOf, PIECE_UNITS, regionsOf } from "../../src/history/search.ts";
import { type ItemText, itemText } from "../../src/log/item.ts";
import { atOnce } from "../../src/storage/slices.ts";
import { CodePointText } from "../../src/storage/text.ts";
import { TestLog, text } from "../log/branches.ts";
import { sourceOf } from "./sources.ts";

const hidesNothing: IsHidden = () => false;

function itemOf(...texts: readonly string[]): ItemText {
  const log = new TestLog();
  return itemText(log.entry(log.user(texts.map(text))) as never);
}

/** How often something pauses, and what comes of it. */
function paused<T>(work: Generator<void, T>): { readonly pauses: number; readonly value: T } {
  let pauses = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) pauses++;
  return { pauses, value: step.value };
}

const LENGTHS = [PIECE_UNITS, 4 * PIECE_UNITS];

describe("a long text", () => {
  test("is measured with pauses, more of them the longer it is, and a short one without", () => {
    const pauses = LENGTHS.map((length) => paused(new CodePointText("😀x".repeat(length / 3)).measuring()).pauses);
    expect(pauses[0]).toBeGreaterThan(1);
    expect(pauses[1]).toBeGreaterThan(3 * (pauses[0] as number));
    expect(paused(new CodePointText("😀x".repeat(1_000)).measuring()).pauses).toBe(0);
  });

  test("has the coordinates that it has when it is measured in one go", () => {
    const [measured, other] = [0, 1].map(() => new CodePointText(`${"x".repeat(262_143)}😀${"漢😀".repeat(100_000)}`));
    atOnce((measured as CodePointText).measuring());
    for (const at of [0, 262_143, 262_144, 262_145, 300_001, 462_143, 462_144])
      expect([measured?.toUnit(at), measured?.length]).toEqual([other?.toUnit(at), other?.length]);
    expect(measured?.length).toBe(262_144 + 200_000);
    expect(measured?.toUnit(262_144)).toBe(262_145);
    expect(measured?.toCodePoint(262_145)).toBe(262_144);
  });

  test("is searched in pieces: a match across the end of one is found, and nothing is found twice", () => {
    const needle = needleOf("needle");
    for (let shift = -7; shift <= 1; shift++) {
      const before = "n".repeat(PIECE_UNITS + shift);
      const item = itemOf(`${before}needle${"e".repeat(PIECE_UNITS)}needle`);
      const scan = new MatchScan(item, needle, hidesNothing);
      const starts = [scan.next()?.start, scan.next()?.start, scan.next()?.start];
      expect(starts).toEqual([before.length, before.length + 6 + PIECE_UNITS, undefined]);
    }
  });

  test("holds a match or none, said with a pause for each piece", () => {
    const item = itemOf("x".repeat(5 * PIECE_UNITS), "the needle");
    const looked = (query: string) => {
      const answer = holdsMatch(item, needleOf(query), hidesNothing);
      if (typeof answer === "boolean") throw new Error("a long text is gone through with pauses");
      return paused(answer);
    };
    expect(looked("needle")).toEqual({ pauses: 5, value: true });
    expect(looked("nothing")).toEqual({ pauses: 5, value: false });
    expect(looked("xx")).toEqual({ pauses: 0, value: true });
  });

  test("of emoji alone is searched for half of one with pauses, and in vain", () => {
    const answer = holdsMatch(itemOf("😀".repeat(PIECE_UNITS)), needleOf("\ude00"), hidesNothing);
    if (typeof answer === "boolean") throw new Error("a long text is gone through with pauses");
    expect(paused(answer)).toMatchObject({ value: false });
  });

  test("whose matches were found before shows the same regions", () => {
    const item = itemOf(`😀${"a needle ".repeat(400)}${"x".repeat(2 * PIECE_UNITS)}needle`);
    const needle = needleOf("needle");
    const prepared = new MatchScan(item, needle, hidesNothing);
    expect(paused(prepared.finding(1_000)).pauses).toBeGreaterThan(1);
    const scan = new MatchScan(item, needle, hidesNothing);
    expect(regionsOf(item.points, prepared, needle, 400)).toEqual(regionsOf(item.points, scan, needle, 400));
  });
});

describe("a long way", () => {
  const FAR = 4_000;

  /** A log of two branches of so many items, and how often an entry of it is asked for. */
  function forked(items: number) {
    const log = new TestLog();
    const root = log.user("root");
    for (let at = 1; at < items; at++) log.user(`left ${at}`);
    const left = log.user("left behind");
    log.goTo(root);
    log.user("here");
    let asked = 0;
    const counted = {
      leafId: () => log.leafId(),
      entry: (id: string) => {
        asked++;
        return log.entry(id);
      },
    };
    return { source: sourceOf(counted), left, asked: () => asked };
  }

  test("to an item of an abandoned branch is gone with pauses, and not again for its next page", () => {
    const { source, left, asked } = forked(FAR);
    const reader = new HistoryReader();
    const { pauses, value } = paused(reader.reading(source, left, "w1"));
    expect(value).toMatchObject({ branch: "other" });
    expect(pauses).toBeGreaterThanOrEqual((2 * FAR) / 500 - 1);
    const before = asked();
    expect(paused(reader.reading(source, left, "w1"))).toMatchObject({ pauses: 0, value: { branch: "other" } });
    expect(asked() - before).toBeLessThan(10);
  });

  test("past short items renders each of them once, however often one searches", () => {
    for (const items of [640, 6_400]) {
      const log = new TestLog();
      for (let at = 0; at < items; at++) log.assistant({ type: "toolCall", id: `c${at}`, name: "bash", arguments: {} });
      const live = sourceOf(log);
      let rendered = 0;
      const source = Object.create(live, {
        text: {
          value: (entry: never) => {
            rendered++;
            return live.text(entry);
          },
        },
      }) as typeof live;
      const query = { filter: {}, limit: 10, recentFirst: false, runningCallId: undefined };
      for (const word of ["nowhere", "e_absent", "漢"])
        expect(new HistoryReader().searchItems(source, searchedFor(word), query).total).toBe(0);
      expect(rendered).toBe(0);
    }
  });
});
