// Stores of notes for tests, in directories that are gone after the test.
import { join } from "node:path";
import { NotesStore, type NotesStoreOptions } from "../../src/notes/store.ts";
import { temporaryDirectory } from "../storage/disks.ts";

export const AGENT = "/root/tester";

export function newStore(options: Partial<NotesStoreOptions> = {}): NotesStore {
  return new NotesStore({ root: join(temporaryDirectory(), "notes"), agent: AGENT, ...options });
}

/** A clock that stands at `at` and is moved by hand. */
export function handClock(at = Date.parse("2025-01-02T03:04:05.678Z")) {
  const clock = { ms: at, now: () => clock.ms };
  return clock;
}

/** What `work` throws. */
export function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
