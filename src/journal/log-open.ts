// An append-only log that is open: its valid segments are read, a batch is appended, and what no valid commit follows is cut
// off. Under the log's lock alone is it written to.
import { messageOf, TokenBudgetError } from "../errors.ts";
import type { DiskCalls } from "../storage/disk.ts";
import { insist } from "../storage/stale-locks.ts";
import { commitEnd, headerLine, type LogBatch, type LogFile, type LogHeader, type Span } from "./log-format.ts";
import { type HeldLogLock, heldUp } from "./log-lock.ts";
import { type LogPlace, SegmentScan } from "./log-scan.ts";

interface Opened {
  readonly disk: DiskCalls;
  readonly descriptor: number;
  readonly size: number;
  /** What the log is to be called if it has no header yet. */
  readonly header: LogHeader | string;
}

/** An open log; its opener closes it. */
export class OpenLog {
  /** Distinguishes it from an earlier log in the same place. */
  readonly id: string;
  /** Offset of the first data line. */
  readonly start: number;
  readonly #source: LogFile;
  readonly #disk: DiskCalls;
  readonly #descriptor: number;
  /** Undefined once the header is in the file. */
  #newHeader: Buffer | undefined;
  #size: number;

  constructor(source: LogFile, { disk, descriptor, size, header }: Opened) {
    this.#source = source;
    this.#disk = disk;
    this.#descriptor = descriptor;
    this.#size = size;
    this.id = typeof header === "string" ? header : header.id;
    this.#newHeader = typeof header === "string" ? Buffer.from(headerLine(source, header), "utf8") : undefined;
    this.start = typeof header === "string" ? Buffer.byteLength(headerLine(source, header)) : header.length;
  }

  /** Undefined for a log that nothing was written to yet. */
  get header(): LogHeader | undefined {
    return this.#newHeader === undefined ? { id: this.id, length: this.start } : undefined;
  }

  get descriptor(): number {
    return this.#descriptor;
  }

  /** Bytes in the file, torn tail included. */
  get size(): number {
    return this.#newHeader === undefined ? this.#size : this.start;
  }

  read({ offset, length }: Span, into: Buffer = Buffer.allocUnsafe(length)): Buffer {
    let done = 0;
    while (done < length) {
      const read = this.#disk.readSync(this.#descriptor, into, done, length - done, offset + done);
      if (read === 0) break;
      done += read;
    }
    return into.subarray(0, done);
  }

  /** The valid segments behind a commit, or behind the header. */
  segments(from: LogPlace): SegmentScan {
    return new SegmentScan({ from, to: this.size, read: (span) => this.read(span) });
  }

  /** Whether that commit is still there: a log that was cut and written on is another one behind the cut. */
  isBehindCommit({ offset, sum }: LogPlace): boolean {
    if (offset === this.start) return true;
    const end = commitEnd(sum);
    return this.read({ offset: offset - end.length, length: end.length }).equals(end);
  }

  /** Cuts off what no valid commit follows. */
  truncate(size: number, held: HeldLogLock): void {
    held.assertOwned();
    this.#disk.ftruncateSync(this.#descriptor, size);
    this.#size = size;
  }

  /** Appends a batch that ends with its commit, in one write; answers its offset. */
  append(batch: LogBatch, held: HeldLogLock, options: { readonly flush: boolean }): number {
    const header = this.#newHeader;
    // A torn header is no content.
    if (header !== undefined && this.#size > 0) this.truncate(0, held);
    const before = this.#size;
    const bytes = header === undefined ? batch.bytes : Buffer.concat([header, batch.bytes]);
    held.assertOwned();
    let isWritten = false;
    try {
      this.#write(bytes);
      isWritten = true;
      if (options.flush) this.#disk.fdatasyncSync(this.#descriptor);
      // A writer that still owns the lock was alone.
      if (!isOwned(held) && this.#disk.fstatSync(this.#descriptor).size !== before + bytes.length)
        throw heldUp(this.#source);
    } catch (error) {
      const isUndone = this.#undo(before, held);
      const isKnown = isUndone || !isWritten || error instanceof TokenBudgetError;
      throw isKnown ? error : unsure(this.#source, error);
    }
    const offset = before + bytes.length - batch.length;
    this.#newHeader = undefined;
    this.#size = offset + batch.length;
    return offset;
  }

  /** Brings to the disk what others may have appended without knowing that it got there. */
  flush(): void {
    this.#disk.fdatasyncSync(this.#descriptor);
  }

  close(): void {
    closeQuietly(this.#disk, this.#descriptor);
  }

  #write(bytes: Buffer): void {
    // A disk that fills up may take a part without an error.
    for (let done = 0; done < bytes.length; ) {
      const written = this.#disk.writeSync(this.#descriptor, bytes, done, bytes.length - done);
      if (written === 0) throw new Error(`only ${done} of ${bytes.length} bytes could be written (is the disk full?)`);
      done += written;
    }
  }

  /** False when it could not be undone: a torn tail is cut off by the next writer, and a whole one stands. */
  #undo(size: number, held: HeldLogLock): boolean {
    try {
      insist(() => this.truncate(size, held));
      return true;
    } catch {
      // The failure that led here is the one to report.
      return false;
    }
  }
}

/** What everybody can read must not be told to be unchanged. */
function unsure({ shown }: Pick<LogFile, "shown">, error: unknown): TokenBudgetError {
  const message = `${shown} was written, but could not be made sure of: ${messageOf(error)}. The next write sees to it.`;
  return new TokenBudgetError("storage_failed", message, { cause: error });
}

function isOwned(held: HeldLogLock): boolean {
  try {
    held.assertOwned();
    return true;
  } catch {
    return false;
  }
}

/** What was read or flushed is known by then; a close that fails changes nothing about it. */
export function closeQuietly(disk: DiskCalls, descriptor: number): void {
  try {
    disk.closeSync(descriptor);
  } catch {
    // As above.
  }
}
