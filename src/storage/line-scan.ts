// The lines of a growing file that hold a given text, found without parsing the others; each byte is read once. It takes
// no lock and writes nothing.
import { codeOf, type DiskCalls, NODE_DISK, READ_PLAIN_FLAGS, storageFailure } from "./disk.ts";

const NEWLINE = 0x0a;
const CHUNK_BYTES = 1_048_576;
const HEAD_BYTES = 256;

export interface LineScanOptions {
  readonly file: string;
  /** Without a newline. */
  readonly text: string;
  /** Names the file in errors. */
  readonly shown: string;
  readonly disk?: DiskCalls | undefined;
}

export class LineScan {
  readonly #options: LineScanOptions;
  readonly #disk: DiskCalls;
  readonly #needle: Buffer;
  #inode = 0;
  /** How the file begins: inode numbers are reused. */
  #head: Buffer = Buffer.alloc(0);
  /** Bytes that were looked at: whole lines only. */
  #end = 0;

  constructor(options: LineScanOptions) {
    this.#options = options;
    this.#disk = options.disk ?? NODE_DISK;
    this.#needle = Buffer.from(options.text, "utf8");
  }

  /**
   * Calls `found` with each whole line that is new and holds the text. Returns "again" when the file is another one or
   * was cut since, and was read from its start: discard what was found before. Without a file there are no lines.
   */
  readOn(found: (line: Buffer) => void): "on" | "again" {
    const { file, shown } = this.#options;
    try {
      const descriptor = this.#disk.openSync(file, READ_PLAIN_FLAGS);
      try {
        return this.#read(descriptor, found);
      } finally {
        this.#disk.closeSync(descriptor);
      }
    } catch (error) {
      if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") {
        throw storageFailure(error, { shown, doing: "read" });
      }
      this.#end = 0;
      return "again";
    }
  }

  #read(descriptor: number, found: (line: Buffer) => void): "on" | "again" {
    const { ino, size } = this.#disk.fstatSync(descriptor);
    const head = Buffer.alloc(HEAD_BYTES);
    const begins = head.subarray(0, this.#disk.readSync(descriptor, head, 0, HEAD_BYTES, 0));
    const known = this.#head.length;
    const isSame = ino === this.#inode && size >= this.#end && begins.subarray(0, known).equals(this.#head);
    if (!isSame) this.#end = 0;
    this.#inode = ino;
    this.#head = begins;
    let chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, size - this.#end)));
    while (this.#end < size) {
      const length = this.#disk.readSync(descriptor, chunk, 0, chunk.length, this.#end);
      const whole = chunk.subarray(0, length).lastIndexOf(NEWLINE) + 1;
      if (whole > 0) {
        this.#look(chunk.subarray(0, whole), found);
        this.#end += whole;
      } else if (length === chunk.length && this.#end + length < size) {
        // A line longer than the chunk.
        chunk = Buffer.allocUnsafe(chunk.length * 2);
      } else break;
    }
    return isSame ? "on" : "again";
  }

  #look(lines: Buffer, found: (line: Buffer) => void): void {
    for (let at = lines.indexOf(this.#needle); at !== -1; ) {
      const start = lines.lastIndexOf(NEWLINE, at) + 1;
      const end = lines.indexOf(NEWLINE, at);
      found(lines.subarray(start, end));
      at = lines.indexOf(this.#needle, end);
    }
  }
}
