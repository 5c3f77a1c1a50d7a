// The path from an entry back to its root. Session files are not validated: a parent may be missing, be no id, or lead back
// to an entry that was passed already. Then the path ends there. Every walk over parents goes through here. Pure.
import type { EntrySource, LogEntry } from "../host/entries.ts";

/**
 * Entries from `from` back to the root, each read once. It stops before an entry that the caller knows already, and then
 * returns that one's id; otherwise it returns null.
 */
export function* ancestry(
  source: EntrySource,
  from: unknown,
  isKnown: (id: string) => boolean = () => false,
): Generator<LogEntry, string | null> {
  const passed = new Set<string>();
  for (let id = from, steps = 1; typeof id === "string"; steps++) {
    if (passed.add(id).size < steps) return null;
    if (isKnown(id)) return id;
    const entry = source.entry(id);
    if (!entry) return null;
    yield entry;
    id = entry.parentId;
  }
  return null;
}

/**
 * The same path as a list, for walks of a hundred thousand entries: it keeps no set of visited entries. A cycle is walked a
 * few times before it is detected (Brent's algorithm), and the path is then cut to its first round.
 */
export class WayBack {
  /** Newest first. */
  readonly entries: LogEntry[] = [];
  readonly #source: EntrySource;
  readonly #until: string | undefined;
  #next: unknown;
  #hasEnded = false;
  /** An id that was passed, and where: it moves ahead after ever longer stretches. */
  #passed: string | undefined;
  #passedAt = 0;
  #movesAt = 0;

  /** From `from` back to the root, or to the entry `until`, which is not of the list. */
  constructor(source: EntrySource, from: unknown, until: string | undefined) {
    this.#source = source;
    this.#next = from;
    this.#until = until;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether it has ended at `until`. */
  get hasMet(): boolean {
    return this.#hasEnded && this.#until !== undefined && this.#next === this.#until;
  }

  step(): void {
    const id = this.#next;
    if (typeof id !== "string" || id === this.#until) {
      this.#hasEnded = true;
      return;
    }
    const isPassed = id === this.#passed;
    const entry = isPassed ? undefined : this.#source.entry(id);
    if (!entry) {
      this.#hasEnded = true;
      if (isPassed) this.#cut(this.entries.length - this.#passedAt);
      return;
    }
    if (this.entries.length === this.#movesAt) {
      this.#passed = id;
      this.#passedAt = this.#movesAt;
      this.#movesAt = 2 * this.#movesAt + 1;
    }
    this.entries.push(entry);
    this.#next = entry.parentId;
  }

  /** Keeps the path into a cycle of this length, and one round of it. */
  #cut(round: number): void {
    const { entries } = this;
    let into = 0;
    while (into < this.#passedAt && entries[into]?.id !== entries[into + round]?.id) into++;
    entries.length = into + round;
  }
}
