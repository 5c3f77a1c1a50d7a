// What killed processes left among the records: their tasks get their end, ended runs leave the index, and bytes that no record
// names are removed. What is looked at is changed under its record's lock, since others may look too.
import { messageOf } from "../../errors.ts";
import { ifDiskFailed } from "../../storage/disk.ts";
import { type JsonFile, type JsonStore, lockOf, readJson } from "../../storage/json-store.ts";
import { isRunning, type ProcessName } from "../../storage/processes.ts";
import type { FileStore } from "./file-store.ts";
import { indexRow, type RecordIndex } from "./index.ts";
import { isRecordId, recordFile, recordIds } from "./record-files.ts";
import type { Records } from "./records.ts";
import type { LeftByDead, RunEnds } from "./run-ends.ts";
import type { TaskRecord, TaskRow } from "./schema.ts";

export interface Recovery {
  readonly problems: readonly string[];
  /** The tasks that have become failed. */
  readonly interrupted: readonly TaskRecord[];
}

export interface RecoveryParts {
  readonly directory: string;
  readonly locked: JsonStore;
  readonly files: FileStore;
  readonly index: RecordIndex;
  readonly ends: RunEnds;
  readonly records: Records;
}

export class RecordRecovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Whether a task seems to run whose process is gone. */
  hasLeft(self: ProcessName): boolean {
    return this.#parts.records.processing().records.some(({ task }) => isLeft(task, self));
  }

  async recover(self: ProcessName, left: LeftByDead): Promise<Recovery> {
    await this.#settleIndex();
    const { records, problems: unreadable } = this.#parts.records.processing();
    const problems = [...unreadable];
    const interrupted: TaskRecord[] = [];
    for (const { task } of records) {
      if (!isLeft(task, self)) continue;
      try {
        if (await this.#parts.ends.endDead(task, left)) interrupted.push(this.#parts.records.read(task.id));
      } catch (error) {
        problems.push(messageOf(error));
      }
    }
    try {
      await this.#sweep();
    } catch (error) {
      // What is left is swept by a later one.
      problems.push(messageOf(ifDiskFailed(error, { shown: "What killed processes left", doing: "listed" })));
    }
    return { problems, interrupted };
  }

  async #sweep(): Promise<void> {
    this.#parts.locked.sweep();
    for (const id of this.#parts.files.leftInBetween()) await this.#sweepFiles(id);
    this.#parts.files.sweepUnknown(new Set(recordIds(this.#parts.directory)));
  }

  /** Removes the bytes that no row of a task names; of one that runs, whoever runs it changes them. */
  async #sweepFiles(id: string): Promise<void> {
    if (!isRecordId(id)) return;
    try {
      await this.#parts.locked.hold(lockOf(this.#record(id)), () => {
        const record = readJson(this.#record(id));
        if (record === undefined) this.#parts.files.removeTask(id);
        else if (record.task.status !== "processing") this.#parts.files.keepOnly(id, record.files);
      });
    } catch {
      // A record that cannot be read keeps all its files, and its note.
    }
  }

  /** Runs that have ended since are looked at once more, under the lock of the record, and not again. */
  async #settleIndex(): Promise<void> {
    for (const id of this.#parts.records.mayRun()) {
      if (this.#parts.records.isProcessing(id)) continue;
      await this.#parts.locked.hold(lockOf(this.#record(id)), () => {
        const record = readJson(this.#record(id));
        if (record !== undefined && record.task.status !== "processing") this.#parts.index.add(indexRow(record.task));
      });
    }
  }

  #record(id: string): JsonFile<TaskRecord> {
    return recordFile(this.#parts.directory, id);
  }
}

/** Whether the process that runs a task is gone; this one knows what it runs itself. */
function isLeft({ process }: TaskRow, self: ProcessName): boolean {
  const isMine = process?.pid === self.pid && process.start === self.start;
  return !isMine && !(process && isRunning(process));
}
