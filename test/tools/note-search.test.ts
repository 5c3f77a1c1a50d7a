// What a search of notes answers where a line is long or the query is no line.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countCodePoints } from "../../src/storage/text.ts";
import { notesTools } from "../../src/tools/notes.ts";
import { newStore } from "../notes/stores.ts";
import { callerOf } from "./calls.ts";

function tools() {
  const store = newStore({ agent: "/root" });
  return callerOf(
    notesTools({
      agent: () => "/root",
      notesToRead: () => store,
      notesToWrite: async () => ({ notes: store, readable: true }),
      limits: () => ({ maxToolOutputChars: 12_000 }),
      onFailed: () => undefined,
      onSaved: () => ({}),
    }),
  );
}

describe("a search of notes", () => {
  test("says of a long line where its shown part stands, and reads on from there", async () => {
    const part = fc.constantFrom("x", "é", "😀", "漢");
    const random = fc.record({
      before: fc.nat(60_000),
      after: fc.nat(60_000),
      piece: part,
      lines: fc.nat(3),
    });
    await fc.assert(
      fc.asyncProperty(random, async ({ before, after, piece, lines }) => {
        const run = tools();
        const line = `${piece.repeat(before)}needle${piece.repeat(after)}`;
        await run("notes_write_file", { path: "n.md", text: `${"other\n".repeat(lines)}${line}\nlast` });
        const [, row] = (await run("notes_search_contents", { query: "needle" })).lines();
        const shown = String(row?.text);
        if (countCodePoints(line) <= 400) {
          expect(row).toEqual({ path: "/root/notes/n.md", line: lines + 1, text: line });
          return;
        }
        const { offset_chars, limit_chars, line: number } = row as Record<string, number>;
        expect(row).toMatchObject({ line_chars: countCodePoints(line) });
        const place = { path: row?.path, start_line: number, stop_line: number };
        const same = await run("notes_read_file", { ...place, offset_chars, limit_chars });
        expect(same.body()).toBe(shown.replace(/^…|…$/gu, ""));
        expect(same.body()).toContain("needle");
        // And on from its end.
        const end = Number(offset_chars) + Number(limit_chars);
        const next = await run("notes_read_file", { ...place, offset_chars: end, limit_chars: 50 });
        const rest = `${Array.from(line).slice(end).join("")}\n`;
        expect(next.body()).toBe(Array.from(rest).slice(0, 50).join(""));
      }),
      { numRuns: 25 },
    );
  });

  test("refuses a query with a line break, and says why", async () => {
    const run = tools();
    await run("notes_write_file", { path: "n.md", text: "one\ntwo\r\n" });
    for (const query of ["one\ntwo", "two\r\n", "\n"])
      await expect(run("notes_search_contents", { query })).rejects.toThrow(
        expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("line by line") }),
      );
    expect((await run("notes_search_contents", { query: "two\r" })).lines()[0]).toMatchObject({ total: 1 });
  });
});
