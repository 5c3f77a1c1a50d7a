// One writer of an append-only log at a time. The lock is a second name (a hard link) of the log itself: that costs a
// tenth of a lock directory, needs no timer, and every write of its holder keeps it fresh. It must never be held across
// an `await`: the work under it is one synchronous stretch.
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, TokenBudgetError } from "../errors.ts";
import { LockWatch, steadyMs } from "../storage/clocks.ts";
import { codeOf, type DiskCalls, ensurePrivateDirectory, FILE_MODE, flushFolder, NODE_DISK } from "../storage/disk.ts";
import { LOCK_WAIT_MS, STALE_LOCK_MS } from "../storage/lock.ts";
import { insistGone, reclaimStale, statsOf, sweepGuards } from "../storage/stale-locks.ts";

/** A holder stops trusting its lock this share of the stale time before others may reclaim it. */
const TRUST_SHARE = 0.8;
const FIRST_DELAY_MS = 1;
const LONGEST_DELAY_MS = 50;
const DELAY_GROWTH = 1.5;
/** The log is there after so many tries to make it. */
const TRIES = 3;

/** File systems without hard links answer with these; a file of its own is the lock there. */
const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
]);

export interface LogLockOptions {
  /** Absolute path of the log; the lock lies beside it. */
  readonly file: string;
  /** The log as an error names it: the subject of a sentence. */
  readonly shown: string;
  readonly staleMs?: number | undefined;
  readonly waitMs?: number | undefined;
  readonly disk?: DiskCalls | undefined;
}

/** The lock while it is held. */
export interface HeldLogLock {
  /** Throws `lock_lost` when it was held so long that others may have taken it: to be called right before a write. */
  assertOwned(): void;
}

/** The failure of a holder that can no longer be sure of its lock. */
export function heldUp({ shown }: { readonly shown: string }): TokenBudgetError {
  return new TokenBudgetError(
    "lock_lost",
    `${shown} was not changed: this process was held up and may have lost its lock to another one. Repeat the call.`,
  );
}

/**
 * How long ago it was made, by the clock that says more: one of them stops while a machine sleeps, and the other one may be
 * set back.
 */
function stopwatch(): () => number {
  const [steady, wall] = [steadyMs(), Date.now()];
  return () => Math.max(steadyMs() - steady, Date.now() - wall);
}

export class LogLock {
  readonly path: string;
  readonly #file: string;
  readonly #shown: string;
  readonly #staleMs: number;
  readonly #waitMs: number;
  readonly #disk: DiskCalls;

  constructor(options: LogLockOptions) {
    this.#file = options.file;
    this.path = `${options.file}.lock`;
    this.#shown = options.shown;
    this.#staleMs = options.staleMs ?? STALE_LOCK_MS;
    this.#waitMs = options.waitMs ?? LOCK_WAIT_MS;
    this.#disk = options.disk ?? NODE_DISK;
  }

  /** Runs `work` under the lock, in one go; the log exists then, if only as an empty file. */
  async run<T>(work: (held: HeldLogLock) => T): Promise<T> {
    const deadlineMs = steadyMs() + this.#waitMs;
    const watch = new LockWatch(this.#staleMs);
    for (let attempt = 0; ; attempt++) {
      const elapsedMs = stopwatch();
      if (this.#tryAcquire(watch)) return this.#runHeld(work, elapsedMs);
      if (steadyMs() >= deadlineMs) throw this.#unavailable(`another process held it for ${this.#waitMs / 1000} s`);
      await sleep(1 + Math.random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * DELAY_GROWTH ** attempt));
    }
  }

  /** As `run`, but gives up at once when the lock is held: undefined then. */
  tryRun<T>(work: (held: HeldLogLock) => T): T | undefined {
    const elapsedMs = stopwatch();
    return this.#tryAcquire() ? this.#runHeld(work, elapsedMs) : undefined;
  }

  #runHeld<T>(work: (held: HeldLogLock) => T, elapsedMs: () => number): T {
    const isOwned = () => elapsedMs() < this.#staleMs * TRUST_SHARE;
    const assertOwned = () => {
      if (!isOwned()) throw heldUp({ shown: this.#shown });
    };
    try {
      return work({ assertOwned });
    } finally {
      // Held for too long it may have been taken over; left behind, it is reclaimed when it is stale.
      if (isOwned()) this.#release();
    }
  }

  #release(): void {
    try {
      insistGone(() => this.#disk.unlinkSync(this.path));
    } catch {
      // The work is done and its outcome known; a lock that could not be removed is reclaimed when it is stale.
    }
  }

  #tryAcquire(watch?: LockWatch): boolean {
    try {
      if (this.#link()) return true;
      return this.#reclaimStale(watch) && this.#link();
    } catch (error) {
      throw this.#unavailable(messageOf(error), error);
    }
  }

  /** False when the lock is held. */
  #link(): boolean {
    for (let tries = 1; ; tries++) {
      try {
        this.#disk.linkSync(this.#file, this.path);
        return true;
      } catch (error) {
        const code = codeOf(error);
        if (code === "EEXIST") return false;
        if (NO_LINKS.has(code)) return this.#create(this.path);
        if (code !== "ENOENT" || tries === TRIES) throw error;
        this.#makeLog();
      }
    }
  }

  /** Removes what killed processes left beside the log. */
  sweep(): void {
    sweepGuards(this.#disk, dirname(this.#file), this.#staleMs);
  }

  #makeLog(): void {
    const folder = dirname(this.#file);
    ensurePrivateDirectory(this.#disk, folder);
    this.#create(this.#file);
    // What is flushed into it is to be found.
    flushFolder(this.#disk, folder);
  }

  /** False when it is there already. */
  #create(path: string): boolean {
    let descriptor: number;
    try {
      descriptor = this.#disk.openSync(path, "wx", FILE_MODE);
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    }
    this.#disk.closeSync(descriptor);
    return true;
  }

  /** As a name of the log's it has the log's time: every write makes it fresh. */
  #reclaimStale(watch: LockWatch | undefined): boolean {
    const [disk, path, staleMs] = [this.#disk, this.path, this.#staleMs];
    const seen = statsOf(disk, path);
    if (seen === undefined) return true;
    const hasStayed = watch?.hasStayed(seen) ?? false;
    if (!hasStayed && Date.now() - seen.ctimeMs <= staleMs) return false;
    const remove = () => disk.unlinkSync(path);
    return reclaimStale({ disk, path, staleMs, freshMs: ({ ctimeMs }) => ctimeMs, remove }, watch);
  }

  #unavailable(reason: string, cause?: unknown): TokenBudgetError {
    const message = `${this.#shown} could not be locked: ${reason}. Nothing was changed. Repeat the call in a moment.`;
    return new TokenBudgetError("lock_unavailable", message, { cause });
  }
}
