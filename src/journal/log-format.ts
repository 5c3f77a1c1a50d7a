// An append-only log on the disk, line by line. Pure. A header, then segments: data lines, and the commit line that ends
// them with their length and checksum, and with the checksum of the commit that it was written after:
//
//   {"format":"pi-token-budget journal","version":1,"id":"0b6e…"}
//   {"entry":{…}}
//   {"commit":{"leaf":"1a2b3c4d","after":0},"bytes":8812,"crc":1234567890}
//
// The id is of no other log. A newer format, or a file that is something else, never passes for a log of ours.
import zlib from "node:zlib";
import { TokenBudgetError } from "../errors.ts";

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

// The header.

/** A header is one line of at most so many bytes. */
export const HEADER_BYTES_MAX = 256;

export interface LogFile {
  /** Absolute path. */
  readonly file: string;
  /** What kind of log it is, as its first line says. */
  readonly format: string;
  /** The newest format this code knows: a whole number from 1. */
  readonly version: number;
  /** The log as an error names it: the subject of a sentence. */
  readonly shown: string;
}

export interface LogHeader {
  readonly id: string;
  /** In bytes, with its newline. */
  readonly length: number;
}

function upToVersion({ format }: LogFile): string {
  return `{"format":${JSON.stringify(format)},"version":`;
}

export function headerLine(source: LogFile, id: string): string {
  return `${upToVersion(source)}${source.version},"id":"${id}"}\n`;
}

/**
 * The header in the first bytes of a file; undefined when nothing was ever written behind it, not even all of itself. Zeros are
 * what a power cut leaves of a first write that was not flushed, so nothing behind them was either.
 */
export function headerOf(source: LogFile, first: Buffer): LogHeader | undefined {
  if (first.every((byte) => byte === 0)) return undefined;
  const end = first.indexOf(NEWLINE);
  const text = first.toString("utf8", 0, end === -1 ? first.length : end);
  const start = upToVersion(source);
  const rest = text.startsWith(start)
    ? /^([1-9]\d{0,8})(?:,"id":"([0-9a-f-]{36})"\})?/.exec(text.slice(start.length))
    : null;
  const version = Number(rest?.[1] ?? 0);
  if (version > source.version) throw newer(source, version);
  const id = rest?.[2];
  if (end !== -1 && id !== undefined) return { id, length: end + 1 };
  const torn = end === -1 && first.length < HEADER_BYTES_MAX && (start.startsWith(text) || version > 0);
  if (torn) return undefined;
  throw new TokenBudgetError(
    "storage_failed",
    `${source.shown} is damaged: ${source.file} does not begin as such a file. It is left as it is: repair or remove it.`,
  );
}

function newer({ shown, version, file }: LogFile, found: number): TokenBudgetError {
  return new TokenBudgetError(
    "newer_format",
    `${shown} has format ${found}, and this version of pi-token-budget reads up to ${version} (${file}). ` +
      "Update pi-token-budget; the file is left as it is.",
  );
}

// The checksum: CRC-32, as zip has it. It tells a torn write from a whole one, and is no signature.

/** The checksum of `bytes`, continued from that of what came before them. */
export type Crc32 = (bytes: Uint8Array, before?: number) => number;

const POLYNOMIAL = 0xedb88320;

/** For Node before 20.15, whose zlib does not offer it; about a sixth as fast. */
export function tableCrc32(): Crc32 {
  const table = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    table[byte] = value;
  }
  return (bytes, before = 0) => {
    let crc = ~before;
    for (let at = 0; at < bytes.length; at++) {
      crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] as number)) & 0xff] as number);
    }
    return ~crc >>> 0;
  };
}

export const crc32: Crc32 =
  typeof zlib.crc32 === "function" ? (bytes, before) => zlib.crc32(bytes, before) : tableCrc32();
