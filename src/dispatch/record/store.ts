// Task records on disk: one versioned JSON file per task, changed under its lock and replaced atomically.
import { TokenBudgetError } from "../../errors.ts";
import { ifDiskFailed } from "../../storage/disk.ts";
import { type JsonFile, JsonStore, lockOf } from "../../storage/json-store.ts";
import type { LockOptions } from "../../storage/lock.ts";
import type { LockedFiles } from "../../storage/locked-files.ts";
import type { ProcessName } from "../../storage/processes.ts";
import { removeFile } from "../../storage/removal.ts";
import type { TaskContext } from "../../task/context.ts";
import { taskLayout } from "../../task/layout.ts";
import type { NewFile } from "../files/roles.ts";
import type { QuotaUsage } from "../task-view.ts";
import { FileStore } from "./file-store.ts";
import { indexRow, RecordIndex } from "./index.ts";
import { UsageLedger } from "./ledger.ts";
import { isRecordId, recordFile, refusalsFile, thereIs } from "./record-files.ts";
import { type Listing, Records } from "./records.ts";
import { RecordRecovery, type Recovery } from "./recovery.ts";
import type { RunOfTask, TaskEnd } from "./rules.ts";
import { type LeftByDead, RunEnds, type RunYield } from "./run-ends.ts";
import { newId, nowText, type Refusal, type TaskRecord, type TaskRow } from "./schema.ts";

const REFUSALS_MAX = 500;
/** No record has this name: ids are longer. */
const NAMES_LOCK = { name: "agents", shown: "The names of tasks' agents" };
const LEDGER_LOCK = { name: "usage", shown: "The ledger of what tasks used" };

export interface CreateOptions {
  readonly signal?: AbortSignal | undefined;
  /** Throws where the name of the task's agent is not free; no other record that claims one is stored meanwhile. */
  readonly claim?: (() => void) | undefined;
  /** Throws where a quota refuses one more task; asked again when another task was taken meanwhile. */
  readonly admit?: Admit | undefined;
}

export type Admit = (used: QuotaUsage) => Promise<void>;

export class RecordStore {
  readonly directory: string;
  readonly files: FileStore;
  /** What belongs to none of the records. */
  readonly meta: string;
  readonly ledger: UsageLedger;
  readonly #store: JsonStore;
  readonly #index: RecordIndex;
  readonly #records: Records;
  readonly #ends: RunEnds;
  readonly #recovery: RecordRecovery;

