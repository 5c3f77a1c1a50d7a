// Replacing a file whole: a temporary is written and flushed in another folder of the same disk, then put in place by one
// rename, so that a reader sees the old content or the new and nothing between. The libraries for this put their temporary
// beside the target and cannot ask whether the lock is still held before they rename; a second rename was the price.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type DiskCalls, ensurePrivateDirectory, FILE_MODE, NODE_DISK, storageFailure, writeWhole } from "./disk.ts";

export interface Replacement {
  /** Absolute path of the file to put in place; its directory exists. */
  readonly target: string;
  readonly content: Buffer;
  /** The file as an error names it: the subject of a sentence. */
  readonly shown: string;
  /** The file's time of update; default: now. */
  readonly modified?: Date;
  /** False for what may be lost in a power cut: it is not flushed. */
  readonly flush?: boolean;
}

export interface Temporaries {
  /** Made when it is not there. */
  readonly directory: string;
  /** What left-overs of a killed process begin with. */
  readonly prefix: string;
}

/** `beforeRename` throws when the file may not be replaced after all. Whatever throws, the old content is there. */
export function replaceFile(
  replacement: Replacement,
  { directory, prefix }: Temporaries,
  { disk = NODE_DISK, beforeRename = () => {} }: { disk?: DiskCalls; beforeRename?: () => void } = {},
): void {
  const temporary = join(directory, `${prefix}.${randomUUID()}`);
  try {
    ensurePrivateDirectory(disk, directory);
    writeTemporary(disk, temporary, replacement);
    beforeRename();
    disk.renameSync(temporary, replacement.target);
  } catch (error) {
    discard(disk, temporary);
    throw storageFailure(error, { shown: replacement.shown, doing: "written" });
  }
}

function writeTemporary(disk: DiskCalls, path: string, { content, modified, flush = true }: Replacement): void {
  const descriptor = disk.openSync(path, "wx", FILE_MODE);
  try {
    writeWhole(disk, descriptor, content);
    if (modified) disk.utimesSync(path, modified, modified);
    if (flush) disk.fsyncSync(descriptor);
  } finally {
    disk.closeSync(descriptor);
  }
}

function discard(disk: DiskCalls, temporary: string): void {
  try {
    disk.unlinkSync(temporary);
  } catch {
    // It was never made, or the next start sweeps it; the failure that led here is the one to report.
  }
}
