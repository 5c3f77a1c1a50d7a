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
import { HEADER_BYTES_MAX, headerOf, type LogFile } from "./log-format.ts";
import { closeQuietly, OpenLog } from "./log-open.ts";

/** A log that stays open between two appends. */
interface KeptLog {
  readonly log: OpenLog;
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
    return this.#attempt("read", () => {
      const log = this.#open(READ_PLAIN_FLAGS);
      try {
        return log === undefined || log.size === log.start ? undefined : work(log);
      } finally {
        log?.close();
      }
    });
  }

  /** Runs `work` on the log of a held lock. The file stays open for the next time, until `release`. */
  appending<T>(work: (log: OpenLog) => T): T {
    return this.#attempt("written", () => {
      const kept = this.#takeKept();
      const log = kept?.log ?? this.#open(CREATING_APPEND_FLAGS);
      if (log === undefined) throw new Error("the file was removed");
      let isDone = false;
      try {
        const value = work(log);
        isDone = true;
        return value;
      } finally {
        this.#kept = isDone ? (kept ?? this.#toKeep(log)) : undefined;
        if (!this.#kept) log.close();
      }
    });
  }

  /** Closes the file. */
  release(): void {
    this.#kept?.log.close();
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

  /** The log that was kept open, for one use; undefined when there is none, or another one lies in its place. */
  #takeKept(): KeptLog | undefined {
    const kept = this.#kept;
    if (!kept) return undefined;
    this.#kept = undefined;
    let log: OpenLog | undefined;
    try {
      const stats = this.#disk.lstatSync(this.source.file, { bigint: true, throwIfNoEntry: false });
      if (stats && fileOf(stats) === kept.file) log = this.#logIn(kept.log.descriptor, Number(stats.size));
    } finally {
      if (log?.header?.id !== kept.log.id) kept.log.close();
    }
    return log?.header?.id === kept.log.id ? { log, file: kept.file } : undefined;
  }

  #toKeep(log: OpenLog): KeptLog | undefined {
    if (!log.header) return undefined;
    // A log that is removed and begun again is another one.
    this.#newId = undefined;
    try {
      return { log, file: fileOf(this.#disk.fstatSync(log.descriptor, { bigint: true })) };
    } catch {
      // The work is done; the log is opened again the next time.
      return undefined;
    }
  }

  /** Undefined when there is none to read yet. A log opened to append always is there. */
  #open(flags: number): OpenLog | undefined {
    let descriptor: number;
    try {
      descriptor = this.#disk.openSync(this.source.file, flags, FILE_MODE);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw codeOf(error) === "ELOOP" ? this.#notPlain() : error;
    }
    try {
      const stats = this.#disk.fstatSync(descriptor);
      if (!stats.isFile()) throw this.#notPlain();
      return this.#logIn(descriptor, stats.size);
    } catch (error) {
      closeQuietly(this.#disk, descriptor);
      throw error;
    }
  }

  /** The log in an open file, as its first line says. */
  #logIn(descriptor: number, size: number): OpenLog {
    const first = Buffer.allocUnsafe(Math.min(HEADER_BYTES_MAX, size));
    const read = size === 0 ? 0 : this.#disk.readSync(descriptor, first, 0, first.length, 0);
    const header = headerOf(this.source, first.subarray(0, read));
    if (header) this.#newId = undefined;
    else this.#newId ??= randomUUID();
    return new OpenLog(this.source, { disk: this.#disk, descriptor, size, header: header ?? this.#newId ?? "" });
  }

  #attempt<T>(doing: "read" | "written", work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw storageFailure(error, { shown: this.source.shown, doing });
    }
  }

  #notPlain(): TokenBudgetError {
    return new TokenBudgetError(
      "refused",
      `${this.source.shown} is a symbolic link or not a plain file; only plain files are read and written. Remove it or move it away.`,
    );
  }
}
