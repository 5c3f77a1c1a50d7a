// The lines of an append-only log: data lines, and the commit line that ends a segment of them with its length, its
// checksum, and that of the commit before it: a segment is only valid right after the one it was written after. Pure.
import { crc32 } from "./log-crc.ts";

export const NEWLINE = 10;

/** Where something lies, in bytes. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** Where a commit line lies, and its checksum. */
export interface CommitSpan extends Span {
  readonly sum: number;
}

const COMMIT_START = '{"commit":';
const COMMIT_START_BYTES = Buffer.from(COMMIT_START, "utf8");
const COMMIT_END = /^(.*),"bytes":(\d{1,15}),"crc":(\d{1,10})\}$/s;

/** A batch that was once larger gives the room back. */
const KEPT_BYTES_MAX = 4_194_304;
const FIRST_BYTES = 65_536;

/** Lines that are to be appended together, encoded as they come: any number of data lines, then their commit. */
export class LogBatch {
  #bytes: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;
  #spans: Span[] = [];

  /** Empties it for the next lines; the bytes it gave out are theirs then. */
  clear(): void {
    if (this.#bytes.length > KEPT_BYTES_MAX) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
    this.#length = 0;
    this.#spans = [];
  }

  /** In bytes. */
  get length(): number {
    return this.#length;
  }

  /** Where each line lies in the batch, its newline left out. */
  get spans(): readonly Span[] {
    return this.#spans;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A JSON object on one line, in one or more pieces, without a newline; its first field must not be `commit`. */
  add(...pieces: readonly string[]): Span {
    const offset = this.#length;
    for (const piece of pieces) {
      // A code unit takes at most three bytes, and the newline one more.
      this.#reserve(piece.length * 3 + 1);
      this.#length += this.#bytes.write(piece, this.#length, "utf8");
    }
    const span = { offset, length: this.#length - offset };
    this.#bytes[this.#length++] = NEWLINE;
    this.#spans.push(span);
    return span;
  }

  /** `after` is the checksum of the log's last commit, 0 without one. */
  commit(record: object, after: number): CommitSpan {
    const data = this.bytes;
    const summed = `${COMMIT_START}${JSON.stringify({ ...record, after })},"bytes":${data.length}`;
    const sum = checksum(data, summed);
    return { ...this.add(`${summed},"crc":${sum}}`), sum };
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** How a commit line ends that has this checksum. */
export function commitEnd(sum: number): Buffer {
  return Buffer.from(`,"crc":${sum}}\n`, "utf8");
}

function checksum(data: Buffer, summed: string): number {
  return crc32(Buffer.from(summed, "utf8"), crc32(data));
}

export function isCommitLine(line: Buffer): boolean {
  return (
    line.length > COMMIT_START.length &&
    line.compare(COMMIT_START_BYTES, 0, COMMIT_START.length, 0, COMMIT_START.length) === 0
  );
}

/** A commit line that is well formed; whether it is valid its checksum says. */
export interface CommitLine {
  readonly record: unknown;
  /** Length of the data it commits, right before it. */
  readonly bytes: number;
  readonly sum: number;
  /** The checksum of the commit it was written after; undefined where that was not noted yet. */
  readonly after: number | undefined;
  isValidFor(data: Buffer): boolean;
}

export function commitOf(line: Buffer): CommitLine | undefined {
  if (!isCommitLine(line)) return undefined;
  const parts = COMMIT_END.exec(line.toString("utf8"));
  if (!parts) return undefined;
  const [, head = "", bytes, crc] = parts;
  let record: unknown;
  try {
    record = JSON.parse(head.slice(COMMIT_START.length));
  } catch {
    return undefined;
  }
  const sum = Number(crc);
  const { after } = (record ?? {}) as { after?: unknown };
  const isValidFor = (data: Buffer) => checksum(data, `${head},"bytes":${bytes}`) === sum;
  return { record, bytes: Number(bytes), sum, after: typeof after === "number" ? after : undefined, isValidFor };
}
