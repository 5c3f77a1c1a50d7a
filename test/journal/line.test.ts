// Where an entry's text lies in its line of the journal.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogEntry } from "../../src/host/entries.ts";
import { cutJson } from "../../src/journal/line.ts";

test("an entry's JSON is cut open at its only text, and whole again with it", () => {
  const text = fc.string({ unit: "binary" });
  const block = fc.oneof(
    fc.record({ type: fc.constant("text"), text }),
    fc.record({ type: fc.constant("thinking"), thinking: text }),
    fc.record({ type: fc.constant("toolCall"), id: text, name: text, arguments: fc.jsonValue() }),
    fc.constant({ type: "text", text: "\u0001" }),
  );
  const content = fc.oneof(text, fc.array(block, { maxLength: 3 }));
  const entry = fc.oneof(
    fc.record({
      type: fc.constant("message"),
      id: text,
      message: fc.record({ role: text, content, details: fc.jsonValue() }),
    }),
    fc.record({ type: fc.constant("custom_message"), id: text, content, details: fc.jsonValue() }),
    fc.record({ type: fc.constant("compaction"), id: text, summary: text, details: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(entry, (made) => {
      const cut = cutJson(made as unknown as LogEntry);
      if (!cut) return;
      const inner = JSON.stringify(cut.text).slice(1, -1);
      expect(cut.before + inner + cut.after).toBe(JSON.stringify(made));
    }),
  );
});
