// What all locks on the disk have in common: a stale one is removed by one process at a time, under a guard directory beside
// it, and looked at again under the guard. A lock that may still be held must never be removed.
import { randomUUID } from "node:crypto";
import type { Stats } from "node:fs";
import { diskNowMs, type LockWatch } from "./clocks.ts";
import { codeOf, DIRECTORY_MODE, type DiskCalls } from "./disk.ts";

/** A passing failure must not leave a lock that blocks all others for the stale time. */
const TRIES = 3;

const RECLAIM_SUFFIX = ".reclaim";

export function isGuardName(name: string): boolean {
  return name.endsWith(RECLAIM_SUFFIX);
}

export function insist<T>(call: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return call();
    } catch (error) {
      if (tries === TRIES || codeOf(error) === "ENOENT") throw error;
    }
  }
}

/** Insists on a removal; what is gone is removed. */
export function insistGone(remove: () => unknown): void {
  try {
    insist(remove);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

export function statsOf(disk: DiskCalls, path: string): Stats | undefined {
  return disk.lstatSync(path, { throwIfNoEntry: false });
}

/** The disk's time where a lock lies; a probe that a killed process leaves there is swept as any guard is. */
export function lockDirectoryNowMs(disk: DiskCalls, lock: string): number {
  return diskNowMs(disk, `${lock}.${randomUUID()}${RECLAIM_SUFFIX}`);
}

export interface StaleLock {
  readonly disk: DiskCalls;
  readonly path: string;
  readonly staleMs: number;
  /** When it was last kept fresh, by the disk's clock. */
  readonly freshMs: (stats: Stats) => number;
  readonly remove: () => void;
}

/**
 * Removes a stale lock: one that is old by the clock of this process and by that of the disk, or that `watch` has seen
 * unchanged for the stale time, whatever clocks say. False when the lock is in use, or another process is reclaiming it.
 */
export function reclaimStale({ disk, path, staleMs, freshMs, remove }: StaleLock, watch?: LockWatch): boolean {
  const guard = path + RECLAIM_SUFFIX;
  try {
    disk.mkdirSync(guard, { mode: DIRECTORY_MODE });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    removeOldGuard(disk, guard, staleMs);
    return false;
  }
  try {
    const stats = statsOf(disk, path);
    if (stats === undefined) return true;
    const nowMs = Math.min(Date.now(), disk.lstatSync(guard).mtimeMs);
    const isStale = nowMs - freshMs(stats) > staleMs || (watch?.isSeen(stats) && watch.hasStayed(stats)) === true;
    if (isStale) insistGone(remove);
    return isStale;
  } finally {
    insistGone(() => disk.rmdirSync(guard));
  }
}

/** Guards exist for a moment: one with another time than now belongs to a dead process. */
function removeOldGuard(disk: DiskCalls, guard: string, staleMs: number): void {
  const left = statsOf(disk, guard);
  if (left && Math.abs(lockDirectoryNowMs(disk, guard) - left.mtimeMs) > staleMs)
    insistGone(() => disk.rmdirSync(guard));
}

/** Removes guards and probes that killed processes left in a folder. Failing does not matter. */
export function sweepGuards(disk: DiskCalls, directory: string, staleMs: number): void {
  try {
    for (const name of disk.readdirSync(directory))
      if (isGuardName(name)) removeOldGuard(disk, `${directory}/${name}`, staleMs);
  } catch {
    // There is no such folder yet, or the next session sweeps it.
  }
}
