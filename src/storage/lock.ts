// Cross-process locks around short pieces of work, all in one directory. A lock is never held across anything slow, a
// lost lock never ends the process, and its holder learns of the loss before it commits.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, TokenBudgetError } from "../errors.ts";
import { LockWatch, steadyMs } from "./clocks.ts";
import { codeOf, type DiskCalls, ensurePrivateDirectory, NODE_DISK } from "./disk.ts";
import { LockCalls } from "./lock-calls.ts";

/** A lock that was not kept fresh for this long belongs to a dead process and is reclaimed. */
export const STALE_LOCK_MS = 10_000;
/** How long a call waits for its lock: longer than the stale time, so that it outlives a dead holder. */
export const LOCK_WAIT_MS = 20_000;

/** A holder stops trusting its lock this share of the stale time before others may reclaim it. */
const TRUST_SHARE = 0.8;
/** A waiter asks for a turn after this long: otherwise a process that writes again and again keeps the lock to itself. */
const PATIENCE_MS = 250;
/** How long a holder keeps taking the lock before it heeds that: the lock is idle whenever it changes hands. */
const BURST_MS = 20;
/** How long a holder that was asked leaves the lock alone: every waiter looks at least once in that time. */
const TURN_MS = 60;
/** How often the waiter whose request is heeded next looks, so that the lock is not idle for long. */
const NEXT_DELAY_MS = 1;
/** A waiter that was not let in by then is one of the others again. */
const NEXT_MAX_MS = 200;
// Delays between tries grow and are random: at these values a full wait makes a few hundred tries.
const FIRST_DELAY_MS = 2;
const LONGEST_DELAY_MS = 50;
const DELAY_GROWTH = 1.5;

/** Windows answers with these for a directory that is being removed. */
const PASSING_CODES: ReadonlySet<string | undefined> = new Set(process.platform === "win32" ? ["EPERM", "EBUSY"] : []);

export interface LockOptions {
  readonly staleMs?: number | undefined;
  readonly waitMs?: number | undefined;
  readonly disk?: DiskCalls | undefined;
}

export interface LockRequest {
  /** File name of the lock in its directory. */
  readonly name: string;
  /** What it covers, as an error names it: the subject of a sentence. */
  readonly shown: string;
}

/** A lock while it is held. */
export interface HeldLock {
  /** Whether this process still holds the lock. Looks at the disk. */
  isOwned(): boolean;
  /** Throws `lock_lost` when it does not: call it right before a commit. */
  assertOwned(): void;
}

interface Acquired {
  readonly held: HeldLock;
  release(): Promise<void>;
}

type LockLibrary = typeof import("proper-lockfile");

/** Who waits for a lock: it grows impatient, asks for a turn, and looks often while it is the next one. */
class Waiter {
  readonly #calls: LockCalls;
  readonly #path: string;
  readonly #sinceMs = steadyMs();
  #nextUntilMs = 0;

  constructor(calls: LockCalls, path: string) {
    this.#calls = calls;
    this.#path = path;
  }

  /** How long to wait for the next look. */
  delayMs(attempt: number): number {
    const nowMs = steadyMs();
    const asks = nowMs >= this.#sinceMs + PATIENCE_MS && nowMs >= this.#nextUntilMs;
    if (asks && this.#calls.askForTurn(this.#path)) this.#nextUntilMs = nowMs + NEXT_MAX_MS;
    if (nowMs < this.#nextUntilMs) return NEXT_DELAY_MS;
    return 1 + Math.random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * DELAY_GROWTH ** attempt);
  }

  /** The wait is over: a request that nobody has heeded is taken back. */
  end(): void {
    if (this.#nextUntilMs > 0) this.#calls.takeRequest(this.#path);
  }
}

/** The locks of one directory. Calls for the same lock queue in memory before they go to the disk. */
export class LockDirectory {
  readonly directory: string;
  readonly staleMs: number;
  readonly #waitMs: number;
  readonly #disk: DiskCalls;
  readonly #calls: LockCalls;
  readonly #tails = new Map<string, Promise<void>>();
  /** Until when each lock, by its name, is left to others (steady clock). */
  readonly #leftUntilMs = new Map<string, number>();
  /**
   * When its share of each lock, by its name, began (steady clock): when it last had to wait for it, or first took it after it
   * had left it to others. It may have been idle since.
   */
  readonly #burstSinceMs = new Map<string, number>();
  #library: Promise<LockLibrary> | undefined;

  constructor(directory: string, options: LockOptions = {}) {
    this.directory = directory;
    this.staleMs = options.staleMs ?? STALE_LOCK_MS;
    this.#waitMs = options.waitMs ?? LOCK_WAIT_MS;
    this.#disk = options.disk ?? NODE_DISK;
    this.#calls = new LockCalls(this.#disk, this.staleMs);
  }

  /** Runs `work` while holding the lock, and releases it whatever `work` throws. */
  async withLock<T>(request: LockRequest, work: (held: HeldLock) => T | Promise<T>): Promise<T> {
    const deadlineMs = steadyMs() + this.#waitMs;
    return this.#inTurn(request.name, async () => {
      const { held, release } = await this.#acquire(request, deadlineMs);
      try {
        return await work(held);
      } finally {
        await release();
      }
    });
  }

