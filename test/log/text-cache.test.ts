// Texts are kept, within a bound.
import { expect, it } from "vitest";
import { TextCache } from "../../src/log/text-cache.ts";
import { TestLog, text } from "./branches.ts";

it("keeps texts, and of copies only as many as fit", () => {
  const log = new TestLog();
  const single = log.user("x".repeat(500));
  const many = Array.from({ length: 10 }, () => log.assistant(text("a".repeat(50)), text("b".repeat(49))));
  const cache = new TextCache(500);
  const entry = (id: string) => {
    const found = log.entry(id);
    if (!found) throw new Error(id);
    return found;
  };
  const own = cache.get(entry(single));
  const texts = many.map((id) => cache.get(entry(id)));
  expect(cache.get(entry(single))).toBe(own);
  expect(cache.get(entry(many[9] as string))).toBe(texts[9]);
  expect(cache.get(entry(many[0] as string))).not.toBe(texts[0]);
  expect(cache.get(entry(many[0] as string))).toEqual(texts[0]);
});
