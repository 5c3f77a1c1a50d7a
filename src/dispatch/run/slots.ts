// A limit on concurrent work that all dispatchers of a root task share, in this process and in others: a note on disk for each
// place that is taken, which a process that is gone holds no longer. Further work waits in order, and may leave the queue.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TokenBudgetError } from "../../errors.ts";
import { makePrivateDirectory, namesAt, removeTree } from "../../storage/blobs.ts";
import type { LockedFiles } from "../../storage/locked-files.ts";
import { readProcessNote, writeProcessNote } from "../../storage/process-note.ts";
import { isRunning, thisProcess } from "../../storage/processes.ts";

/**
 * How often a waiting task looks whether another dispatcher has given a place back; places of this one are known at once. It is
 * no watch on the folder: a process that was killed removes no note, so somebody has to look anyway.
 */
const LOOK_MS = 500;
const LOCK = { name: "slots", shown: "The places of running tasks" };

export interface SlotParts {
  /** Absolute; for the notes alone. */
  readonly directory: string;
  readonly files: LockedFiles;
  readonly max: () => number;
}

export class Slots {
  readonly #parts: SlotParts;
  /** Resolved when the work that came before has a place, or has left. */
  #turn: Promise<void> = Promise.resolve();
  #given = new AbortController();

  constructor(parts: SlotParts) {
    this.#parts = parts;
  }

  get isFull(): boolean {
    const { directory, max } = this.#parts;
    return namesAt(directory).length >= max();
  }

  /** Runs `work` when a place is free; rejects with the signal's reason when that aborts first. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const place = await this.#enter(signal);
    try {
      return await work();
    } finally {
      removeTree(place);
      this.#given.abort();
      this.#given = new AbortController();
    }
  }

  async #enter(signal: AbortSignal): Promise<string> {
    const before = this.#turn;
    let pass = () => {};
    const passed = new Promise<void>((resolve) => {
      pass = resolve;
    });
    this.#turn = before.then(() => passed);
    try {
      await unlessAborted(before, signal);
      for (;;) {
        signal.throwIfAborted();
        const place = await this.#take();
        if (place !== undefined) return place;
        await delay(LOOK_MS, undefined, { signal: AbortSignal.any([signal, this.#given.signal]) }).catch(
          () => undefined,
        );
      }
    } finally {
      pass();
    }
  }

  /** A place of one's own; undefined when there is none, or when others have kept the lock all the while: not yet. */
  async #take(): Promise<string | undefined> {
    try {
      return await this.#takeLocked();
    } catch (error) {
      if (error instanceof TokenBudgetError && error.code === "lock_unavailable") return undefined;
      throw error;
    }
  }

  #takeLocked(): Promise<string | undefined> {
    const { directory, files, max } = this.#parts;
    return files.hold(LOCK, () => {
      makePrivateDirectory(directory);
      if (this.#taken() >= max()) return undefined;
      const place = join(directory, randomUUID());
      writeProcessNote(place, thisProcess());
      return place;
    });
  }

  /** Places whose process still runs; what others have left is removed. Under the lock: notes are whole there. */
  #taken(): number {
    const { directory } = this.#parts;
    let taken = 0;
    for (const name of namesAt(directory)) {
      if (isTaken(join(directory, name))) taken++;
      else removeTree(join(directory, name));
    }
    return taken;
  }
}

/** A note that cannot be read may be that of a task that runs. */
function isTaken(place: string): boolean {
  try {
    const owner = readProcessNote(place);
    return owner !== undefined && isRunning(owner);
  } catch {
    return true;
  }
}

async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop = () => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
  });
  signal.addEventListener("abort", stop, { once: true });
  try {
    await Promise.race([promise, stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
    stopped.catch(() => undefined);
  }
}
