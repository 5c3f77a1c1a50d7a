// Reading the records of a root task, by the index: no more of them than are asked for.
import { messageOf, TokenBudgetError } from "../../errors.ts";
import { type JsonFile, readJson } from "../../storage/json-store.ts";
import { type IndexRow, indexRow, type RecordIndex } from "./index.ts";
import { recordFile, recordIds, thereIs } from "./record-files.ts";
import type { TaskRecord } from "./schema.ts";

export interface Listing {
  /** Newest first. */
  readonly records: readonly TaskRecord[];
  /** A line for each record that could not be read. */
  readonly problems: readonly string[];
}

export class Records {
  readonly #directory: string;
  readonly #index: RecordIndex;

  constructor(directory: string, index: RecordIndex) {
    this.#directory = directory;
    this.#index = index;
  }

  read(id: string): TaskRecord {
    return thereIs(readJson(this.#file(id)), id);
  }

  /** All records, or the newest of them. */
  list(limit = Number.POSITIVE_INFINITY): Listing {
    return this.those(this.ids().slice(0, limit));
  }

  /** The records of these ids; one that was removed meanwhile is left out. */
  those(ids: readonly string[]): Listing {
    return this.#readAll(ids);
  }

  /** The ids of all tasks, newest first. */
  ids(): readonly string[] {
    return this.#rows().map(({ id }) => id);
  }

  #rows(): readonly IndexRow[] {
    return this.#index.rowsOf(recordIds(this.#directory), (ids) => {
      const { records, unreadable } = this.#readAll(ids);
      // One that cannot be read is looked at by every list and recovery, and named there.
      const odd = unreadable.map((id) => ({ id, created: "", mayRun: true }));
      return [...records.map(({ task }) => indexRow(task)), ...odd];
    });
  }

  #readAll(ids: readonly string[]): Listing & { readonly unreadable: readonly string[] } {
    const records: TaskRecord[] = [];
    const problems: string[] = [];
    const unreadable: string[] = [];
    for (const id of ids) {
      try {
        records.push(this.read(id));
      } catch (error) {
        // Removed since the directory was read.
        if (error instanceof TokenBudgetError && error.code === "not_found") continue;
        problems.push(messageOf(error));
        unreadable.push(id);
      }
    }
    return { records, problems, unreadable };
  }

  /** The tasks that run, or wait, and what is wrong with those of which it cannot be known. */
  processing(): Listing {
    const { records, problems } = this.#readAll(this.mayRun());
    return { records: records.filter(({ task }) => task.status === "processing"), problems };
  }

  /** The ids of those that ran when they were last indexed. */
  mayRun(): readonly string[] {
    return this.#rows().flatMap(({ id, mayRun }) => (mayRun ? [id] : []));
  }

  /** Whether a task runs, or waits; false where there is none. */
  isProcessing(id: string): boolean {
    try {
      return this.read(id).task.status === "processing";
    } catch (error) {
      // What cannot be read may be of a newer version, which runs.
      return !(error instanceof TokenBudgetError && ["not_found", "invalid_argument"].includes(error.code));
    }
  }

  #file(id: string): JsonFile<TaskRecord> {
    return recordFile(this.#directory, id);
  }
}
