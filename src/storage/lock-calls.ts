// The file system as proper-lockfile sees it: the same calls, with two gaps closed. The library removes a lock it
// found stale without looking again, so two waiters can both "reclaim" it and the second takes the fresh lock of the
// first; and it removes a lock on release or exit even when that lock was taken over meanwhile. Here a directory is
// only ever removed by its owner, or while it is provably stale.
import type { Stats } from "node:fs";
import type { LockWatch } from "./clocks.ts";
import { codeOf, DIRECTORY_MODE, type DiskCalls } from "./disk.ts";
import { insist, insistGone, isGuardName, reclaimStale, statsOf } from "./stale-locks.ts";

/** A lock's directory as this process made it. */
interface Mark {
  readonly inode: number;
  modifiedMs: number;
  /** When this process last made it look fresh, taken before the call (milliseconds since 1970). */
  freshAtMs: number;
}

type Callback<T = void> = (error: unknown, value?: T) => void;

/** Exists beside a lock while a process has waited long for it. */
const WAITING_SUFFIX = ".waiting";

/** Whether the name in a lock directory is that of a lock itself. */
export function isLockName(name: string): boolean {
  return !isGuardName(name) && !name.endsWith(WAITING_SUFFIX);
}

/** Removes it if it is there, and if `condition` holds right before. */
function removeDirectory(disk: DiskCalls, path: string, condition: () => boolean = () => true): void {
  insistGone(() => condition() && disk.rmdirSync(path));
}

/** As `reclaimStale`, of a lock that is a directory and is kept fresh by its time. */
export function reclaimStaleLock(disk: DiskCalls, path: string, staleMs: number, watch?: LockWatch): boolean {
  const remove = () => disk.rmdirSync(path);
  return reclaimStale({ disk, path, staleMs, freshMs: ({ mtimeMs }) => mtimeMs, remove }, watch);
}

/** What proper-lockfile gets as its `fs`. Every call is done at once, which leaves no time between its steps. */
export class LockCalls {
  readonly #disk: DiskCalls;
  readonly #staleMs: number;
  readonly #marks = new Map<string, Mark>();

  constructor(disk: DiskCalls, staleMs: number) {
    this.#disk = disk;
    this.#staleMs = staleMs;
  }

  /** Whether the lock is held and kept fresh. One cheap look: waiters ask often, and the answer is mostly yes. */
  looksHeld(path: string, watch: LockWatch): boolean {
    const stats = statsOf(this.#disk, path);
    if (stats === undefined) return false;
    if (watch.hasStayed(stats)) return !reclaimStaleLock(this.#disk, path, this.#staleMs, watch);
    return Date.now() - stats.mtimeMs <= this.#staleMs;
  }

  mkdir(path: string, done: Callback): void {
    const freshAtMs = Date.now();
    this.#call(done, () => {
      this.#disk.mkdirSync(path, { mode: DIRECTORY_MODE });
      try {
        const { ino, mtimeMs } = this.#disk.lstatSync(path);
        this.#marks.set(path, { inode: ino, modifiedMs: mtimeMs, freshAtMs });
      } catch (error) {
        removeDirectory(this.#disk, path);
        throw error;
      }
    });
  }

  stat(path: string, done: Callback<Stats>): void {
    this.#call(done, () => this.#disk.lstatSync(path));
  }

  utimes(path: string, accessed: Date, modified: Date, done: Callback): void {
    const freshAtMs = Date.now();
    this.#call(done, () => {
      const mark = this.#marks.get(path);
      if (mark === undefined || !this.#isMarked(path, mark)) {
        throw Object.assign(new Error(`the lock ${path} was taken over`), { code: "ENOENT" });
      }
      this.#disk.utimesSync(path, accessed, modified);
      mark.modifiedMs = insist(() => this.#disk.lstatSync(path)).mtimeMs;
      mark.freshAtMs = freshAtMs;
    });
  }

  rmdir(path: string, done: Callback): void {
    this.#call(done, () => {
      if (this.#marks.has(path)) this.rmdirSync(path);
      else if (!reclaimStaleLock(this.#disk, path, this.#staleMs)) {
        throw Object.assign(new Error(`the lock ${path} is held`), { code: "ELOCKED" });
      }
    });
  }

  /** Releases a lock of this process, also when the process ends; one that was taken over stays. */
  rmdirSync(path: string): void {
    const mark = this.#marks.get(path);
    this.#marks.delete(path);
    if (mark) removeDirectory(this.#disk, path, () => this.#isMarked(path, mark));
  }

  /** Asks the holder to let others have the lock next. False when another waiter has asked, or the disk fails. */
  askForTurn(path: string): boolean {
    try {
      this.#disk.mkdirSync(path + WAITING_SUFFIX, { mode: DIRECTORY_MODE });
      return true;
    } catch {
      // Keep waiting either way.
      return false;
    }
  }

  /** Whether a waiter has asked for the lock; removes the request. */
  takeRequest(path: string): boolean {
    const marker = path + WAITING_SUFFIX;
    try {
      if (this.#disk.lstatSync(marker, { throwIfNoEntry: false }) === undefined) return false;
      this.#disk.rmdirSync(marker);
      return true;
    } catch {
      return false;
    }
  }

  /** Milliseconds since this process last made its lock fresh; undefined when the lock is not ours on the disk. */
  ageMs(path: string): number | undefined {
    const mark = this.#marks.get(path);
    return mark && this.#isMarked(path, mark) ? Date.now() - mark.freshAtMs : undefined;
  }

  #isMarked(path: string, mark: Mark): boolean {
    try {
      const { ino, mtimeMs } = this.#disk.lstatSync(path);
      return ino === mark.inode && mtimeMs === mark.modifiedMs;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return false;
      throw error;
    }
  }

  #call<T>(done: Callback<T>, work: () => T): void {
    let value: T;
    try {
      value = work();
    } catch (error) {
      done(error);
      return;
    }
    done(null, value);
  }
}
