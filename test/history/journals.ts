// Journals for tests: a writer and a reader over one directory that is gone after the test.
import { join } from "node:path";
import { JournalReader } from "../../src/history/journal-reader.ts";
import { JournalWriter, type JournalWriterOptions } from "../../src/history/journal-writer.ts";
import { temporaryDirectory } from "../storage/disks.ts";
import type { FollowLog } from "./conformance.ts";

export const AGENT = "/root/reviewer";

export function newDirectory(): string {
  return join(temporaryDirectory(), "history", "reviewer");
}

export function writerOf(directory: string, more: Partial<JournalWriterOptions> = {}): JournalWriter {
  return new JournalWriter({ directory, agent: AGENT, ...more });
}

export function readerOf(directory: string): JournalReader {
  return new JournalReader({ directory, agent: AGENT });
}

/** The journal of a log, synced and read again by one writer and one reader. */
export const followJournal: FollowLog = (log) => {
  const directory = newDirectory();
  const writer = writerOf(directory);
  const reader = readerOf(directory);
  return async () => {
    await writer.sync(log);
    return reader.refresh();
  };
};

/** As above, with writers and readers that start anew each time, from a sidecar that is always carried on. */
export const followJournalAnew: FollowLog = (log) => {
  const directory = newDirectory();
  return async () => {
    await writerOf(directory, { markEvery: 1 }).sync(log);
    return readerOf(directory).refresh();
  };
};
