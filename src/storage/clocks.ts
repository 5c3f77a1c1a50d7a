// What can be said of ages when clocks jump, differ between machines, or are wrong. The time of a process may be any; a
// disk gives the times of its files by one clock; and how long something has been watched is known whatever clocks say.
import { DIRECTORY_MODE, type DiskCalls } from "./disk.ts";

/** Milliseconds since some moment of this process; it never jumps. */
export function steadyMs(): number {
  return performance.now();
}

/** The time of the disk that a folder lies on, in milliseconds since 1970. `probe` is a path in it that is free. */
export function diskNowMs(disk: DiskCalls, probe: string): number {
  disk.mkdirSync(probe, { mode: DIRECTORY_MODE });
  try {
    return disk.lstatSync(probe).mtimeMs;
  } finally {
    try {
      disk.rmdirSync(probe);
    } catch {
      // Somebody has swept it; one that stays is swept later.
    }
  }
}

/** What tells one state of a lock on the disk from another. */
export interface LockStats {
  readonly ino: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** A lock as one waiter sees it: who keeps a lock changes it again and again, so one that stays the same is a dead one's. */
export class LockWatch {
  readonly #staleMs: number;
  #seen: LockStats | undefined;
  #sinceMs = 0;

  constructor(staleMs: number) {
    this.#staleMs = staleMs;
  }

  /** Takes a look; true when the lock has been the same for longer than the stale time. */
  hasStayed({ ino, mtimeMs, ctimeMs }: LockStats): boolean {
    if (!this.isSeen({ ino, mtimeMs, ctimeMs })) {
      this.#seen = { ino, mtimeMs, ctimeMs };
      this.#sinceMs = steadyMs();
    }
    return steadyMs() - this.#sinceMs > this.#staleMs;
  }

  /** Whether this is the state that was seen last. */
  isSeen({ ino, mtimeMs, ctimeMs }: LockStats): boolean {
    const seen = this.#seen;
    return seen?.ino === ino && seen.mtimeMs === mtimeMs && seen.ctimeMs === ctimeMs;
  }
}
