// Short texts are searched many at a time. What that says of a row must be what a look at its text says.
import fc from "fast-check";
import { expect, test } from "vitest";
import { holdsMatch, needleOf } from "../../src/history/search.ts";
import { STRETCH_ROWS } from "../../src/history/short-texts.ts";
import { itemText } from "../../src/log/item.ts";
import { call, TestLog, text } from "../log/branches.ts";
import { anyText } from "../log/texts.ts";
import { sourceOf } from "./sources.ts";

const anyItem = fc.oneof(
  anyText.map((value) => [text(value)]),
  anyText.map((value) => [call("c", "bash", { value })]),
  anyText.map((value) => [text(value), text(value)]),
  anyText.map((value) => [text(`${value}${"long ".repeat(300)}${value}`)]),
  anyText.map((value) => [text(value), call("c", "notes_write_file", { value: "long ".repeat(300) })]),
);

test("a row is said to hold a word, or none, only when its text does", () => {
  fc.assert(
    fc.property(
      fc.array(anyItem, { minLength: 3, maxLength: 40 }),
      fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
      (items, [at = 0, from = 0, length = 0]) => {
        const log = new TestLog();
        // Two stretches and the beginning of a third.
        for (let row = 0; row < 2 * STRETCH_ROWS + 5; row++) log.assistant(...(items[row % items.length] ?? []));
        const source = sourceOf(log);
        const rows = source.rows.map(({ entry }) => itemText(entry));
        const joined = rows.map(({ points }) => points.text).join("");
        const place = from % (joined.length + 1);
        const words = [
          joined.slice(place, place + 1 + (length % 6)),
          rows[at % rows.length]?.points.text.slice(0, 4) ?? "",
        ];
        for (const word of words.filter((one) => one !== "")) {
          const needle = needleOf(word);
          const sieve = source.sieve?.(needle);
          rows.forEach((item, row) => {
            const said = sieve?.(row);
            if (said !== undefined) expect(said).toBe(holdsMatch(item, needle, () => false));
          });
        }
      },
    ),
  );
});

test("a word that is in no text is said to be in none of a whole stretch", () => {
  const log = new TestLog();
  for (let row = 0; row < 3 * STRETCH_ROWS; row++) log.assistant(call(`c${row}`, "bash", { row }));
  const source = sourceOf(log);
  const sieve = source.sieve?.(needleOf("nowhere"));
  expect(source.rows.map((_row) => false)).toEqual(Array.from(source.rows, (_row, at) => sieve?.(at)));
  const once = source.sieve?.(needleOf('{"row":100}'));
  const looked = Array.from(source.rows, (_row, at) => once?.(at)).flatMap((said, at) => (said === false ? [] : [at]));
  expect(looked).toEqual([100]);
});
