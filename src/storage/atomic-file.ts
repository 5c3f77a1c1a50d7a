// Replacing a file whole: a temporary is written and flushed in another folder of the same disk, then put in place by a
// rename, so that a reader sees the old content or the new and nothing between. The library makes the temporary and flushes
// it; the rename into place is ours, since the lock has to be asked once more right before it, a disk that fills up may take
// a part without an error, and the folder of the target is one whose files are listed.
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { changeFolder, type DiskCalls, ensurePrivateDirectory, FILE_MODE, NODE_DISK, storageFailure } from "./disk.ts";
import { insist } from "./stale-locks.ts";

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
  const { target, flush = true } = replacement;
  const temporary = join(directory, `${prefix}.${randomUUID()}`);
  try {
    ensurePrivateDirectory(disk, directory);
    const inode = writeTemporary(disk, temporary, replacement);
    const commit = () => {
      beforeRename();
      putInPlace(disk, { temporary, inode, target });
    };
    if (flush) changeFolder(disk, dirname(target), commit);
    else commit();
  } catch (error) {
    discard(disk, temporary);
    throw storageFailure(error, { shown: replacement.shown, doing: "written" });
  }
}

/** Some disks report a failure of what they have done: network folders, when an answer is lost. */
function putInPlace(
  disk: DiskCalls,
  { temporary, inode, target }: { readonly temporary: string; readonly inode: number; readonly target: string },
): void {
  try {
    disk.renameSync(temporary, target);
  } catch (error) {
    if (!isAt(disk, target, inode) || isAt(disk, temporary, inode)) throw error;
  }
}

function isAt(disk: DiskCalls, path: string, inode: number): boolean {
  try {
    return insist(() => disk.lstatSync(path)).ino === inode;
  } catch {
    return false;
  }
}

/** Answers which file it is. */
function writeTemporary(disk: DiskCalls, path: string, { content, modified, flush = true }: Replacement): number {
  writeFileAtomic.sync(path, content, { mode: FILE_MODE, fsync: flush });
  const { size: written, ino } = disk.lstatSync(path);
  if (written !== content.length)
    throw new Error(`only ${written} of ${content.length} bytes could be written (is the disk full?)`);
  if (modified) disk.utimesSync(path, modified, modified);
  return ino;
}

function discard(disk: DiskCalls, temporary: string): void {
  try {
    disk.unlinkSync(temporary);
  } catch {
    // It was never made, or the next start sweeps it; the failure that led here is the one to report.
  }
}