  constructor(context: TaskContext, locks: Pick<LockOptions, "staleMs" | "waitMs"> = {}) {
    this.directory = taskLayout(context.storageRoot, context).records;
    this.meta = `${this.directory}.meta`;
    this.files = new FileStore(this.directory, this.meta);
    this.ledger = new UsageLedger(this.meta);
    this.#store = new JsonStore(this.meta, locks);
    this.#index = new RecordIndex(this.meta);
    this.#records = new Records(this.directory, this.#index);
    const fileOf = (id: string) => this.#record(id);
    const { files, ledger } = this;
    const onEnd = (task: TaskRow) => this.#tryIndex(task);
    this.#ends = new RunEnds({ store: this.#store, files, ledger, fileOf, onEnd });
    const { directory } = this;
    const parts = { directory, locked: this.#store, files, index: this.#index, ends: this.#ends };
    this.#recovery = new RecordRecovery({ ...parts, records: this.#records });
  }

  read(id: string): TaskRecord {
    return this.#records.read(id);
  }

  /** See `Records`. */
  list(limit?: number): Listing {
    return this.#records.list(limit);
  }

  those(ids: readonly string[]): Listing {
    return this.#records.those(ids);
  }

  ids(): readonly string[] {
    return this.#records.ids();
  }

  processing(): Listing {
    return this.#records.processing();
  }

  isProcessing(id: string): boolean {
    return this.#records.isProcessing(id);
  }

  /** Files of this root task that are changed under a lock, and are no records. */
  get locked(): LockedFiles {
    return this.#store;
  }

  /** Stores the originals, then the record that names them; a failure leaves nothing of the task. */
  async create(task: TaskRow, originals: readonly NewFile[], options: CreateOptions = {}): Promise<TaskRecord> {
    try {
      return await told(() => this.#create(task, originals, options));
    } catch (error) {
      this.files.discardTask(task.id);
      throw error;
    }
  }

  async #create(
    task: TaskRow,
    originals: readonly NewFile[],
    { signal, claim, admit }: CreateOptions,
  ): Promise<TaskRecord> {
    await this.#assertLedger();
    let taken = await this.#asked(admit);
    if (originals.length > 0) this.files.begin(task.id);
    const files = await this.files.add(task.id, originals, { signal });
    const record: TaskRecord = { task, files, usage: [] };
    const commit = () =>
      this.#store.update(this.#record(task.id), () => {
        // Both before the record: a task that nobody has dispatched may be counted, one that runs may not be missing.
        this.#index.add(indexRow(task));
        this.ledger.addTask(task.id);
        return record;
      });
    const claimed = () => this.#ifStill(taken, commit);
    const locked = () =>
      claim === undefined
        ? claimed()
        : this.#store.hold(NAMES_LOCK, () => {
            claim();
            return claimed();
          });
    while (!(await locked())) taken = await this.#asked(admit);
    this.files.settled(task.id);
    return record;
  }

  /** How many tasks had been taken today when the quota was asked; undefined without one. */
  async #asked(admit: Admit | undefined): Promise<number | undefined> {
    if (admit === undefined) return undefined;
    const used = this.ledger.usedOn(nowText());
    await admit(used);
    return used.tasks;
  }

  /**
   * Commits where no other task was taken since a quota was asked, and says whether. A quota may take long, so it is not
   * asked under the lock.
   */
  async #ifStill(taken: number | undefined, commit: () => Promise<unknown>): Promise<boolean> {
    const isStill = async () => {
      if (taken !== undefined && this.ledger.usedOn(nowText()).tasks !== taken) return false;
      await commit();
      return true;
    };
    return taken === undefined ? isStill() : this.#store.hold(LEDGER_LOCK, isStill);
  }

  /** Changes the record under its lock; throws `not_found` when it has been removed. */
  update(id: string, change: (record: TaskRecord) => TaskRecord): Promise<TaskRecord> {
    return told(() =>
      this.#store.update(this.#record(id), (given) => {
        const before = thereIs(given, id);
        const after = change(before);
        // Before the record: a run that the index does not know would be missed if its process were killed, or the power cut.
        if (after.task.status === "processing" && before.task.status !== "processing")
          this.#index.addAgain(indexRow(after.task));
        return after;
      }),
    );
  }

  /** See `RunEnds`. */
  finish(run: RunOfTask, end: TaskEnd, left: RunYield = {}): Promise<TaskRecord> {
    return told(() => this.#ends.finish(run, end, left));
  }

  /** Opens another run. What the last one has made stays until this one ends. */
  async restart(id: string, change: (task: TaskRow) => TaskRow): Promise<TaskRecord> {
    await told(() => this.#assertLedger());
    return this.update(id, ({ task, ...rest }) => {
      if (task.status === "processing") {
        throw new TokenBudgetError(
          "refused",
          `Task ${id} is still running; cancel it or wait for its end, then run it again.`,
        );
      }
      return { ...rest, task: change(task) };
    });
  }

  /** Removes what `before` removes, then the record, then the bytes; no run of it begins meanwhile. */
  async remove(id: string, before: (task: TaskRow) => Promise<void> = async () => {}): Promise<void> {
    const source = this.#record(id);
    await told(() =>
      this.#store.hold(lockOf(source), async (held) => {
        const { task } = this.read(id);
        if (task.status === "processing") {
          throw new TokenBudgetError(
            "refused",
            `Task ${id} runs in another process; cancel it there, or end that process, then remove it.`,
          );
        }
        await before(task);
        held.assertOwned();
        removeFile(source.file);
      }),
    );
    this.files.discardTask(id);
  }

  /**
   * Called at start: tasks of dead processes become failed with what is left of their runs, and leftovers in storage are
   * removed.
   */
  recover(self: ProcessName, left: LeftByDead): Promise<Recovery> {
    return told(() => this.#recovery.recover(self, left));
  }

  /** Whether a task seems to run whose process is gone. */
  hasLeft(self: ProcessName): boolean {
    return this.#recovery.hasLeft(self);
  }

  /** Does this for a task that neither runs nor waits, and begins no run meanwhile; one that is no task does neither. */
  async whileEnded(id: string, work: () => void | Promise<void>): Promise<void> {
    if (!isRecordId(id)) return work();
    if (this.isProcessing(id)) return;
    await this.#store.hold(lockOf(this.#record(id)), async () => {
      if (!this.isProcessing(id)) await work();
    });
  }

  /** What tasks have used on the day of a time, those that are removed included. */
  async usedOn(time: string): Promise<QuotaUsage> {
    await told(() => this.#assertLedger());
    return this.ledger.usedOn(time);
  }

  /** Records of before there was a ledger count too, once, whoever is first. */
  async #assertLedger(): Promise<void> {
    if (this.ledger.exists()) return;
    await this.#store.hold(LEDGER_LOCK, (held) => this.ledger.seed(this.list().records, held));
  }

  /** A line that could not be written is made up for by the next recovery. */
  #tryIndex(task: TaskRow): void {
    try {
      this.#index.add(indexRow(task));
    } catch {
      // The end is stored, and is what counts.
    }
  }

  /** Remembers that a quota refused a dispatch. */
  async addRefusal(surface: Refusal["surface"]): Promise<void> {
    const refusal: Refusal = { id: newId(), surface, created: nowText() };
    await this.#store.update(refusalsFile(this.directory), (before = []) => [...before, refusal].slice(-REFUSALS_MAX));
  }

  #record(id: string): JsonFile<TaskRecord> {
    return recordFile(this.directory, id);
  }
}

/** Says of what failed on the disk that it did: callers tell errors apart by their codes. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw ifDiskFailed(error, { shown: "A task record", doing: "written" });
  }
}
