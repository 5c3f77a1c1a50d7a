// A file beside an append-only log that holds what can be read from the log itself, in a form that is quick to load. It
// belongs to one log by id; a missing, foreign or unreadable one is no error, for it can be made anew. It must never be
// trusted: whoever reads it checks what it holds. One of a newer format is left alone.

import {
  APPEND_FLAGS,
  type DiskCalls,
  FILE_MODE,
  NODE_DISK,
  READ_PLAIN_FLAGS,
  REPLACE_FLAGS,
} from "../storage/disk.ts";
import type { LogFile } from "./log-header.ts";

/** The header's fixed length: the content starts aligned for any typed array. */
const HEADER_BYTES = 192;

function headerBytes({ format, version }: LogFile, logId: string): Buffer {
  return Buffer.from(`${JSON.stringify({ format, version, log: logId }).padEnd(HEADER_BYTES - 1)}\n`, "utf8");
}

export interface SidecarContent {
  /** The content, and room behind it. */
  readonly memory: Buffer;
  /** Bytes of content. */
  readonly length: number;
}

export class Sidecar {
  readonly #source: LogFile;
  readonly #disk: DiskCalls;

  constructor(source: LogFile, disk: DiskCalls = NODE_DISK) {
    this.#source = source;
    this.#disk = disk;
  }

  /** Absolute path. */
  get file(): string {
    return this.#source.file;
  }

  /** The content made for this log; undefined when there is none that can be used. */
  read(logId: string): SidecarContent | undefined {
    const read = this.#read();
    if (!read || !headerBytes(this.#source, logId).equals(read.memory.subarray(0, HEADER_BYTES))) return undefined;
    return { memory: read.memory.subarray(HEADER_BYTES), length: read.length - HEADER_BYTES };
  }

  /** Adds to content of exactly `before` bytes, which the caller knows to be right; false when it is not that. */
  append(before: number, content: Uint8Array): boolean {
    const descriptor = this.#disk.openSync(this.#source.file, APPEND_FLAGS);
    try {
      if (this.#disk.fstatSync(descriptor).size !== HEADER_BYTES + before) return false;
      return this.#disk.writeSync(descriptor, content) === content.length;
    } finally {
      this.#disk.closeSync(descriptor);
    }
  }

  /** Writes all of it anew, in place: a reader meanwhile finds a part, which its checks tell. */
  replace(logId: string, content: Uint8Array): void {
    if (this.#isNewer()) return;
    const descriptor = this.#disk.openSync(this.#source.file, REPLACE_FLAGS, FILE_MODE);
    try {
      for (const bytes of [headerBytes(this.#source, logId), content]) {
        for (let done = 0; done < bytes.length; ) {
          const written = this.#disk.writeSync(descriptor, bytes, done, bytes.length - done);
          if (written === 0) throw new Error(`${this.#source.shown} could only be written in part`);
          done += written;
        }
      }
    } finally {
      this.#disk.closeSync(descriptor);
    }
  }

  /** The whole file, in memory of its own with room to grow: what is loaded is added to. */
  #read(): SidecarContent | undefined {
    try {
      const descriptor = this.#disk.openSync(this.#source.file, READ_PLAIN_FLAGS);
      try {
        const stats = this.#disk.fstatSync(descriptor);
        if (!stats.isFile()) return undefined;
        const memory = Buffer.allocUnsafeSlow(stats.size + Math.ceil(stats.size / 4 / 4) * 4);
        let length = 0;
        while (length < stats.size) {
          const read = this.#disk.readSync(descriptor, memory, length, stats.size - length, length);
          if (read === 0) break;
          length += read;
        }
        return { memory, length };
      } finally {
        this.#disk.closeSync(descriptor);
      }
    } catch {
      // Missing, or whatever is wrong with it: the log says it all.
      return undefined;
    }
  }

  #isNewer(): boolean {
    const start = this.#read()?.memory.toString("latin1", 0, HEADER_BYTES) ?? "";
    const found = /^\{"format":(".*?"),"version":(\d+),/.exec(start);
    return found?.[1] === JSON.stringify(this.#source.format) && Number(found[2]) > this.#source.version;
  }
}