  async #inTurn<T>(name: string, job: () => Promise<T>): Promise<T> {
    const result = (this.#tails.get(name) ?? Promise.resolve()).then(job);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(name, tail);
    try {
      return await result;
    } finally {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    }
  }

  async #acquire(request: LockRequest, deadlineMs: number): Promise<Acquired> {
    const path = join(this.directory, request.name);
    await this.#leaveToOthers(request.name);
    const waiter = new Waiter(this.#calls, path);
    try {
      return await this.#waitFor(request, path, deadlineMs, waiter);
    } finally {
      waiter.end();
    }
  }

  async #waitFor(request: LockRequest, path: string, deadlineMs: number, waiter: Waiter): Promise<Acquired> {
    const watch = new LockWatch(this.staleMs);
    for (let attempt = 0; ; attempt++) {
      let cause: unknown;
      try {
        if (!this.#calls.looksHeld(path, watch)) {
          const acquired = await this.#tryOnce(request, path);
          if (attempt > 0 || !this.#burstSinceMs.has(request.name)) this.#burstSinceMs.set(request.name, steadyMs());
          return acquired;
        }
      } catch (error) {
        const code = codeOf(error);
        if (code !== "ELOCKED" && !PASSING_CODES.has(code)) throw this.#unavailable(request, messageOf(error), error);
        cause = error;
      }
      if (steadyMs() >= deadlineMs) {
        throw this.#unavailable(request, `another process held it for ${this.#waitMs / 1000} s`, cause);
      }
      await sleep(waiter.delayMs(attempt));
    }
  }

  /** Leaves the lock to who asked for it, once this process has had its share. */
  #handOver(name: string, path: string): void {
    const nowMs = steadyMs();
    if (nowMs - (this.#burstSinceMs.get(name) ?? 0) < BURST_MS || !this.#calls.takeRequest(path)) return;
    this.#burstSinceMs.delete(name);
    this.#leftUntilMs.set(name, nowMs + TURN_MS);
  }

  async #leaveToOthers(name: string): Promise<void> {
    const restMs = (this.#leftUntilMs.get(name) ?? 0) - steadyMs();
    this.#leftUntilMs.delete(name);
    if (restMs > 0) await sleep(restMs);
  }

  async #tryOnce(request: LockRequest, path: string): Promise<Acquired> {
    ensurePrivateDirectory(this.#disk, this.directory);
    // Imported with the first write: it costs about 12 ms of start-up.
    this.#library ??= import("proper-lockfile").then((module) => module.default);
    const library = await this.#library;
    let compromised = false;
    // The library keeps its locks by the first path: a name of its own keeps two holders in one process apart.
    const libraryRelease = await library.lock(join(path, randomUUID()), {
      lockfilePath: path,
      realpath: false,
      stale: this.staleMs,
      retries: 0,
      fs: this.#calls,
      onCompromised: () => {
        compromised = true;
      },
    });
    const isOwned = () => {
      if (compromised) return false;
      const ageMs = this.#calls.ageMs(path);
      return ageMs !== undefined && ageMs < this.staleMs * TRUST_SHARE;
    };
    const assertOwned = () => {
      let isStillOwned: boolean;
      try {
        isStillOwned = isOwned();
      } catch (error) {
        throw this.#unavailable(request, messageOf(error), error);
      }
      if (!isStillOwned) throw lockLost(request);
    };
    const release = async () => {
      try {
        await libraryRelease();
      } catch {
        // The work is done and its outcome known; a lock that could not be removed is reclaimed when it is stale.
      }
      this.#handOver(request.name, path);
      // The library forgets a compromised lock, so it is released here.
      if (compromised) this.#giveBack(path);
    };
    return { held: { isOwned, assertOwned }, release };
  }

  #giveBack(path: string): void {
    try {
      this.#calls.rmdirSync(path);
    } catch {
      // As above: it is reclaimed when it is stale.
    }
  }

  #unavailable(request: LockRequest, reason: string, cause: unknown): TokenBudgetError {
    const message = `${request.shown} could not be locked: ${reason}. Nothing was changed. Repeat the call in a moment.`;
    return new TokenBudgetError("lock_unavailable", message, { cause });
  }
}

function lockLost(request: LockRequest): TokenBudgetError {
  const message =
    `${request.shown} was not changed: this process was held up and lost its lock to another one. ` +
    "Read what is there now, then repeat the call.";
  return new TokenBudgetError("lock_lost", message);
}
