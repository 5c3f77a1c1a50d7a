// Journals for tests: a writer and a reader over one directory that is gone after the test.
import { join } from "node:path";
import type { ItemSource } from "../../src/history/source.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { JournalWriter, type JournalWriterOptions } from "../../src/journal/writer.ts";
import { expectSame, type FollowLog } from "../history/conformance.ts";
import { sourceOf } from "../history/sources.ts";
import { call, TestLog, text } from "../log/branches.ts";
import { temporaryDirectory } from "../storage/disks.ts";

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

/** As above, with writers and readers that start anew each time, from an index that is always carried on. */
export const followJournalAnew: FollowLog = (log) => {
  const directory = newDirectory();
  return async () => {
    await writerOf(directory, { markEvery: 1 }).sync(log);
    return readerOf(directory).refresh();
  };
};

export const logFile = (directory: string) => join(directory, "journal.jsonl");
export const indexFile = (directory: string) => join(directory, "journal.index");

export function idsOf(source: ItemSource): string[] {
  return source.rows.map(({ head }) => head.id);
}

/** Every entry of the log. */
export function ids(log: TestLog): string[] {
  return log.entries.map(({ id }) => id);
}

/** A log of so many turns; each is a question, a call and its result. */
export function talk(log: TestLog, turns: number): void {
  for (let turn = 0; turn < turns; turn++) {
    const id = `call-${log.entries.length}`;
    log.user(`question ${turn} 漢字`);
    log.assistant(text("on it"), call(id, turn % 3 === 0 ? "bash" : "read", { turn }));
    log.result(id, turn % 3 === 0 ? "bash" : "read", `answer ${turn}`);
  }
  log.newContext(2);
}

/** A log and its journal. */
export async function journalOf(turns: number) {
  const log = new TestLog();
  talk(log, turns);
  const directory = newDirectory();
  await writerOf(directory).sync(log);
  return { log, directory };
}

/** A reader that starts now says what the live branch says. */
export async function expectReads(directory: string, log: TestLog): Promise<void> {
  const expected = sourceOf(log);
  expectSame(await readerOf(directory).refresh(), expected, ids(log).slice(0, 20));
}
