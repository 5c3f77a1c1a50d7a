// JSON files that carry a format version: read without a lock and checked, changed under a lock of the file's own name and
// replaced whole. One that is damaged, or of a newer format, is an error that names it and stays as it is.
//
// {"runId":"5f…","rootSessionId":"5f…","agents":[…],"version":1}
import { basename, dirname } from "node:path";
import { TokenBudgetError } from "../errors.ts";
import { isRecord } from "../shapes.ts";
import { type DiskCalls, ensurePrivateDirectory, NODE_DISK, storageFailure } from "./disk.ts";
import type { LockRequest } from "./lock.ts";
import { type Held, LockedFiles } from "./locked-files.ts";
import { readPlainFile } from "./plain-file.ts";

export interface VersionedFile {
  /** Absolute path. */
  readonly file: string;
  /** The newest format this code knows: a whole number from 1. */
  readonly version: number;
  /** The file as an error names it: the subject of a sentence. */
  readonly shown: string;
}

/** What such a file holds; everything but the version is yet to be checked. */
export interface VersionedFields {
  readonly version: number;
  readonly [field: string]: unknown;
}

/** What fields say; of those that do not fit, the first problem by the name of its field. */
export type Parsed<T> =
  | { readonly type: "value"; readonly value: T }
  | { readonly type: "damaged"; readonly problem: string };

/** A file and what it holds. */
export interface JsonFile<T> extends VersionedFile {
  parse(fields: VersionedFields): Parsed<T>;
  /** What is written for a value, without the version. */
  fields(value: T): Readonly<Record<string, unknown>>;
}

type Content =
  | { readonly type: "damaged"; readonly cause: unknown }
  | { readonly type: "fields"; readonly fields: VersionedFields };

/** What is at a file's place. */
export type VersionedContent = Content | { readonly type: "missing" };

const EXTENSION = ".json";

function damaged({ file, shown }: VersionedFile, problem: string, cause?: unknown): TokenBudgetError {
  const message = `${shown} is damaged: in ${file}, ${problem}. It is left as it is: repair or remove it.`;
  return new TokenBudgetError("storage_failed", message, { cause });
}

function isVersioned(value: unknown): value is VersionedFields {
  return isRecord(value) && Number.isSafeInteger(value.version) && Number(value.version) >= 1;
}

function contentOf(source: VersionedFile, bytes: Buffer): Content {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    return { type: "damaged", cause };
  }
  if (!isVersioned(value)) return { type: "damaged", cause: undefined };
  if (value.version <= source.version) return { type: "fields", fields: value };
  throw new TokenBudgetError(
    "newer_format",
    `${source.shown} has format ${value.version}, and this version of pi-token-budget reads up to ${source.version} ` +
      `(${source.file}). Update pi-token-budget; the file is left as it is.`,
  );
}

/** Looks at a file that may be damaged. A newer format throws `newer_format`, a disk that fails `storage_failed`. */
export function inspectJson(source: VersionedFile, disk: DiskCalls = NODE_DISK): VersionedContent {
  const content = readPlainFile(disk, source.file, source.shown);
  return content === undefined ? { type: "missing" } : contentOf(source, content.bytes);
}

/** What bytes that were read from the file say. */
export function parseJson<T>(source: JsonFile<T>, bytes: Buffer): T {
  const content = contentOf(source, bytes);
  if (content.type !== "fields") throw damaged(source, "there is no JSON object with a version", content.cause);
  const parsed = source.parse(content.fields);
  if (parsed.type === "damaged") throw damaged(source, parsed.problem);
  return parsed.value;
}

/** Undefined when there is no such file. */
export function readJson<T>(source: JsonFile<T>, disk: DiskCalls = NODE_DISK): T | undefined {
  const content = readPlainFile(disk, source.file, source.shown);
  return content && parseJson(source, content.bytes);
}

export interface JsonWrite {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly flush?: boolean;
}

/** Replaces a file that was read, or inspected, under the same lock: a newer format is never replaced. */
export function replaceJson(held: Held, source: VersionedFile, write: JsonWrite, disk: DiskCalls = NODE_DISK): void {
  const { file: target, shown, version } = source;
  const { fields, flush = true } = write;
  try {
    ensurePrivateDirectory(disk, dirname(target));
  } catch (error) {
    throw storageFailure(error, { shown, doing: "written" });
  }
  const content = Buffer.from(`${JSON.stringify({ ...fields, version })}\n`, "utf8");
  held.replace({ target, content, shown, flush });
}

/** The lock of a file has the file's name. */
export function lockOf({ file, shown }: VersionedFile): LockRequest {
  return { name: basename(file, EXTENSION), shown };
}

/** The JSON files that share a folder for locks and temporaries. */
export class JsonStore extends LockedFiles {
  /**
   * Changes what a file holds; undefined means no file. When `change` throws or returns the same value, nothing is written.
   * `read` replaces reading the file.
   */
  update<T>(
    source: JsonFile<T>,
    change: (before: T | undefined) => T,
    read = () => readJson(source, this.disk),
  ): Promise<T> {
    return this.hold(lockOf(source), (held) => {
      const before = read();
      const after = change(before);
      if (after !== before) replaceJson(held, source, { fields: source.fields(after) }, this.disk);
      return after;
    });
  }
}
