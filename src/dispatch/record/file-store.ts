// The bytes of a task's files, next to its record under random names. Bytes are there before a row names them, and are
// removed only after no row does.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { shownValue } from "../../errors.ts";
import { copyPlainFile, kindAt, makePrivateDirectory, modifiedMsAt, namesAt, removeTree } from "../../storage/blobs.ts";
import { diskNowMs } from "../../storage/clocks.ts";
import { NODE_DISK } from "../../storage/disk.ts";
import { contentTypeOf, kindOf, storedName } from "../files/names.ts";
import type { NewFile } from "../files/roles.ts";
import { type FileRow, newId, nowText } from "./schema.ts";

/** Older bytes that no row names are leftovers of a killed process: no dispatch takes this long. By the disk's clock. */
const ORPHAN_AGE_MS = 60 * 60 * 1_000;

export class FileStore {
  readonly #directory: string;

  /** `directory` is that of the records. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Absolute path; it must not leave the dispatcher. */
  pathOf({ task, storedName }: Pick<FileRow, "task" | "storedName">): string {
    return join(this.#directory, task, storedName);
  }

  /** Copies the files to storage; returns their rows. When one fails, none is left. */
  async add(task: string, files: readonly NewFile[], signal?: AbortSignal): Promise<FileRow[]> {
    const rows: FileRow[] = [];
    if (files.length === 0) return rows;
    try {
      for (const directory of [this.#directory, join(this.#directory, task)]) makePrivateDirectory(directory);
      for (const { source, filename, role } of files) {
        const place = { task, storedName: storedName(filename) };
        const shown = `The ${role === "input" ? "attachment" : "file"} ${shownValue(filename)}`;
        const { bytes: size, sha256 } = await copyPlainFile(source, this.pathOf(place), { shown, signal });
        const type = { contentType: contentTypeOf(filename), kind: kindOf(filename) };
        rows.push({ id: newId(), ...place, filename, ...type, size, sha256, role, created: nowText() });
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

  /** Removes all files of a task. */
  removeTask(task: string): void {
    removeTree(join(this.#directory, task));
  }

  /** Removes what killed processes left: of tasks without a record everything, of others what no row names. */
  sweep(tasks: ReadonlySet<string>, rowsOf: (task: string) => readonly FileRow[]): void {
    for (const task of namesAt(this.#directory)) {
      const directory = join(this.#directory, task);
      if (kindAt(directory) !== "directory") continue;
      if (!tasks.has(task)) {
        this.#removeOld(directory);
        continue;
      }
      try {
        const kept = new Set(rowsOf(task).map((row) => row.storedName));
        for (const name of namesAt(directory)) if (!kept.has(name)) this.#removeOld(join(directory, name));
      } catch {
        // A record that cannot be read keeps all its files.
      }
    }
  }

  #removeOld(path: string): void {
    const nowMs = diskNowMs(NODE_DISK, join(this.#directory, `.clock-${randomUUID()}`));
    // A time in the future is no current dispatch's either.
    if (Math.abs(nowMs - modifiedMsAt(path)) > ORPHAN_AGE_MS) removeTree(path);
  }
}
