// Texts are kept, within a bound.
import { expect, it } from "vitest";
import { TextCache, type TextHolder } from "../../src/log/text-cache.ts";
import { TestLog, text } from "./branches.ts";

function holderOf(log: TestLog, id: string): TextHolder {
  const entry = log.entry(id);
  if (!entry) throw new Error(id);
  return { entry, keptText: undefined };
}

it("keeps the newest texts, copies and others, as many as fit", () => {
  const log = new TestLog();
  const single = log.user("x".repeat(5_000));
  const many = Array.from({ length: 10 }, () => log.assistant(text("a".repeat(500)), text("b".repeat(499))));
  // Two copies of a thousand characters fit, and many texts that are the entry's own.
  const cache = new TextCache(3_000);
  const rows = new Map([single, ...many].map((id) => [id, holderOf(log, id)]));
  const entry = (id: string) => rows.get(id) as TextHolder;
  const own = cache.get(entry(single));
  expect(cache.get(entry(single))).toBe(own);
  expect(own.points.length).toBe(5_000);
  const texts = many.map((id) => cache.get(entry(id)));
  expect(cache.get(entry(many[9] as string))).toBe(texts[9]);
  expect(cache.get(entry(many[8] as string))).toBe(texts[8]);
  expect(cache.get(entry(many[0] as string))).not.toBe(texts[0]);
  expect(cache.get(entry(many[0] as string))).toEqual(texts[0]);
  expect(cache.get(entry(single))).not.toBe(own);
});

it("keeps a text that is larger than the bound until the next one", () => {
  const log = new TestLog();
  const [large, next] = [log.assistant(text("a".repeat(5_000)), text("b")), log.user("c")].map((id) =>
    holderOf(log, id),
  );
  if (!large || !next) throw new Error("both were added");
  const cache = new TextCache(1_000);
  const kept = cache.get(large);
  expect(cache.get(large)).toBe(kept);
  cache.get(next);
  expect(cache.get(large)).not.toBe(kept);
});
