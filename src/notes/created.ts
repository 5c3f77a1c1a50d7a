// When notes were created, kept apart from them: overwriting a note replaces its file and with it the file's own times.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { DiskCalls } from "../storage/disk.ts";
import { inspectJson, replaceJson, type VersionedFile } from "../storage/json-store.ts";
import type { Held } from "../storage/locked-files.ts";
import type { FoundFile } from "../storage/tree.ts";

const CREATED_FORMAT_VERSION = 1;
const NAME_HEX_DIGITS = 32;

/** A file name for a note path of any length and any characters. */
export function hashedName(path: string): string {
  return createHash("sha256").update(path, "utf8").digest("hex").slice(0, NAME_HEX_DIGITS);
}

/** The times the file system keeps for a note's file. */
export type FileTimes = Pick<FoundFile, "bornMs" | "modifiedMs">;

/** The earliest time a note without a record is known to have been there. */
function earliestMs({ bornMs, modifiedMs }: FileTimes): number {
  return bornMs > 0 ? Math.min(bornMs, modifiedMs) : modifiedMs;
}

export class CreationTimes {
  readonly #directory: string;
  readonly #disk: DiskCalls;

  constructor(directory: string, disk: DiskCalls) {
    this.#directory = directory;
    this.#disk = disk;
  }

  /** When a note was created, in milliseconds since 1970; a note without a record was there before there were any. */
  of(file: FoundFile): number {
    return this.#recorded(file.path) ?? earliestMs(file);
  }

  /** Records when a new note is created, under the note's lock. */
  record(path: string, createdMs: number, held: Held): void {
    // A damaged record is replaced, one of a newer format is not.
    inspectJson(this.#source(path), this.#disk);
    this.#write(path, createdMs, held);
  }

  /** Makes sure that a note which is about to be overwritten keeps its creation time. */
  keep(path: string, times: () => FileTimes, held: Held): void {
    if (this.#recorded(path) === undefined) this.#write(path, earliestMs(times()), held);
  }

  #write(path: string, createdMs: number, held: Held): void {
    const fields = { path, created_at: new Date(createdMs).toISOString() };
    // Not flushed: after a power cut a note without it shows the time of its file.
    replaceJson(held, this.#source(path), { fields, flush: false }, this.#disk);
  }

  /** Forgets a note that was removed. What cannot be forgotten is replaced when there is such a note again. */
  forget(path: string): void {
    try {
      this.#disk.unlinkSync(this.#source(path).file);
    } catch {
      // As above, or there was nothing.
    }
  }

  /** Undefined when nothing usable is recorded. */
  #recorded(path: string): number | undefined {
    const content = inspectJson(this.#source(path), this.#disk);
    if (content.type !== "fields" || content.fields.path !== path) return undefined;
    const time = Date.parse(String(content.fields.created_at));
    return Number.isNaN(time) ? undefined : time;
  }

  #source(path: string): VersionedFile {
    const file = join(this.#directory, `${hashedName(path)}.json`);
    return { file, version: CREATED_FORMAT_VERSION, shown: `The creation time of the note ${JSON.stringify(path)}` };
  }
}
