// Lines in a stream of bytes, without holding the stream up: where each ends, and what it was if it is wanted. Pure.

/** A longer line passes like any other, but nobody gets to read it. */
export const READABLE_LINE_MAX_BYTES = 4 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** The text of a line that has ended, without its line feed; undefined when it was too long. */
export type LineText = () => string | undefined;

/** Follows one stream from chunk to chunk. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number = READABLE_LINE_MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the stream stands inside a line that has begun and not ended. */
  get isInLine(): boolean {
    return this.#bytes > 0;
  }

  /** Whether that line has grown too long to be read. */
  get isTooLong(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  /** Calls back for each line that ends in the chunk; `end` is the place behind its line feed. */
  read(chunk: Buffer, onLine: (text: LineText, end: number) => void): void {
    let start = 0;
    for (;;) {
      const feed = chunk.indexOf(LINE_FEED, start);
      if (feed < 0) break;
      this.#keep(chunk.subarray(start, feed));
      start = feed + 1;
      const parts = this.isTooLong ? undefined : this.#parts;
      this.#parts = [];
      this.#bytes = 0;
      onLine(() => parts && Buffer.concat(parts).toString("utf8"), start);
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.isTooLong) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }
}

/** The chunk in pieces to write one after the other: its own bytes, and behind each line what `after` wants there. */
export function insertAfterLines(
  reader: LineReader,
  chunk: Buffer,
  after: (text: LineText) => readonly string[],
): readonly (Buffer | string)[] {
  const pieces: (Buffer | string)[] = [];
  let written = 0;
  reader.read(chunk, (text, end) => {
    const lines = after(text);
    if (lines.length === 0) return;
    pieces.push(chunk.subarray(written, end), ...lines);
    written = end;
  });
  if (written < chunk.length) pieces.push(chunk.subarray(written));
  return pieces;
}
