// Copies of stored files for a person, in a folder of theirs: below it nothing follows a symbolic link, a file that is there
// is replaced only when that was said, and a copy that fails leaves nothing.
import { randomUUID } from "node:crypto";
import nodeFs from "node:fs";
import { dirname, join } from "node:path";
import { TokenBudgetError } from "../errors.ts";
import { codeOf, type DiskCalls, NODE_DISK, storageFailure, writeWhole } from "./disk.ts";
import { locate } from "./tree.ts";

/** Where a copy would lie. */
export interface CopyPlace {
  /** Absolute. */
  readonly file: string;
  readonly isThere: boolean;
}

const PROBLEMS = {
  directory: "a folder is there",
  below_file: "a file stands where a folder has to be",
  link: "a symbolic link stands in the way",
  special: "something that is no plain file stands in the way",
  collision: "a file or folder whose name differs in case only is there",
} as const;

/** The place of a relative path in a folder that is there or not; throws where no file can be put there. */
export function copyPlace(folder: string, path: string): CopyPlace {
  const root = nodeFs.existsSync(folder) ? nodeFs.realpathSync(folder) : folder;
  const place = locate(NODE_DISK, root, path);
  if (place.type === "file" || place.type === "missing") return { file: place.file, isThere: place.type === "file" };
  throw new TokenBudgetError(
    "refused",
    `${join(folder, path)} cannot be written: ${PROBLEMS[place.type]}. Nothing was saved. Name another place.`,
  );
}

/** Whether something is at a path of a person's, and whether it is a folder; links are followed. */
export function isFolder(path: string): boolean | undefined {
  try {
    return nodeFs.statSync(path).isDirectory();
  } catch {
    return undefined;
  }
}

/** In a place where nothing is: what has come there meanwhile stays. */
function putNew(from: string, to: string): void {
  try {
    nodeFs.linkSync(from, to);
  } catch (error) {
    // Some file systems have no links.
    if (codeOf(error) === "EEXIST") throw error;
    nodeFs.copyFileSync(from, to, nodeFs.constants.COPYFILE_EXCL);
  }
}

/** The bytes to be saved, and how many they are. */
export interface SavedBytes {
  readonly stream: AsyncIterable<Uint8Array>;
  readonly size: number;
}

/** Writes all of the bytes to a place, through a file beside it, so that no reader sees half of it. */
export async function saveCopy(
  { stream, size }: SavedBytes,
  { file, isThere }: CopyPlace,
  disk: DiskCalls = NODE_DISK,
): Promise<void> {
  // Without the file's own name, which may be as long as a name can be.
  const beside = join(dirname(file), `.${randomUUID()}.tmp`);
  try {
    nodeFs.mkdirSync(dirname(file), { recursive: true });
    // With the person's own permissions, as any program of theirs writes.
    const descriptor = disk.openSync(beside, "wx");
    try {
      let written = 0;
      for await (const piece of stream) {
        writeWhole(disk, descriptor, Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
        written += piece.byteLength;
      }
      if (written !== size) throw new Error(`its stored copy has ${written} bytes of ${size}`);
      disk.fdatasyncSync(descriptor);
    } finally {
      disk.closeSync(descriptor);
    }
    if (isThere) disk.renameSync(beside, file);
    else putNew(beside, file);
  } catch (error) {
    throw storageFailure(error, { shown: file, doing: "written" });
  } finally {
    removeQuietly(disk, beside);
  }
}

/** What came before is what is told. */
function removeQuietly(disk: DiskCalls, path: string): void {
  try {
    disk.rmSync(path, { force: true });
  } catch {
    // A leftover beside a file of the person's, under a name that says so.
  }
}
