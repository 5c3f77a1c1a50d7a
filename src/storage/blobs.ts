// Whole files of any size: copied in pieces so that the event loop runs, hashed as they are copied, streamed and removed.
// It must never follow a symbolic link at the end of a path, never wait on a pipe, and never leave half a copy behind.
import { createHash } from "node:crypto";
import nodeFs from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { setImmediate as nextTick } from "node:timers/promises";
import { TokenBudgetError } from "../errors.ts";
import {
  codeOf,
  type DiskCalls,
  ensurePrivateDirectory,
  FILE_MODE,
  NODE_DISK,
  READ_PLAIN_FLAGS,
  storageFailure,
  writeWhole,
} from "./disk.ts";
import { inSlices } from "./slices.ts";
import { removingTree } from "./tree.ts";

const PIECE_BYTES = 1_048_576;
// Windows has no O_NOFOLLOW; there the lstat before the open is the only guard.

export interface BlobFacts {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface CopyOptions {
  /** The file as an error names it: the subject of a sentence. */
  readonly shown: string;
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** False for what can be made again: it is not flushed. */
  readonly flush?: boolean;
  readonly disk?: DiskCalls | undefined;
}

/** What is at a path; links are not followed. */
export type PathKind = "missing" | "file" | "directory" | "link" | "special";

export function kindAt(path: string, disk: DiskCalls = NODE_DISK): PathKind {
  try {
    const stats = disk.lstatSync(path);
    if (stats.isFile()) return "file";
    if (stats.isDirectory()) return "directory";
    return stats.isSymbolicLink() ? "link" : "special";
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return "missing";
    throw error;
  }
}

export function sizeOf(path: string, disk: DiskCalls = NODE_DISK): number {
  return disk.lstatSync(path).size;
}

function tooLarge(shown: string, maxBytes: number): TokenBudgetError {
  return new TokenBudgetError(
    "too_large",
    `${shown} is larger than ${maxBytes.toLocaleString("en-US")} bytes. Nothing was stored. Attach a smaller file or a part of it.`,
  );
}

/** Calls `each` with every piece of a plain file, which it must not keep. */
async function readPieces(
  source: string,
  { shown, maxBytes = Number.POSITIVE_INFINITY, signal, disk = NODE_DISK }: CopyOptions,
  each: (piece: Buffer) => void,
): Promise<BlobFacts> {
  if (kindAt(source, disk) !== "file") {
    throw new TokenBudgetError("refused", `${shown} is no plain file; only plain files are read. Use another path.`);
  }
  const descriptor = disk.openSync(source, READ_PLAIN_FLAGS);
  try {
    const stats = disk.fstatSync(descriptor);
    if (!stats.isFile()) throw new TokenBudgetError("refused", `${shown} is no plain file. Use another path.`);
    if (stats.size > maxBytes) throw tooLarge(shown, maxBytes);
    const hash = createHash("sha256");
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let bytes = 0;
    for (;;) {
      signal?.throwIfAborted();
      const read = disk.readSync(descriptor, piece, 0, piece.length, null);
      if (read === 0) break;
      bytes += read;
      // It may have grown since it was looked at.
      if (bytes > maxBytes) throw tooLarge(shown, maxBytes);
      const part = piece.subarray(0, read);
      hash.update(part);
      each(part);
      if (read === piece.length) await nextTick();
    }
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    closeQuietly(disk, descriptor);
  }
}

/** Copies a plain file to a path that is free. */
export async function copyPlainFile(source: string, target: string, options: CopyOptions): Promise<BlobFacts> {
  const { shown, disk = NODE_DISK, flush = true } = options;
  let descriptor: number | undefined;
  try {
    descriptor = disk.openSync(target, "wx", FILE_MODE);
    const open = descriptor;
    const facts = await readPieces(source, options, (piece) => writeWhole(disk, open, piece));
    if (flush) disk.fdatasyncSync(open);
    descriptor = undefined;
    // Some disks say only now what they could not write.
    disk.closeSync(open);
    return facts;
  } catch (error) {
    if (descriptor !== undefined) closeQuietly(disk, descriptor);
    if (codeOf(error) !== "EEXIST") discard(disk, target);
    if (options.signal?.aborted) throw error;
    throw storageFailure(error, { shown, doing: "written" });
  }
}

function closeQuietly(disk: DiskCalls, descriptor: number): void {
  try {
    disk.closeSync(descriptor);
  } catch {
    // What was read is known, or another failure is told.
  }
}

function discard(disk: DiskCalls, path: string): void {
  try {
    disk.unlinkSync(path);
  } catch {
    // The failure that led here is the one to report.
  }
}

/** What a plain file holds, without keeping it; undefined when there is none or it cannot be read. */
export async function blobFacts(source: string, disk: DiskCalls = NODE_DISK): Promise<BlobFacts | undefined> {
  try {
    return await readPieces(source, { shown: "The file", disk }, () => undefined);
  } catch {
    return undefined;
  }
}

/** Writes a small text to a new file of ours; of one that could not be written whole nothing stays. */
export function writeNewText(path: string, text: string, disk: DiskCalls = NODE_DISK): void {
  const descriptor = disk.openSync(path, "wx", FILE_MODE);
  try {
    writeWhole(disk, descriptor, Buffer.from(text, "utf8"));
  } catch (error) {
    discard(disk, path);
    throw storageFailure(error, { shown: basename(path), doing: "written" });
  } finally {
    disk.closeSync(descriptor);
  }
}

export function makePrivateDirectory(directory: string, disk: DiskCalls = NODE_DISK): void {
  ensurePrivateDirectory(disk, directory);
}

/** Removes whatever is at a path; links in it are removed, never followed. */
export function removeTree(path: string): void {
  nodeFs.rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}

/** The same, of what may hold very many files, with the event loop running meanwhile. */
export async function removeLargeTree(path: string): Promise<void> {
  try {
    await inSlices(removingTree(NODE_DISK, path), undefined);
  } catch {
    // Something was written there meanwhile, or the system wants patience.
    removeTree(path);
  }
}

/** The bytes of a stored file as a stream. */
export function streamOf(path: string): Readable {
  return nodeFs.createReadStream("", { fd: nodeFs.openSync(path, READ_PLAIN_FLAGS), autoClose: true });
}

export function namesAt(directory: string, disk: DiskCalls = NODE_DISK): readonly string[] {
  try {
    return disk.readdirSync(directory);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

export function realPathOf(path: string): string {
  return nodeFs.realpathSync(path);
}

export function modifiedMsAt(path: string, disk: DiskCalls = NODE_DISK): number {
  return disk.lstatSync(path).mtimeMs;
}
