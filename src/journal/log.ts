// An append-only log of JSON Lines: data lines, and after them one commit line with their checksum. What no valid commit
// follows was never written, and neither was what follows something missing: readers pass over it, and the next writer
// cuts it off, under the log's lock. A log of a newer format must never be touched.
import { randomUUID } from "node:crypto";
import { TokenBudgetError } from "../errors.ts";
import {
  CREATING_APPEND_FLAGS,
  codeOf,
  type DiskCalls,
  FILE_MODE,
  NODE_DISK,
  READ_PLAIN_FLAGS,
  storageFailure,
} from "../storage/disk.ts";
import {
  commitEnd,
  HEADER_BYTES_MAX,
  headerLine,
  headerOf,
  type LogBatch,
  type LogFile,
  type LogHeader,
  type Span,
} from "./log-format.ts";
import { type HeldLogLock, heldUp } from "./log-lock.ts";
import { type LogPlace, SegmentScan } from "./log-scan.ts";

interface Opened {
  readonly disk: DiskCalls;
  readonly descriptor: number;
  readonly size: number;
  readonly header: LogHeader | undefined;
  /** What the log is called if it has no header yet. */
  readonly newId: string;
}

/** An open log; to be closed by whoever opened it. */
export class OpenLog {
  /** Told apart from a log that was in the same place before. */
  readonly id: string;
  /** Offset of the first data line. */
  readonly start: number;
  readonly #source: LogFile;
  readonly #disk: DiskCalls;
  readonly #descriptor: number;
  /** Undefined once the header is in the file. */
  #newHeader: Buffer | undefined;
  #size: number;

