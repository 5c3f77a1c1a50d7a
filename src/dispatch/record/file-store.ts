// The bytes of a task's files, next to its record under random names. Bytes are there before a row names them, and are
// removed only after no row does.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { shownValue } from "../../errors.ts";
import { copyPlainFile, kindAt, makePrivateDirectory, modifiedMsAt, namesAt, removeTree } from "../../storage/blobs.ts";
import { diskNowMs } from "../../storage/clocks.ts";
import { NODE_DISK } from "../../storage/disk.ts";
import { readProcessNote, writeProcessNote } from "../../storage/process-note.ts";
import { isRunning, thisProcess } from "../../storage/processes.ts";
import { contentTypeOf, kindOf, storedName } from "../files/names.ts";
import type { NewFile } from "../files/roles.ts";
import { type FileRow, newId, nowText } from "./schema.ts";

/** Older bytes that no row names are leftovers of a killed process: no dispatch takes this long. By the disk's clock. */
const ORPHAN_AGE_MS = 60 * 60 * 1_000;

export interface SweepOptions {
  readonly rowsOf: (task: string) => readonly FileRow[];
  readonly interrupted: ReadonlySet<string>;
}

export interface AddOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the run that made them did not come to its end. */
  readonly partial?: boolean;
}

export class FileStore {
  readonly #directory: string;
  /** A note for each task whose files are being stored before its record. */
  readonly #opening: string;

  /** `directory` is that of the records, `meta` that of what belongs to none of them. */
  constructor(directory: string, meta: string) {
    this.#directory = directory;
    this.#opening = join(meta, "opening");
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
      if (!this.#isKnown(task)) this.#noteOpening(task);
      for (const { source, filename, path = filename, role } of files) {
        const place = { task, storedName: storedName(filename) };
        const shown = `The ${role === "input" ? "attachment" : "file"} ${shownValue(filename)}`;
        const { bytes: size, sha256 } = await copyPlainFile(source, this.pathOf(place), { shown, signal });
        const type = { contentType: contentTypeOf(filename), kind: kindOf(filename) };
        rows.push({ id: newId(), ...place, filename, path, partial, ...type, size, sha256, role, created: nowText() });
      }
      return rows;
    } catch (error) {
      this.remove(rows);
      throw error;
    }
  }

  remove(rows: readonly FileRow[]): void {
    for (const row of rows) removeTree(this.pathOf(row));
  }

  /** The record of the task stands: from now on it says what becomes of the files. */
  opened(task: string): void {
    removeTree(this.#openingNote(task));
  }

  /** Removes all files of a task. */
  removeTask(task: string): void {
    removeTree(join(this.#directory, task));
    this.opened(task);
  }

  /**
   * Removes what killed processes left: of tasks without a record everything, of others what no row names. `interrupted`
   * are those whose process is known to be gone, so that nobody adds to them.
   */
  sweep(tasks: ReadonlySet<string>, { rowsOf, interrupted }: SweepOptions): void {
    for (const task of namesAt(this.#directory)) {
      const directory = join(this.#directory, task);
      if (kindAt(directory) !== "directory") continue;
      if (!tasks.has(task)) {
        this.#sweepUnknown(task, directory);
        continue;
      }
      try {
        const kept = new Set(rowsOf(task).map((row) => row.storedName));
        const remove = interrupted.has(task) ? removeTree : (path: string) => this.#removeOld(path);
        for (const name of namesAt(directory)) if (!kept.has(name)) remove(join(directory, name));
      } catch {
        // A record that cannot be read keeps all its files.
      }
    }
    this.#sweepNotes();
  }

  /** Files are stored before the record that names them: a note says which process does that. */
  #sweepUnknown(task: string, directory: string): void {
    const owner = this.#openerOf(task);
    if (owner === "none") this.#removeOld(directory);
    else if (owner === "gone") this.removeTask(task);
  }

  #sweepNotes(): void {
    for (const task of namesAt(this.#opening)) {
      const owner = this.#openerOf(task);
      if (owner === "none" || owner === "gone") this.opened(task);
    }
  }

  /** What has become of the process that stores the files of a task; one whose note cannot be read may run. */
  #openerOf(task: string): "none" | "gone" | "running" {
    try {
      const owner = readProcessNote(this.#openingNote(task));
      if (owner === undefined) return "none";
      return isRunning(owner) ? "running" : "gone";
    } catch {
      return "running";
    }
  }

  #isKnown(task: string): boolean {
    return kindAt(join(this.#directory, `${task}.json`)) === "file";
  }

  #noteOpening(task: string): void {
    makePrivateDirectory(this.#opening);
    writeProcessNote(this.#openingNote(task), thisProcess());
  }

  #openingNote(task: string): string {
    return join(this.#opening, task);
  }

  #removeOld(path: string): void {
    const nowMs = diskNowMs(NODE_DISK, join(this.#directory, `.clock-${randomUUID()}`));
    // A time in the future is no current dispatch's either.
    if (Math.abs(nowMs - modifiedMsAt(path)) > ORPHAN_AGE_MS) removeTree(path);
  }
}
