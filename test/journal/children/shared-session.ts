// A session that several processes have open, each going on at a branch of its own. Every entry follows from its number,
// so a process that starts again has the same ones.
import type { EntrySource, LogEntry } from "../../../src/host/entries.ts";

/** Entries that all processes share; enough for a first journal in several pieces. */
export const SHARED_ENTRIES = 600;
const SHARED_TEXT = "shared text, several kilobytes of it. ".repeat(120);
/** Every so many entries one is long, so that a kill may come amid its write. */
const LONG_EVERY = 12;
const LONG_TEXT = "漢字 and more. ".repeat(16_000);

export function idOf(name: string, number: number): string {
  return number < 0 ? `shared-${SHARED_ENTRIES + number}` : `${name}-${number}`;
}

function entryOf(name: string, number: number): LogEntry {
  const text = number < 0 ? SHARED_TEXT : number % LONG_EVERY === 0 ? LONG_TEXT : `entry ${number} of ${name}`;
  return {
    type: "message",
    id: idOf(name, number),
    parentId: number === -SHARED_ENTRIES ? null : idOf(name, number - 1),
    timestamp: new Date(Date.UTC(2026, 2, 1) + number).toISOString(),
    message: { role: "user", content: [{ type: "text", text }] },
  };
}

/** The session as the process with this name has it: the shared entries, and `count` of its own. */
export class SharedSession implements EntrySource {
  readonly #name: string;
  readonly #entries = new Map<string, LogEntry>();
  #count = -SHARED_ENTRIES;

  constructor(name: string, count: number) {
    this.#name = name;
    while (this.#count < count) this.add();
  }

  add(): void {
    const entry = entryOf(this.#name, this.#count++);
    this.#entries.set(entry.id, entry);
  }

  leafId(): string {
    return idOf(this.#name, this.#count - 1);
  }

  entry(id: string): LogEntry | undefined {
    return this.#entries.get(id);
  }
}

/** The ids of the whole branch that ends with an entry of a process. */
export function branchUpTo(id: string): string[] {
  const [name = "", number = "0"] = id.split("-");
  const own = name === "shared" ? Number(number) - SHARED_ENTRIES : Number(number);
  return Array.from({ length: own + SHARED_ENTRIES + 1 }, (_, at) => idOf(name, at - SHARED_ENTRIES));
}
