// Task records on disk: one versioned JSON file per task, changed under its lock and replaced atomically.
import { join } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../../errors.ts";
import { namesAt } from "../../storage/blobs.ts";
import { NODE_DISK, storageFailure } from "../../storage/disk.ts";
import { type JsonFile, JsonStore, lockOf, readJson } from "../../storage/json-store.ts";
import type { LockedFiles } from "../../storage/locked-files.ts";
import { isRunning, type ProcessName } from "../../storage/processes.ts";
import type { TaskContext } from "../../task/context.ts";
import { taskLayout } from "../../task/layout.ts";
import type { NewFile } from "../files/roles.ts";
import type { QuotaUsage } from "../task-view.ts";
import { FileStore } from "./file-store.ts";
import { type IndexRow, indexRow, RecordIndex } from "./index.ts";
import { UsageLedger } from "./ledger.ts";
import { ERROR_INTERRUPTED, ended, filesByRole, type TaskEnd } from "./rules.ts";
import {
  type FileRow,
  newId,
  nowText,
  parseRecord,
  parseRefusals,
  RECORD_FORMAT_VERSION,
  type Refusal,
  type TaskRecord,
  type TaskRow,
  type UsageRow,
} from "./schema.ts";
import { UsageSum } from "./usage.ts";

const RECORD_FILE = /^([a-z0-9]{8,64})\.json$/;
/** Lies among the records, and has the name of one. */
const REFUSALS = "refusals";
const REFUSALS_MAX = 500;
/** No record has this name: ids are longer. */
const NAMES_LOCK = { name: "agents", shown: "The names of tasks' agents" };

export interface CreateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly claim?: (() => void) | undefined;
}

/** What a run leaves behind. */
export interface RunYield {
  readonly files?: readonly NewFile[];
  readonly usage?: readonly UsageRow[];
  /** Left out, the record keeps its own. */
  readonly steps?: readonly string[];
}

export interface Recovery {
  readonly problems: readonly string[];
  /** The tasks that have become failed. */
  readonly interrupted: readonly TaskRow[];
}

export interface Listing {
  /** Newest first. */
  readonly records: readonly TaskRecord[];
  /** A line for each record that could not be read. */
  readonly problems: readonly string[];
}

export class RecordStore {
  readonly directory: string;
  readonly files: FileStore;
  /** What belongs to none of the records. */
  readonly meta: string;
  readonly ledger: UsageLedger;
  readonly #store: JsonStore;
  readonly #index: RecordIndex;

  constructor(context: TaskContext) {
    this.directory = taskLayout(context.storageRoot, context).records;
    this.meta = `${this.directory}.meta`;
    this.files = new FileStore(this.directory, this.meta);
    this.ledger = new UsageLedger(this.meta);
    this.#store = new JsonStore(this.meta);
    this.#index = new RecordIndex(this.meta);
  }

