// `journal.index`, the records of a journal on the disk: a first line of fixed length, then the records as they are in
// memory (records.ts). It belongs to one log by id; a missing, foreign or unreadable one is no error: it is made again.
// It must never be trusted: readers check what it holds. One of a newer format is left alone.
//
//   {"format":"pi-token-budget journal index","version":4,"log":"0b6e…"}
//
// Kept for the row "another agent, newest 50 of a journal of 100k entries": without it the whole log is read first.
import { APPEND_FLAGS, type DiskCalls, FILE_MODE, READ_PLAIN_FLAGS, REPLACE_FLAGS } from "../storage/disk.ts";
import { RECORD_BYTES } from "./records.ts";

/** Changes with what a record says of an entry, so that an older index is made again. */
const INDEX_VERSION = 4;
/** The records start aligned for any typed array. */
const HEADER_BYTES = 192;

/** The records of the file as bytes, with room behind them: what is loaded is added to. */
export interface IndexContent {
  readonly memory: Buffer;
  /** Bytes of records. */
  readonly length: number;
}

export class IndexFile {
  /** Absolute path. */
  readonly file: string;
  readonly #format: string;
  readonly #disk: DiskCalls;

  constructor(file: string, logFormat: string, disk: DiskCalls) {
    this.file = file;
    this.#format = `${logFormat} index`;
    this.#disk = disk;
  }

  /** What was made for this log; undefined when there is nothing that can be used. */
  read(logId: string): IndexContent | undefined {
    const bytes = this.#read();
    if (!bytes?.memory.subarray(0, HEADER_BYTES).equals(this.#header(logId))) return undefined;
    return { memory: bytes.memory.subarray(HEADER_BYTES), length: bytes.length - HEADER_BYTES };
  }

  /**
   * Adds to exactly so many records, of which the last is this mark; false when there are not just these. Its checksum tells
   * them from those of another process, which may differ in which record stands for equal calls.
   */
  append(before: number, mark: Uint8Array, records: Uint8Array): boolean {
    return this.#opened(APPEND_FLAGS, (descriptor) => {
      const end = HEADER_BYTES + before * RECORD_BYTES;
      if (this.#disk.fstatSync(descriptor).size !== end) return false;
      const last = Buffer.alloc(RECORD_BYTES);
      this.#disk.readSync(descriptor, last, 0, RECORD_BYTES, end - RECORD_BYTES);
      if (!last.equals(mark)) return false;
      return this.#disk.writeSync(descriptor, records) === records.length;
    });
  }

  /** Rewrites all of it, in place: a concurrent reader finds a part, which its checks detect. */
  replace(logId: string, records: Uint8Array): void {
    if (this.#isNewer()) return;
    const bytes = Buffer.concat([this.#header(logId), records]);
    this.#opened(REPLACE_FLAGS, (descriptor) => {
      for (let done = 0; done < bytes.length; ) {
        const written = this.#disk.writeSync(descriptor, bytes, done, bytes.length - done);
        if (written === 0) throw new Error(`${this.file} could only be written in part`);
        done += written;
      }
    });
  }

  #header(logId: string): Buffer {
    const fields = JSON.stringify({ format: this.#format, version: INDEX_VERSION, log: logId });
    return Buffer.from(`${fields.padEnd(HEADER_BYTES - 1)}\n`, "utf8");
  }

  /** The whole file. */
  #read(): IndexContent | undefined {
    try {
      return this.#opened(READ_PLAIN_FLAGS, (descriptor) => {
        const stats = this.#disk.fstatSync(descriptor);
        if (!stats.isFile()) return undefined;
        const memory = Buffer.allocUnsafeSlow(stats.size + Math.ceil(stats.size / 4 / 4) * 4);
        let length = 0;
        for (let read = -1; read !== 0 && length < stats.size; length += read)
          read = this.#disk.readSync(descriptor, memory, length, stats.size - length, length);
        return { memory, length };
      });
    } catch {
      // Missing, or whatever is wrong with it: the log says it all.
      return undefined;
    }
  }

  #isNewer(): boolean {
    const start = this.#read()?.memory.toString("latin1", 0, HEADER_BYTES) ?? "";
    const found = /^\{"format":(".*?"),"version":(\d+),/.exec(start);
    return found?.[1] === JSON.stringify(this.#format) && Number(found[2]) > INDEX_VERSION;
  }

  #opened<T>(flags: number, work: (descriptor: number) => T): T {
    const descriptor = this.#disk.openSync(this.file, flags, FILE_MODE);
    try {
      return work(descriptor);
    } finally {
      this.#disk.closeSync(descriptor);
    }
  }
}
