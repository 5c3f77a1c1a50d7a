// Random texts that break what counts in code units: emoji, joined emoji, CJK, control characters, lone surrogates.
import fc from "fast-check";

const AWKWARD = [
  "😀",
  "👩‍👩‍👧",
  "漢字",
  "é",
  "\ud83d",
  "\ude00",
  "\n",
  "\r\n",
  "\u0000",
  '"',
  "\\",
  "\u2028",
  " ",
  "a",
  "ab",
];

const piece = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.constantFrom(...AWKWARD),
);

/** Any string at all. */
export const anyText = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));

/** Strings long enough for several pages and for the checkpoints of long texts. */
export const longText = fc
  .tuple(anyText, fc.integer({ min: 1, max: 400 }), anyText)
  .map(([unit, times, end]) => unit.repeat(times) + end);