  read(id: string): TaskRecord {
    return thereIs(readJson(this.#record(id)), id);
  }

  /** Files of this root task that are changed under a lock, and are no records. */
  get locked(): LockedFiles {
    return this.#store;
  }

  /** All records, or the newest of them. */
  list(limit = Number.POSITIVE_INFINITY): Listing {
    return this.#readAll(this.ids().slice(0, limit));
  }

  /** The ids of all tasks, newest first. */
  ids(): readonly string[] {
    return this.#rows().map(({ id }) => id);
  }

  #rows(): readonly IndexRow[] {
    return this.#index.rowsOf(this.#names(), (ids) => {
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

  /**
   * Stores the originals, then the record that names them; a failure leaves nothing of the task. `claim` throws where the
   * name of the task's agent is not free; no other record that claims one is stored in the meantime.
   */
  async create(
    task: TaskRow,
    originals: readonly NewFile[],
    { signal, claim }: CreateOptions = {},
  ): Promise<TaskRecord> {
    try {
      this.#assertLedger();
      const files = await this.files.add(task.id, originals, { signal });
      const record: TaskRecord = { task, files, usage: [] };
      const commit = () =>
        this.#store.update(this.#record(task.id), () => {
          this.#index.add(indexRow(task));
          return record;
        });
      if (claim === undefined) await commit();
      else
        await this.#store.hold(NAMES_LOCK, async () => {
          claim();
          await commit();
        });
      this.files.opened(task.id);
      this.ledger.addTask(task.id);
      return record;
    } catch (error) {
      this.files.removeTask(task.id);
      throw error;
    }
  }

  /** The tasks that run, or wait, and what is wrong with those of which it cannot be known. */
  processing(): Listing {
    const { records, problems } = this.#readAll(this.#mayRun());
    return { records: records.filter(({ task }) => task.status === "processing"), problems };
  }

  #mayRun(): readonly string[] {
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

  /** Changes the record under its lock; throws `not_found` when it has been removed. */
  async update(id: string, change: (record: TaskRecord) => TaskRecord): Promise<TaskRecord> {
    return this.#store.update(this.#record(id), (given) => {
      const before = thereIs(given, id);
      const after = change(before);
      // Before the record: a run that the index does not know would be missed if its process were killed.
      if (after.task.status === "processing" && before.task.status !== "processing")
        this.#index.add(indexRow(after.task));
      return after;
    });
  }

  /** Commits the end of a run: status, usage and new files at once. A task that had already ended takes none of it. */
  async finish(id: string, end: TaskEnd, { files = [], usage = [], steps }: RunYield = {}): Promise<TaskRecord> {
    const rows = await this.files.add(id, files, { partial: end.status !== "completed" });
    let unused: readonly FileRow[] = rows;
    try {
      const record = await this.update(id, (before) => {
        const task = ended(before.task, end, nowText());
        if (task === before.task) return before;
        unused = [];
        return {
          task: steps === undefined ? task : { ...task, steps },
          // New intermediates before the old: of two with one name the newer comes first.
          files: [
            ...filesByRole(before.files, "input"),
            ...filesByRole(rows, "output"),
            ...filesByRole(rows, "intermediate"),
            ...filesByRole(before.files, "intermediate"),
          ],
          usage: [...before.usage, ...usage],
        };
      });
      this.files.remove(unused);
      return record;
    } catch (error) {
      this.files.remove(rows);
      throw error;
    }
  }

  /** Opens another run: drops the old outputs, rows and bytes, and keeps the rest. */
  async restart(id: string, change: (task: TaskRow) => TaskRow): Promise<TaskRecord> {
    let dropped: readonly FileRow[] = [];
    const record = await this.update(id, ({ task, files, usage }) => {
      if (task.status === "processing") {
        throw new TokenBudgetError(
          "refused",
          `Task ${id} is still running; cancel it or wait for its end, then run it again.`,
        );
      }
      dropped = filesByRole(files, "output");
      return { task: change(task), files: files.filter((file) => file.role !== "output"), usage };
    });
    this.files.remove(dropped);
    return record;
  }

  /** Removes what `before` removes, then the record, then the bytes; no run of it begins meanwhile. */
  async remove(id: string, before: (task: TaskRow) => Promise<void> = async () => {}): Promise<void> {
    const source = this.#record(id);
    await this.#store.hold(lockOf(source), async (held) => {
      const { task } = this.read(id);
      if (task.status === "processing") {
        throw new TokenBudgetError(
          "refused",
          `Task ${id} runs in another process; cancel it there, or end that process, then remove it.`,
        );
      }
      await before(task);
      held.assertOwned();
      NODE_DISK.unlinkSync(source.file);
    });
    this.files.removeTask(id);
  }

  /**
   * Called at start: tasks of dead processes become failed with what `leftBy` finds of their runs, and leftovers in storage
   * are removed.
   */
  async recover(self: ProcessName, leftBy: (record: TaskRecord) => readonly NewFile[]): Promise<Recovery> {
    await this.#settleIndex();
    const { records, problems: unreadable } = this.processing();
    const problems = [...unreadable];
    const interrupted: TaskRow[] = [];
    for (const record of records) {
      const { task } = record;
      const isMine = task.process?.pid === self.pid && task.process.start === self.start;
      if (isMine || (task.process && isRunning(task.process))) continue;
      try {
        const end = { status: "failed", result: null, error: ERROR_INTERRUPTED } as const;
        await this.finish(task.id, end, { files: leftBy(record), usage: this.#usageOf(task) });
        interrupted.push(task);
      } catch (error) {
        problems.push(messageOf(error));
      }
    }
    this.#store.sweep();
    const rowsOf = (id: string) => this.read(id).files;
    this.files.sweep(new Set(this.#names()), { rowsOf, interrupted: new Set(interrupted.map(({ id }) => id)) });
    return { problems, interrupted };
  }

  /** What tasks have used on the day of a time, those that are removed included. */
  usedOn(time: string): QuotaUsage {
    this.#assertLedger();
    return this.ledger.usedOn(time);
  }

  /** Records of before there was a ledger count too. */
  #assertLedger(): void {
    if (!this.ledger.exists()) this.ledger.seed(this.list().records);
  }

  /** What the ledger says of a run whose process can say nothing any more. */
  #usageOf({ id: task, runs: run }: TaskRow): readonly UsageRow[] {
    const sum = new UsageSum();
    for (const usage of this.ledger.usageOf({ task, run })) sum.add(usage);
    return sum.rows(task, nowText());
  }

  /** Runs that have ended since are looked at once more, under the lock of the record, and not again. */
  async #settleIndex(): Promise<void> {
    for (const id of this.#mayRun()) {
      if (this.isProcessing(id)) continue;
      await this.#store.hold(lockOf(this.#record(id)), () => {
        const record = readJson(this.#record(id));
        if (record !== undefined && record.task.status !== "processing") this.#index.add(indexRow(record.task));
      });
    }
  }

  /** Remembers that a quota refused a dispatch. */
  async addRefusal(surface: Refusal["surface"]): Promise<void> {
    const refusal: Refusal = { id: newId(), surface, created: nowText() };
    await this.#store.update(this.#refusals(), (before = []) => [...before, refusal].slice(-REFUSALS_MAX));
  }

  #names(): readonly string[] {
    try {
      const ids = namesAt(this.directory).map((name) => RECORD_FILE.exec(name)?.[1] ?? REFUSALS);
      return ids.filter((id) => id !== REFUSALS);
    } catch (error) {
      throw storageFailure(error, { shown: "The task records", doing: "listed" });
    }
  }

  #record(id: string): JsonFile<TaskRecord> {
    const name = `${id}.json`;
    if (!RECORD_FILE.test(name)) {
      throw new TokenBudgetError(
        "invalid_argument",
        `The task id is ${shownValue(id)}; ids are of a-z and 0-9. List the tasks to see them.`,
      );
    }
    return {
      file: join(this.directory, name),
      version: RECORD_FORMAT_VERSION,
      shown: `The record of task ${id}`,
      parse: (fields) => parseRecord(fields, id),
      fields: (record) => ({ ...record }),
    };
  }

  #refusals(): JsonFile<readonly Refusal[]> {
    return {
      file: join(this.directory, `${REFUSALS}.json`),
      version: RECORD_FORMAT_VERSION,
      shown: "The list of quota refusals",
      parse: (fields) => ({ type: "value", value: parseRefusals(fields) }),
      fields: (refusals) => ({ refusals }),
    };
  }
}

function thereIs(record: TaskRecord | undefined, id: string): TaskRecord {
  if (record !== undefined) return record;
  throw new TokenBudgetError(
    "not_found",
    `There is no task ${shownValue(id)} in this root task; list the tasks to see which there are.`,
  );
}
