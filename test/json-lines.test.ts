// Bytes in pieces of any size: nothing is lost or changed, lines are found, and additions stand only between lines.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { insertAfterLines } from "../src/acp/proxy.ts";
import { LineReader } from "../src/json-lines.ts";

/** Bytes with many line feeds, carriage returns and halves of characters. */
const bytes = fc
  .array(fc.oneof(fc.constantFrom(0x0a, 0x0d, 0x7b, 0xe4, 0xba, 0x8c), fc.integer({ min: 0, max: 255 })), {
    maxLength: 80,
  })
  .map((values) => Buffer.from(values));

/** The same bytes, cut anywhere. */
const cutBytes = bytes.chain((whole) =>
  fc.array(fc.nat(whole.length), { maxLength: 8 }).map((at) => {
    const places = [0, ...at.sort((a, b) => a - b), whole.length];
    return { whole, chunks: places.slice(1).map((end, n) => whole.subarray(places[n], end)) };
  }),
);

const joined = (pieces: readonly (Buffer | string)[]) => Buffer.concat(pieces.map((piece) => Buffer.from(piece)));

describe("lines in a stream of bytes", () => {
  it("are the lines of the whole, however it is cut", () => {
    fc.assert(
      fc.property(cutBytes, ({ whole, chunks }) => {
        const reader = new LineReader();
        const lines: (string | undefined)[] = [];
        for (const chunk of chunks) reader.read(chunk, (text) => lines.push(text()));
        const parts = whole.toString("latin1").split("\n");
        const expected = parts.slice(0, -1).map((part) => Buffer.from(part, "latin1").toString("utf8"));
        expect(lines).toEqual(expected);
        expect(reader.isInLine).toBe(parts.at(-1) !== "");
      }),
    );
  });

  it("pass unchanged, in order and at once, with what is added only behind a line feed", () => {
    fc.assert(
      fc.property(cutBytes, fc.func(fc.boolean()), ({ whole, chunks }, wants) => {
        const reader = new LineReader();
        const added = "\u0001plan\u0001\n";
        let n = 0;
        const expected: Buffer[] = [];
        const passed: Buffer[] = [];
        for (const chunk of chunks) {
          const pieces = insertAfterLines(reader, chunk, () => (wants(n++) ? [added] : []));
          // Nothing of a chunk is held back.
          expect(joined(pieces.filter((piece) => typeof piece !== "string"))).toEqual(chunk);
          passed.push(joined(pieces));
        }
        const lines = whole.toString("latin1").split(/(?<=\n)/);
        for (const [at, line] of lines.entries()) {
          expected.push(Buffer.from(line, "latin1"));
          if (line.endsWith("\n") && wants(at)) expected.push(Buffer.from(added));
        }
        expect(joined(passed)).toEqual(Buffer.concat(expected));
      }),
    );
  });

  it("that are too long pass, cannot be read, and are not kept", () => {
    const reader = new LineReader(4);
    const lines: (string | undefined)[] = [];
    const read = (text: string) => reader.read(Buffer.from(text), (line) => lines.push(line()));
    read("abcd\nab");
    read("cde");
    expect(reader.isTooLong).toBe(true);
    read("f\nab\n");
    expect(reader.isTooLong).toBe(false);
    expect(lines).toEqual(["abcd", undefined, "ab"]);
  });
});
