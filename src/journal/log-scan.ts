// Reads the segments of an append-only log one after the other, each checked before it is handed out. It never writes,
// never holds more than one segment, and hands out nothing behind a place where something is missing: that is a torn tail,
// or damage where valid commits follow.
import { type CommitSpan, commitOf, isCommitLine, NEWLINE, type Span } from "./log-format.ts";

const READ_BYTES = 1_048_576;

export interface LogLine extends Span {
  /** The line without its newline. */
  readonly bytes: Buffer;
}

/** Data lines and what was committed with them. */
export interface LogSegment {
  readonly lines: readonly LogLine[];
  readonly record: unknown;
  readonly commit: CommitSpan;
  /** Offset of what follows. */
  readonly end: number;
}

/** Behind a commit. */
export interface LogPlace {
  readonly offset: number;
  /** The checksum of that commit; 0 at the log's start. */
  readonly sum: number;
}

export interface ScanRange {
  readonly from: LogPlace;
  /** The end of the file. */
  readonly to: number;
  read(span: Span): Buffer;
}

export class SegmentScan {
  readonly #range: ScanRange;
  /** The end of the last valid segment. */
  #end: number;
  /** The checksum of its commit. */
  #sum: number;
  /** The bytes read from `#base` on. */
  #buffer: Buffer = Buffer.alloc(0);
  #base: number;
  /** Where the next line starts. */
  #at: number;
  #lines: LogLine[] = [];
  #isDamaged = false;

  constructor(range: ScanRange) {
    const { offset, sum } = range.from;
    this.#range = range;
    this.#end = offset;
    this.#sum = sum;
    this.#base = offset;
    this.#at = offset;
  }

  /** Whether the scan has ended before valid commits: what they were written after is not there, or not as it was. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  /** The next valid segment; undefined when none follows. */
  next(): LogSegment | undefined {
    for (let searchedTo = this.#at; !this.#isDamaged; ) {
      const newline = this.#buffer.indexOf(NEWLINE, searchedTo - this.#base);
      if (newline === -1) {
        searchedTo = this.#base + this.#buffer.length;
        if (!this.#readMore()) return undefined;
        continue;
      }
      const line: LogLine = {
        offset: this.#at,
        length: this.#base + newline - this.#at,
        bytes: this.#buffer.subarray(this.#at - this.#base, newline),
      };
      this.#at = this.#base + newline + 1;
      searchedTo = this.#at;
      if (!isCommitLine(line.bytes)) {
        this.#lines.push(line);
        continue;
      }
      const segment = this.#segment(line);
      this.#lines = [];
      if (segment) return segment;
    }
    return undefined;
  }

  #segment(line: LogLine): LogSegment | undefined {
    const commit = commitOf(line.bytes);
    // Lines ahead of the committed bytes were left by a writer that failed; they were never committed.
    const start = line.offset - (commit?.bytes ?? 0);
    const firstLine = this.#lines[0]?.offset ?? line.offset;
    if (!commit || start < firstLine) return undefined;
    const from = start - this.#base;
    if (!commit.isValidFor(this.#buffer.subarray(from, from + commit.bytes))) return undefined;
    const { record, sum, after } = commit;
    this.#isDamaged = after === undefined ? start !== this.#end : after !== this.#sum;
    if (this.#isDamaged) return undefined;
    this.#end = this.#at;
    this.#sum = sum;
    const { offset, length } = line;
    const lines = this.#lines.filter((data) => data.offset >= start);
    return { lines, record, commit: { offset, length, sum }, end: this.#end };
  }

  /** Reads on; what was handed out already is dropped. */
  #readMore(): boolean {
    const kept = this.#buffer.subarray((this.#lines[0]?.offset ?? this.#at) - this.#base);
    const next = this.#base + this.#buffer.length;
    // Twice what is kept, so that a long segment is not copied again for every piece of it.
    const length = Math.min(Math.max(READ_BYTES, kept.length * 2), this.#range.to - next);
    if (length <= 0) return false;
    const read = this.#range.read({ offset: next, length });
    if (read.length === 0) return false;
    this.#buffer = kept.length === 0 ? read : Buffer.concat([kept, read]);
    this.#base = next - kept.length;
    // The lines kept point into the old bytes.
    this.#lines = this.#lines.map(({ offset, length }) => {
      const at = offset - this.#base;
      return { offset, length, bytes: this.#buffer.subarray(at, at + length) };
    });
    return true;
  }
}
