// Copies of stored files for a person, in a folder of theirs: below it nothing follows a symbolic link, a file that is there
// is replaced only when that was said, and a copy that fails leaves nothing.
import { randomUUID } from "node:crypto";
import nodeFs from "node:fs";
import { basename, dirname, join } from "node:path";
import { TokenBudgetError } from "../errors.ts";
import { codeOf, NODE_DISK, storageFailure } from "./disk.ts";
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

/** Writes the bytes to a place, through a file beside it, so that no reader sees half of it. */
export async function saveCopy(bytes: AsyncIterable<Uint8Array>, { file, isThere }: CopyPlace): Promise<void> {
  const beside = join(dirname(file), `.${basename(file).slice(0, 100)}.${randomUUID()}.tmp`);
  try {
    nodeFs.mkdirSync(dirname(file), { recursive: true });
    // With the person's own permissions, as any program of theirs writes.
    const descriptor = nodeFs.openSync(beside, "wx");
    try {
      for await (const piece of bytes) nodeFs.writeSync(descriptor, piece);
    } finally {
      nodeFs.closeSync(descriptor);
    }
    if (isThere) nodeFs.renameSync(beside, file);
    else putNew(beside, file);
  } catch (error) {
    throw storageFailure(error, { shown: file, doing: "written" });
  } finally {
    nodeFs.rmSync(beside, { force: true });
  }
}
