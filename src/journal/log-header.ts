// The first line of an append-only log: its kind, its format version, and an id that no other log has. Pure. It must
// never let a newer format, or a file that is something else, pass for a log of ours.
import { TokenBudgetError } from "../errors.ts";

/** A header is one line of at most so many bytes. */
export const HEADER_BYTES_MAX = 256;

const NEWLINE = 10;

export interface LogFile {
  /** Absolute path. */
  readonly file: string;
  /** What kind of log it is, as its first line says. */
  readonly format: string;
  /** The newest format this code knows: a whole number from 1. */
  readonly version: number;
  /** The log as the subject of a sentence for whoever reads an error. */
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

/** The header in the first bytes of a file; undefined when nothing was ever written behind it, not even all of itself. */
export function headerOf(source: LogFile, first: Buffer): LogHeader | undefined {
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
