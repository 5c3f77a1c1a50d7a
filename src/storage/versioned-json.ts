// JSON files that carry a format version. A file of a newer format is refused by name; it must never be rewritten.
import { TokenBudgetError } from "../errors.ts";
import type { AtomicFiles, Commit } from "./atomic-file.ts";
import { type DiskCalls, NODE_DISK } from "./disk.ts";
import { readPlainFile } from "./plain-file.ts";

export interface VersionedFile {
  /** Absolute path. */
  readonly file: string;
  /** The newest format this code knows: a whole number from 1. */
  readonly version: number;
  /** The file as the subject of a sentence for whoever reads an error. */
  readonly shown: string;
}

/** What such a file holds; everything but the version is yet to be checked. */
export interface VersionedFields {
  readonly version: number;
  readonly [field: string]: unknown;
}

function isVersioned(value: unknown): value is VersionedFields {
  if (typeof value !== "object" || value === null || !("version" in value)) return false;
  return Number.isSafeInteger(value.version) && Number(value.version) >= 1;
}

function damaged(source: VersionedFile, cause: unknown): TokenBudgetError {
  const message = `${source.shown} is damaged: ${source.file} holds no JSON object with a version. It is left as it is: repair or remove it.`;
  return new TokenBudgetError("storage_failed", message, { cause });
}

/** What is at the file's place. */
export type VersionedContent =
  | { readonly type: "missing" }
  | { readonly type: "damaged"; readonly cause: unknown }
  | { readonly type: "fields"; readonly fields: VersionedFields };

/** Looks at the file. A newer format throws `newer_format`, a disk that fails `storage_failed`. */
export function inspectVersionedJson(source: VersionedFile, disk: DiskCalls = NODE_DISK): VersionedContent {
  const content = readPlainFile(disk, source.file, source.shown);
  return content === undefined ? { type: "missing" } : inspectVersionedBytes(source, content.bytes);
}

function inspectVersionedBytes(source: VersionedFile, bytes: Buffer): VersionedContent {
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

/** The fields of the file; undefined when there is none. A damaged one is an error too and stays where it is. */
export function readVersionedJson(source: VersionedFile, disk: DiskCalls = NODE_DISK): VersionedFields | undefined {
  return fieldsIn(source, inspectVersionedJson(source, disk));
}

/** The fields that such a file's bytes hold, for who has read them. */
export function versionedFieldsOf(source: VersionedFile, bytes: Buffer): VersionedFields | undefined {
  return fieldsIn(source, inspectVersionedBytes(source, bytes));
}

function fieldsIn(source: VersionedFile, content: VersionedContent): VersionedFields | undefined {
  if (content.type === "damaged") throw damaged(source, content.cause);
  return content.type === "fields" ? content.fields : undefined;
}

export interface VersionedWrite extends Omit<Commit, "target" | "content" | "shown"> {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Whether a damaged file may be replaced: only by whoever holds all of its content. */
  readonly replaceDamaged?: boolean;
}

/** Replaces the file under the lock the write names. A newer format is never replaced. */
export function writeVersionedJson(
  files: AtomicFiles,
  source: VersionedFile,
  write: VersionedWrite,
  disk: DiskCalls = NODE_DISK,
): void {
  const { fields, replaceDamaged, ...commit } = write;
  const present = inspectVersionedJson(source, disk);
  if (present.type === "damaged" && !replaceDamaged) throw damaged(source, present.cause);
  const content = Buffer.from(`${JSON.stringify({ ...fields, version: source.version })}\n`, "utf8");
  files.commit({ ...commit, target: source.file, content, shown: source.shown });
}
