// The bytes of a task's files, next to its record under random names. Bytes are there before a row names them, and are
// removed only after no row does: while a process is in between, a note says so, and what it leaves when it is killed is found
// by its note, without a look at any other record.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { shownValue } from "../../errors.ts";
import { copyPlainFile, kindAt, makePrivateDirectory, modifiedMsAt, namesAt, removeTree } from "../../storage/blobs.ts";
import { diskNowMs } from "../../storage/clocks.ts";
import { flushFolder, NODE_DISK } from "../../storage/disk.ts";
import { readProcessNote, writeProcessNote } from "../../storage/process-note.ts";
import { isRunning, thisProcess } from "../../storage/processes.ts";
import { insist } from "../../storage/stale-locks.ts";
import { contentTypeOf, kindOf, storedName } from "../files/names.ts";
import type { NewFile } from "../files/roles.ts";
import { type FileRow, newId, nowText } from "./schema.ts";

/** Older bytes that no row names are leftovers of a killed process: no dispatch takes this long. By the disk's clock. */
const ORPHAN_AGE_MS = 60 * 60 * 1_000;

export interface AddOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the run that made them did not come to its end. */
  readonly partial?: boolean;
}

export class FileStore {
  readonly #directory: string;
  /** A note for each task whose bytes are being changed before or behind its record. */
  readonly #changing: string;

  /** `directory` is that of the records, `meta` that of what belongs to none of them. */
  constructor(directory: string, meta: string) {
    this.#directory = directory;
    this.#changing = join(meta, "opening");
  }

  /** Absolute path; it must not leave the dispatcher. */
  pathOf({ task, storedName }: Pick<FileRow, "task" | "storedName">): string {
    return join(this.#directory, task, storedName);
  }

  /** Copies the files to storage; returns their rows. When one fails, none is left. */
  async add(task: string, files: readonly NewFile[], { signal, partial = false }: AddOptions = {}): Promise<FileRow[]> {
    const rows: FileRow[] = [];
    if (files.length === 0) return rows;
    try {
      for (const directory of [this.#directory, join(this.#directory, task)]) makePrivateDirectory(directory);
      for (const { source, filename, path = filename, role } of files) {
        const place = { task, storedName: storedName(filename) };
        const shown = `The ${role === "input" ? "attachment" : "file"} ${shownValue(filename)}`;
        const { bytes: size, sha256 } = await copyPlainFile(source, this.pathOf(place), { shown, signal });
        const type = { contentType: contentTypeOf(filename), kind: kindOf(filename) };
        // Small files are copied without a pause, and there may be hundreds.
        await nextTurn();
        rows.push({ id: newId(), ...place, filename, path, partial, ...type, size, sha256, role, created: nowText() });
      }
      flushFolder(NODE_DISK, join(this.#directory, task));
      return rows;
    } catch (error) {
      this.discard(rows);
      throw error;
    }
  }

  /** Removes files that no row names any more; what cannot be removed now is found by a later start. */
  discard(rows: readonly FileRow[]): void {
    for (const row of rows) quietly(() => removeTree(this.pathOf(row)));
  }

  /** The same of all files of a task that has no record. */
  discardTask(task: string): void {
    quietly(() => this.removeTask(task));
  }

  /** The bytes of a task are about to be changed by this process. */
  begin(task: string): void {
    makePrivateDirectory(this.#changing);
    writeProcessNote(this.#note(task), thisProcess());
  }

  /** The record of the task names what there is. */
  settled(task: string): void {
    // A note that stays is removed at a later start.
    quietly(() => insist(() => removeTree(this.#note(task))));
  }

  /** Removes all files of a task. */
  removeTask(task: string): void {
    removeTree(join(this.#directory, task));
    this.settled(task);
  }

  /** Removes what these rows do not name. Only where nobody adds to the task: under the lock of its record, while it is over. */
  keepOnly(task: string, rows: readonly FileRow[]): void {
    const kept = new Set(rows.map((row) => row.storedName));
    const directory = join(this.#directory, task);
    for (const name of namesAt(directory)) if (!kept.has(name)) removeTree(join(directory, name));
    this.settled(task);
  }

  /** The tasks whose bytes a process was changing that is gone. What half a note says is nothing, and it goes. */
  leftInBetween(): readonly string[] {
    return namesAt(this.#changing).filter((task) => {
      const owner = this.#ownerOf(task);
      if (owner === "none") this.settled(task);
      return owner === "gone";
    });
  }

  /** Removes the bytes of tasks without a record and without a note, once they are old. */
  sweepUnknown(tasks: ReadonlySet<string>): void {
    for (const task of namesAt(this.#directory)) {
      if (tasks.has(task) || tasks.has(task.replace(/\.json$/, ""))) continue;
      const directory = join(this.#directory, task);
      if (kindAt(directory) === "directory" && this.#ownerOf(task) === "none") this.#removeOld(directory);
    }
  }

  /** What has become of the process that changes the bytes of a task; one whose note cannot be read may run. */
  #ownerOf(task: string): "none" | "gone" | "running" {
    try {
      const owner = readProcessNote(this.#note(task));
      if (owner === undefined) return "none";
      return isRunning(owner) ? "running" : "gone";
    } catch {
      return "running";
    }
  }

  #note(task: string): string {
    return join(this.#changing, task);
  }

  #removeOld(path: string): void {
    const nowMs = diskNowMs(NODE_DISK, join(this.#directory, `.clock-${randomUUID()}`));
    // A time in the future is no current dispatch's either.
    if (Math.abs(nowMs - modifiedMsAt(path)) > ORPHAN_AGE_MS) removeTree(path);
  }
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // What has come before is what counts.
  }
}
