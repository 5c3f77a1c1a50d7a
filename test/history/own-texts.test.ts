// Searching the live branch looks through the entries' own strings and renders only what it must, with the same answers.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holdsMatch, needleOf } from "../../src/history/search.ts";
import { itemText, ownText } from "../../src/log/item.ts";
import { image, TestLog, text } from "../log/branches.ts";
import { anyText } from "../log/texts.ts";
import { sourceOf } from "./sources.ts";

const anyBlock = fc.oneof(
  anyText.map(text),
  anyText.map((args) => ({ type: "toolCall", id: "c", name: "bash", arguments: { args } })),
  fc.constantFrom(image(), { type: "thinking", thinking: "parser" }, null, "odd", { type: "text" }),
);

const anyFields = fc.oneof(
  fc.record({
    type: fc.constant("message"),
    message: fc.record({
      role: fc.constantFrom("user", "assistant", "toolResult", "bashExecution", "branchSummary", "custom", "system"),
      content: fc.oneof(fc.array(anyBlock, { maxLength: 3 }), anyText, fc.constantFrom(null, 5)),
      command: anyText,
      output: anyText,
      summary: anyText,
      sections: fc.constantFrom(undefined, { rules: "parser" }),
    }),
  }),
  fc.record({ type: fc.constant("custom_message"), content: fc.oneof(anyText, fc.array(anyBlock, { maxLength: 2 })) }),
  fc.record({ type: fc.constantFrom("compaction", "branch_summary"), summary: anyText }),
);

describe("a word in an item's own string", () => {
  test("is found where the rendered text has it, and nowhere else", () => {
    fc.assert(
      fc.property(anyFields, fc.array(fc.nat(), { minLength: 2, maxLength: 2 }), anyText, (fields, [a, b], other) => {
        const log = new TestLog();
        const entry = log.entry(log.add(fields));
        if (!entry) throw new Error("it was added");
        const whole = itemText(entry).points.text;
        const own = ownText(entry);
        if (own !== undefined) expect(own).toBe(whole);
        const from = (a as number) % (whole.length + 1);
        for (const word of [whole.slice(from, from + 1 + ((b as number) % 5)), other.slice(0, 4), "parser"]) {
          const needle = needleOf(word);
          if (word === "" || needle.maySplitPair) continue;
          if (own !== undefined) expect(own.includes(word)).toBe(holdsMatch(itemText(entry), needle, () => false));
        }
      }),
    );
  });

  test("is looked for without rendering: a search for nothing keeps no text of text blocks", () => {
    const log = new TestLog();
    for (let i = 0; i < 100; i++) log.user([image(), text(`line ${i}`)]);
    const source = sourceOf(log);
    const sieve = source.sieve?.(needleOf("nowhere"));
    expect(Array.from(source.rows, (_, at) => sieve?.(at))).toEqual(source.rows.map(() => false));
  });
});
