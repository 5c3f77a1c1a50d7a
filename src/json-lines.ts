// JSON Lines from a stream of bytes: finds the lines without holding the stream up, and parses those that are wanted. Pure.
import { isRecord } from "./shapes.ts";

/** Longer lines pass like any other, but cannot be read. */
const READABLE_LINE_MAX_BYTES = 4 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** The text of a line, without its line feed; undefined when it was too long. */
export type LineText = () => string | undefined;

/** Follows one stream from chunk to chunk. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number = READABLE_LINE_MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the stream is inside a line. */
  get isInLine(): boolean {
    return this.#bytes > 0;
  }

  /** Whether that line is already too long to be read. */
  get isTooLong(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  /** Calls `onLine` for each line that ends in the chunk; `end` is the offset after its line feed. */
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

/** Undefined when the text is no JSON object. */
export function parseObject(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
