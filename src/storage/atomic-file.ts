// Replacing a file whole: a temporary is written and flushed in another folder of the same disk, then put in place by one
// rename, so that a reader sees the old content or the new and nothing between. The libraries for this put their temporary
// beside the target and cannot ask whether the lock is still held before they rename; a second rename was the price.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { codeOf, type DiskCalls, ensurePrivateDirectory, FILE_MODE, NODE_DISK, storageFailure } from "./disk.ts";
import { isLockName, reclaimStaleLock } from "./lock-calls.ts";
import { lockDirectoryNowMs } from "./lock-guard.ts";

export interface Commit {
  /** Absolute path of the file to put in place; its directory exists. */
  readonly target: string;
  readonly content: Buffer;
  /** The lock this happens under; left-overs of that lock's dead holders carry its name. */
  readonly lockName: string;
  /** The file as an error names it: the subject of a sentence. */
  readonly shown: string;
  /** Called right before the rename; throws when the commit may not happen. */
  readonly beforeRename: () => void;
  /** The file's time of update; default: now. */
  readonly modified?: Date;
  /** False for what may be lost in a power cut: it is not flushed. */
  readonly flush?: boolean;
}

/** Commits files through one directory for temporaries, which lies on the same file system as the targets. */
export class AtomicFiles {
  readonly temporaryDirectory: string;
  readonly #disk: DiskCalls;

  constructor(temporaryDirectory: string, disk: DiskCalls = NODE_DISK) {
    this.temporaryDirectory = temporaryDirectory;
    this.#disk = disk;
  }

  commit(commit: Commit): void {
    const temporary = join(this.temporaryDirectory, `${commit.lockName}.${randomUUID()}`);
    try {
      ensurePrivateDirectory(this.#disk, this.temporaryDirectory);
      this.#fill(temporary, commit);
      commit.beforeRename();
      this.#disk.renameSync(temporary, commit.target);
    } catch (error) {
      discard(this.#disk, temporary);
      throw storageFailure(error, { shown: commit.shown, doing: "written" });
    }
  }

  #fill(temporary: string, { content, modified, flush = true }: Commit): void {
    const disk = this.#disk;
    const descriptor = disk.openSync(temporary, "wx", FILE_MODE);
    try {
      writeWhole(disk, descriptor, content);
      if (modified) disk.utimesSync(temporary, modified, modified);
      if (flush) disk.fsyncSync(descriptor);
    } finally {
      disk.closeSync(descriptor);
    }
  }
}

function discard(disk: DiskCalls, temporary: string): void {
  try {
    disk.unlinkSync(temporary);
  } catch {
    // It was never made, or the next start sweeps it; the failure that led here is the one to report.
  }
}

export interface Sweep {
  /** Left-overs removed. */
  readonly removed: number;
  /** Left-overs, or whole directories, that could not be removed or looked at, with the reason. */
  readonly failed: readonly string[];
}

export interface SweepPlaces {
  readonly temporaryDirectory: string;
  readonly lockDirectory: string;
  readonly staleMs: number;
}

/**
 * Removes what killed processes left behind: temporaries older than the stale time, or of a time that is yet to come, under
 * no live lock; stale locks. Nothing is old that is young by the disk's clock.
 */
export function sweepLeftOvers(places: SweepPlaces, disk: DiskCalls = NODE_DISK): Sweep {
  const { temporaryDirectory, lockDirectory, staleMs } = places;
  const failed: string[] = [];
  let removed = 0;
  const modifiedMs = (path: string) => disk.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs;
  const ageMs = (path: string): number | undefined => {
    const modified = modifiedMs(path);
    return modified === undefined ? undefined : Date.now() - modified;
  };
  /** Asked only of what does not look young: it costs three calls. */
  const isYoungOnDisk = (path: string): boolean => {
    try {
      const nowMs = lockDirectoryNowMs(disk, join(lockDirectory, "clock"));
      return Math.abs(nowMs - (modifiedMs(path) ?? nowMs)) <= staleMs;
    } catch {
      // Then this process's clock is all there is.
      return false;
    }
  };
  const eachIn = (directory: string, remove: (name: string, path: string) => boolean) => {
    for (const name of namesIn(disk, directory, failed)) {
      const path = join(directory, name);
      try {
        if (remove(name, path)) removed++;
      } catch (error) {
        if (codeOf(error) !== "ENOENT") failed.push(`${path}: ${codeOf(error) ?? "unknown error"}`);
      }
    }
  };
  // Temporaries first: a stale lock still says whose they are.
  eachIn(temporaryDirectory, (name, path) => {
    const [lockName = name] = name.split(".");
    const lockAgeMs = ageMs(join(lockDirectory, lockName));
    const isYoung = Math.abs(ageMs(path) ?? 0) <= staleMs;
    if (isYoung || (lockAgeMs !== undefined && lockAgeMs <= staleMs) || isYoungOnDisk(path)) return false;
    disk.unlinkSync(path);
    return true;
  });
  eachIn(lockDirectory, (name, path) => {
    if (isLockName(name)) return (ageMs(path) ?? 0) > staleMs && reclaimStaleLock(disk, path, staleMs);
    if (Math.abs(ageMs(path) ?? 0) <= staleMs || isYoungOnDisk(path)) return false;
    disk.rmdirSync(path);
    return true;
  });
  return { removed, failed };
}

function namesIn(disk: DiskCalls, directory: string, failed: string[]): string[] {
  try {
    return disk.readdirSync(directory);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") failed.push(`${directory}: ${codeOf(error) ?? "unknown error"}`);
    return [];
  }
}
