// Replacing a file whole: a temporary is written and flushed in another folder of the same disk, then put in place by a
// rename, so that a reader sees the old content or the new and nothing between. The library makes the temporary and flushes
// it; the rename into place is ours, since the lock has to be asked once more right before it, a disk that fills up may take
// a part without an error, and the folder of the target is one whose files are listed.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { type DiskCalls, ensurePrivateDirectory, FILE_MODE, NODE_DISK, storageFailure } from "./disk.ts";

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
  writeFileAtomic.sync(path, content, { mode: FILE_MODE, fsync: flush });
  const written = disk.lstatSync(path).size;
  if (written !== content.length)
    throw new Error(`only ${written} of ${content.length} bytes could be written (is the disk full?)`);
  if (modified) disk.utimesSync(path, modified, modified);
}

function discard(disk: DiskCalls, temporary: string): void {
  try {
    disk.unlinkSync(temporary);
  } catch {
    // It was never made, or the next start sweeps it; the failure that led here is the one to report.
  }
}
