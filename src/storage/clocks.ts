// How old something is when clocks jump, differ between machines, or are wrong. The clock of a process cannot be trusted; a
// disk stamps all its files by one clock; and how long this process has watched something is always known.
import { DIRECTORY_MODE, type DiskCalls } from "./disk.ts";

/** Milliseconds since this process started; it never jumps. */
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
      // Another process swept it, or will.
    }
  }
}

/** What changes whenever a lock is made or kept fresh. */
export interface LockStats {
  readonly ino: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** A lock as one waiter sees it: a living holder keeps changing it, so one that stays the same belongs to a dead process. */
export class LockWatch {
  readonly #staleMs: number;
  #seen: LockStats | undefined;
  #sinceMs = 0;

  constructor(staleMs: number) {
    this.#staleMs = staleMs;
  }

  /** Notes the state; true when the lock has been the same for longer than the stale time. */
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
