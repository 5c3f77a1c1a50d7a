// The lines of the host's own session file: each is the JSON of an entry, which then need not be made again. A line that
// differs from the entry in memory is not used; only the middle of a long text is not compared. Where there is no line,
// it is made. The file is read in order, away from the event loop, and never written.
import type { LogEntry } from "../host/entries.ts";
import { type DiskCalls, NODE_DISK, READ_FLAGS } from "../storage/disk.ts";
import type { CutJson } from "./journal-facts.ts";

const BLOCK_BYTES = 2_097_152;
/** Longer lines are not looked for. */
const BLOCK_BYTES_MAX = 33_554_432;
const NEWLINE = 10;
const ID_PLACE = /^\{"type":"[a-z_]+","id":"([^"\\]{1,100})"/;
const ID_PLACE_BYTES = 160;
/** What stands before or after a text is compared when it is no longer than this, and longer than most. */
const AROUND_BYTES_MAX = 65_536;
/** Of a longer text its beginning and its end are compared: so many code units each. */
const TEXT_ENDS = 128;
/** Bytes that a code unit takes in JSON at most. */
const UNIT_BYTES_MAX = 6;

/** Whole lines, in memory of their own. */
interface Block {
  readonly memory: Buffer;
  readonly length: number;
}

const NO_BLOCK: Block = { memory: Buffer.alloc(0), length: 0 };

export class SessionLines {
  readonly #disk: DiskCalls;
  readonly #descriptor: number | undefined;
  /** Where the next block begins. */
  #from = 0;
  #block = NO_BLOCK;
  /** Of the next line in the block. */
  #at = 0;
  /** What is read beside the work on the block. */
  #next: Promise<Block>;
  #isAtEnd = false;
  readonly #scratch = Buffer.allocUnsafe(AROUND_BYTES_MAX);

  constructor(file: string, disk: DiskCalls = NODE_DISK) {
    this.#disk = disk;
    this.#descriptor = opened(file, disk);
    this.#next = this.#readBlock(Buffer.allocUnsafe(BLOCK_BYTES));
  }

  close(): void {
    const descriptor = this.#descriptor;
    if (descriptor !== undefined) void this.#next.then(() => this.#disk.closeSync(descriptor)).catch(() => undefined);
  }

  /** All lines that were read are behind, and there may be more. */
  get isUsedUp(): boolean {
    return this.#at >= this.#block.length && !this.#isAtEnd;
  }

  async readOn(): Promise<void> {
    const { memory } = this.#block;
    this.#block = await this.#next;
    this.#at = 0;
    this.#isAtEnd = this.#block.length === 0;
    this.#next = this.#isAtEnd ? Promise.resolve(NO_BLOCK) : this.#readBlock(memory);
  }

  /**
   * The line of an entry; null when there is none, undefined when more is to be read first. Lines of other entries are passed
   * by, up to one that is yet to be asked for.
   */
  lineOf(entry: LogEntry, cut: CutJson | undefined, isAhead: (id: string) => boolean): Buffer | null | undefined {
    const { memory, length } = this.#block;
    while (this.#at < length) {
      const start = this.#at;
      const end = memory.indexOf(NEWLINE, start);
      if (cut && this.#says(start, end, cut)) {
        this.#at = end + 1;
        return memory.subarray(start, end);
      }
      const id = ID_PLACE.exec(memory.toString("latin1", start, Math.min(end, start + ID_PLACE_BYTES)))?.[1];
      if (id !== entry.id && id !== undefined && isAhead(id)) return null;
      this.#at = end + 1;
      if (id === entry.id) return null;
    }
    return this.#isAtEnd ? null : undefined;
  }

  /** Whether a line is that JSON: all of it is compared but the middle of a long text. */
  #says(start: number, end: number, { before, text, after }: CutJson): boolean {
    const from = start + this.#sizeOf(before);
    if (from > end || !this.#isAt(start, from)) return false;
    const to = end - this.#sizeOf(after);
    if (to < from || !this.#isAt(to, end)) return false;
    if (text.length <= 2 * TEXT_ENDS) return this.#sizeOf(inJson(text)) === to - from && this.#isAt(from, to);
    if (to - from < text.length || to - from > text.length * UNIT_BYTES_MAX) return false;
    const begun = from + this.#sizeOf(inJson(text.slice(0, TEXT_ENDS)));
    if (begun > to || !this.#isAt(from, begun)) return false;
    const rest = to - this.#sizeOf(inJson(text.slice(-TEXT_ENDS)));
    return rest >= begun && this.#isAt(rest, to);
  }

  /** Takes a piece to be compared; more than it has room for is never the same. */
  #sizeOf(piece: string): number {
    if (piece.length * 3 > AROUND_BYTES_MAX) return Number.POSITIVE_INFINITY;
    return this.#scratch.write(piece, 0, "utf8");
  }

  /** Whether the piece that was taken last is there. */
  #isAt(from: number, to: number): boolean {
    return this.#block.memory.compare(this.#scratch, 0, to - from, from, to) === 0;
  }

  async #readBlock(into: Buffer): Promise<Block> {
    if (this.#descriptor === undefined) return NO_BLOCK;
    let memory = into.length === 0 ? Buffer.allocUnsafe(BLOCK_BYTES) : into;
    for (;;) {
      const length = await this.#read(this.#descriptor, memory);
      const whole = length === 0 ? 0 : memory.lastIndexOf(NEWLINE, length - 1) + 1;
      this.#from += whole;
      if (whole > 0 || length < memory.length || memory.length >= BLOCK_BYTES_MAX) return { memory, length: whole };
      memory = Buffer.allocUnsafe(memory.length * 2);
    }
  }

  /** Without an answer there are no more lines. */
  #read(descriptor: number, into: Buffer): Promise<number> {
    return new Promise<number>((done) => {
      this.#disk.read(descriptor, into, 0, into.length, this.#from, (error, length) => done(error ? 0 : length));
    }).catch(() => 0);
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function opened(file: string, disk: DiskCalls): number | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = disk.openSync(file, READ_FLAGS);
    if (disk.fstatSync(descriptor).isFile()) return descriptor;
    disk.closeSync(descriptor);
  } catch {
    // Without a file that can be read there are no lines.
  }
  return undefined;
}