  constructor(source: LogFile, { disk, descriptor, size, header, newId }: Opened) {
    this.#source = source;
    this.#disk = disk;
    this.#descriptor = descriptor;
    this.#size = size;
    this.id = header?.id ?? newId;
    this.#newHeader = header ? undefined : Buffer.from(headerLine(source, this.id), "utf8");
    this.start = header?.length ?? Buffer.byteLength(headerLine(source, this.id));
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
    try {
      this.#write(bytes);
      if (options.flush) this.#disk.fdatasyncSync(this.#descriptor);
      // Whoever still owns the lock was alone.
      if (!isOwned(held) && this.#disk.fstatSync(this.#descriptor).size !== before + bytes.length)
        throw heldUp(this.#source);
    } catch (error) {
      this.#undo(before, held);
      throw error;
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

  #undo(size: number, held: HeldLogLock): void {
    try {
      this.truncate(size, held);
    } catch {
      // A torn tail is cut off by the next writer; the failure that led here is the one to report.
    }
  }
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
function closeQuietly(disk: DiskCalls, descriptor: number): void {
  try {
    disk.closeSync(descriptor);
  } catch {
    // As above.
  }
}

/** Opens the log; undefined when there is none to read yet. A log opened to append always is there. */
function open(source: LogFile, disk: DiskCalls, flags: number, newId: string): OpenLog | undefined {
  let descriptor: number;
  try {
    descriptor = disk.openSync(source.file, flags, FILE_MODE);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ELOOP") throw notPlain(source);
    throw error;
  }
  try {
    const stats = disk.fstatSync(descriptor);
    if (!stats.isFile()) throw notPlain(source);
    return openOn(source, disk, { descriptor, size: stats.size, newId });
  } catch (error) {
    closeQuietly(disk, descriptor);
    throw error;
  }
}

/** The log in an open file, as its first line says. */
function openOn(source: LogFile, disk: DiskCalls, opened: Omit<Opened, "disk" | "header">): OpenLog {
  const { descriptor, size } = opened;
  const first = Buffer.allocUnsafe(Math.min(HEADER_BYTES_MAX, size));
  const read = size === 0 ? 0 : disk.readSync(descriptor, first, 0, first.length, 0);
  return new OpenLog(source, { ...opened, disk, header: headerOf(source, first.subarray(0, read)) });
}

function notPlain({ shown }: LogFile): TokenBudgetError {
  return new TokenBudgetError(
    "refused",
    `${shown} is a symbolic link or not a plain file; only plain files are read and written. Remove it or move it away.`,
  );
}

/** A log that stays open between two appends. */
interface KeptLog {
  readonly descriptor: number;
  readonly header: LogHeader;
  /** Which file it is. */
  readonly file: string;
}

function fileOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

export class AppendLog {
  readonly source: LogFile;
  readonly #disk: DiskCalls;
  /** The id of the log while it is empty, the same at each opening, so that a writer's plan for it stays good. */
  #newId: string | undefined;
  #kept: KeptLog | undefined;

  constructor(source: LogFile, disk: DiskCalls = NODE_DISK) {
    this.source = source;
    this.#disk = disk;
  }

  /** Runs `work` on the log; without one, or with one that holds nothing yet, answers `undefined`. */
  reading<T>(work: (log: OpenLog) => T): T | undefined {
    return this.#using("read", READ_PLAIN_FLAGS, (log) =>
      log === undefined || log.size === log.start ? undefined : work(log),
    );
  }

  /** Runs `work` on the log of a held lock. The file stays open for the next time, until `release`. */
  appending<T>(work: (log: OpenLog) => T): T {
    let isDone = false;
    try {
      const result = this.#onKept(work) ?? this.#onOpened(work);
      isDone = true;
      return result.value;
    } catch (error) {
      throw storageFailure(error, { shown: this.source.shown, doing: "written" });
    } finally {
      if (!isDone) this.release();
    }
  }

  /** Closes the file. */
  release(): void {
    if (this.#kept) closeQuietly(this.#disk, this.#kept.descriptor);
    this.#kept = undefined;
  }

  /** Brings what was appended without a flush to the disk, and leaves the event loop alone meanwhile. */
  async flush(): Promise<void> {
    let descriptor: number | undefined;
    try {
      descriptor = this.#disk.openSync(this.source.file, READ_PLAIN_FLAGS);
      const opened = descriptor;
      await new Promise<void>((done, fail) => this.#disk.fdatasync(opened, (error) => (error ? fail(error) : done())));
    } catch (error) {
      throw storageFailure(error, { shown: this.source.shown, doing: "written" });
    } finally {
      if (descriptor !== undefined) closeQuietly(this.#disk, descriptor);
    }
  }

  /** On the file that was kept open; undefined when there is none, or another one lies in its place. */
  #onKept<T>(work: (log: OpenLog) => T): { readonly value: T } | undefined {
    if (!this.#kept) return undefined;
    const { descriptor, file, header } = this.#kept;
    const stats = this.#disk.lstatSync(this.source.file, { bigint: true, throwIfNoEntry: false });
    if (stats && fileOf(stats) === file) {
      const log = openOn(this.source, this.#disk, { descriptor, size: Number(stats.size), newId: header.id });
      if (log.header?.id === header.id) return { value: work(log) };
    }
    this.release();
    return undefined;
  }

  #onOpened<T>(work: (log: OpenLog) => T): { readonly value: T } {
    this.#newId ??= randomUUID();
    const log = open(this.source, this.#disk, CREATING_APPEND_FLAGS, this.#newId);
    if (log === undefined) throw new Error("the file was removed");
    try {
      const value = work(log);
      this.#keep(log);
      return { value };
    } finally {
      if (!this.#kept) log.close();
    }
  }

  #keep({ descriptor, header }: OpenLog): void {
    if (!header) return;
    // A log that is removed and begun again is another one.
    this.#newId = undefined;
    try {
      this.#kept = { descriptor, header, file: fileOf(this.#disk.fstatSync(descriptor, { bigint: true })) };
    } catch {
      // The work is done; the log is opened anew the next time.
    }
  }

  #using<T>(doing: "read" | "written", flags: number, work: (log: OpenLog | undefined) => T): T {
    let log: OpenLog | undefined;
    try {
      this.#newId ??= randomUUID();
      log = open(this.source, this.#disk, flags, this.#newId);
      return work(log);
    } catch (error) {
      throw storageFailure(error, { shown: this.source.shown, doing });
    } finally {
      if (log?.header) this.#newId = undefined;
      log?.close();
    }
  }
}
