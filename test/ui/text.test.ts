// Text that is shown to a person moves no cursor, hides nothing, and ends somewhere.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bounded, safeText } from "../../src/ui/text.ts";

const anyText = fc.string({ unit: "binary", maxLength: 200 });

describe("safe text", () => {
  it("has no control characters but tab and line end, and none that turn text around", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const safe = safeText(text);
        expect(safe).not.toMatch(/(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
        expect(safe.isWellFormed()).toBe(true);
        expect(safeText(safe)).toBe(safe);
      }),
    );
  });

  it("shows what it takes out, and leaves ordinary text alone", () => {
    expect(safeText("\u001b[2Ja\r\nb\u202e")).toBe("\\u001b[2Ja\nb\\u202e");
    expect(safeText("né 一 👩‍💻\t.")).toBe("né 一 👩‍💻\t.");
  });
});

describe("bounded text", () => {
  it("is the beginning, within both bounds, and counts the rest", () => {
    fc.assert(
      fc.property(anyText, fc.nat(20), fc.integer({ min: 1, max: 8 }), (text, codePoints, lines) => {
        const { text: kept, omitted } = bounded(text, { lines, codePoints });
        expect(text.startsWith(kept)).toBe(true);
        expect([...kept].length).toBeLessThanOrEqual(codePoints);
        expect(kept.split("\n").length).toBeLessThanOrEqual(lines);
        expect((omitted?.codePoints ?? 0) + [...kept].length).toBe([...text].length);
      }),
    );
  });
});
