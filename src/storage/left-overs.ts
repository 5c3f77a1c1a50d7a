// What killed processes leave beside files that are changed under locks: temporaries and locks.
import { join } from "node:path";
import { codeOf, type DiskCalls, NODE_DISK } from "./disk.ts";
import { isLockName, reclaimStaleLock } from "./lock-calls.ts";
import { lockDirectoryNowMs } from "./stale-locks.ts";

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
 * Removes what killed processes left behind: temporaries without a live lock whose time is further from now than the stale
 * time, and stale locks. What is young by the disk's clock stays.
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
