// Reads the segments of an append-only log one after the other, each checked before it is handed out. It never writes,
// never holds more than one segment, and tells a torn tail (ignored) from damage before a valid commit (an error).
import { TokenBudgetError } from "../errors.ts";
import type { LogFile } from "./append-log-header.ts";
import { commitOf, isCommitLine, NEWLINE, type Span } from "./append-log-lines.ts";

const READ_BYTES = 1_048_576;

export interface LogLine extends Span {
  /** The line without its newline. */
  readonly bytes: Buffer;
}

/** Data lines and what was committed with them. */
export interface LogSegment {
  readonly lines: readonly LogLine[];
  readonly record: unknown;
  readonly commit: Span;
  /** Offset of what follows. */
  readonly end: number;
}

export interface ScanRange {
  /** A segment's start. */
  readonly from: number;
  /** The end of the file. */
  readonly to: number;
  read(span: Span): Buffer;
}

export class SegmentScan {
  readonly #source: LogFile;
  readonly #range: ScanRange;
  /** The end of the last valid segment; what follows it is a torn tail once the scan has ended. */
  #end: number;
  /** The bytes read from `#base` on. */
  #buffer: Buffer = Buffer.alloc(0);
  #base: number;
  /** Where the next line starts. */
  #at: number;
  #lines: LogLine[] = [];
  /** Where a commit line was not valid: a torn tail, unless a valid one follows. */
  #invalidAt: number | undefined;

  constructor(source: LogFile, range: ScanRange) {
    this.#source = source;
    this.#range = range;
    this.#end = range.from;
    this.#base = range.from;
    this.#at = range.from;
  }

  get end(): number {
    return this.#end;
  }

  /** The next valid segment; undefined when none follows. */
  next(): LogSegment | undefined {
    for (let searchedTo = this.#at; ; ) {
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
      this.#invalidAt ??= line.offset;
    }
  }

  #segment(line: LogLine): LogSegment | undefined {
    const commit = commitOf(line.bytes);
    // Lines ahead of the committed bytes were left by a writer that failed; they were never committed.
    const start = line.offset - (commit?.bytes ?? 0);
    const firstLine = this.#lines[0]?.offset ?? line.offset;
    if (!commit || start < firstLine) return undefined;
    const from = start - this.#base;
    if (!commit.isValidFor(this.#buffer.subarray(from, from + commit.bytes))) return undefined;
    if (this.#invalidAt !== undefined) throw this.#damaged(this.#invalidAt);
    this.#end = this.#at;
    const { offset, length } = line;
    const lines = this.#lines.filter((data) => data.offset >= start);
    return { lines, record: commit.record, commit: { offset, length }, end: this.#end };
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

  #damaged(offset: number): TokenBudgetError {
    const { shown, file } = this.#source;
    return new TokenBudgetError(
      "storage_failed",
      `${shown} is damaged: ${file} holds a commit at byte ${offset} whose checksum is wrong, and valid ones after it. ` +
        "It is left as it is: repair or remove it.",
    );
  }
}
