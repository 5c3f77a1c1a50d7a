// Task records on disk: one versioned JSON file per task, changed under its lock and replaced atomically; the bytes of its
// files beside it under random names. Bytes are always there before a row names them, and go after no row does.
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../../errors.ts";
import { AtomicFiles, sweepLeftOvers } from "../../storage/atomic-file.ts";
import { copyPlainFile, kindAt, makePrivateDirectory, modifiedMsAt, namesAt, removeTree } from "../../storage/blobs.ts";
import { diskNowMs } from "../../storage/clocks.ts";
import { type DiskCalls, NODE_DISK, storageFailure } from "../../storage/disk.ts";
import { type HeldLock, LockDirectory } from "../../storage/lock.ts";
import { isRunning, type ProcessName } from "../../storage/processes.ts";
import { readVersionedJson, type VersionedFile, writeVersionedJson } from "../../storage/versioned-json.ts";
import type { TaskContext } from "../../task/context.ts";
import { taskLayout } from "../../task/layout.ts";
import { contentTypeOf, kindOf, newId, storedName } from "../files/names.ts";
import {
  ERROR_INTERRUPTED,
  ended,
  type FileRow,
  filesByRole,
  type NewFile,
  type Refusal,
  type TaskEnd,
  type TaskRecord,
  type TaskRow,
  type UsageRow,
} from "./rules.ts";
import { parseRecord, parseRefusals, RECORD_FORMAT_VERSION } from "./schema.ts";

const RECORD_FILE = /^([a-z0-9]{8,64})\.json$/;
const REFUSALS_NAME = "refusals";
/** Refusals that are kept: they tell that a quota bites, not more. */
const REFUSALS_MAX = 500;
/** Bytes without a record are of a dispatch that died; a living one is never so slow. By the disk's own clock. */
const ORPHAN_AGE_MS = 60 * 60 * 1_000;

/** What a run leaves behind. */
export interface LeftBehind {
  readonly files?: readonly NewFile[];
  readonly usage?: readonly UsageRow[];
  /** Left out, the record keeps those it has. */
  readonly steps?: readonly string[];
}

export interface StoreOptions {
  readonly context: TaskContext;
  readonly disk?: DiskCalls | undefined;
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
  readonly now?: (() => Date) | undefined;
}

export interface Listing {
  /** Newest first. */
  readonly records: readonly TaskRecord[];
  /** One line per record that could not be read. */
  readonly problems: readonly string[];
}

export class RecordStore {
  readonly directory: string;
  readonly #disk: DiskCalls;
  readonly #locks: LockDirectory;
  readonly #files: AtomicFiles;
  readonly #now: () => Date;

  constructor({ context, disk = NODE_DISK, staleLockMs: staleMs, lockWaitMs: waitMs, now }: StoreOptions) {
    this.directory = taskLayout(context.storageRoot, context).records;
    const meta = `${this.directory}.meta`;
    this.#disk = disk;
    this.#locks = new LockDirectory(join(meta, "locks"), { disk, staleMs, waitMs });
    this.#files = new AtomicFiles(join(meta, "tmp"), disk);
    this.#now = now ?? (() => new Date());
  }

  now(): string {
    return this.#now().toISOString();
  }

  /** Absolute path of a file's bytes; it must not leave the dispatcher. */
  pathOf(file: FileRow): string {
    return join(this.directory, file.task, file.storedName);
  }

  read(id: string): TaskRecord {
    const source = this.#source(id);
    const fields = readVersionedJson(source, this.#disk);
    if (fields !== undefined) return parseRecord(fields, id, source.file);
    throw new TokenBudgetError(
      "not_found",
      `There is no task ${shownValue(id)} in this root task; list the tasks to see which there are.`,
    );
  }

  list(): Listing {
    const records: TaskRecord[] = [];
    const problems: string[] = [];
    for (const id of this.#ids()) {
      try {
        records.push(this.read(id));
      } catch (error) {
        // Removed since the directory was read.
        if (!(error instanceof TokenBudgetError && error.code === "not_found")) problems.push(messageOf(error));
      }
    }
    records.sort((a, b) => b.task.created.localeCompare(a.task.created) || a.task.id.localeCompare(b.task.id));
    return { records, problems };
  }

  /** Stores the originals, then the record that names them. Whatever fails leaves nothing of the task. */
  async create(task: TaskRow, files: readonly NewFile[], signal?: AbortSignal): Promise<TaskRecord> {
    try {
      const rows = await this.#store(task.id, files, signal);
      const record: TaskRecord = { task, files: [...rows], usage: [] };
      await this.#locked(task.id, (held) => this.#write(record, held));
      return record;
    } catch (error) {
      removeTree(join(this.directory, task.id));
      throw error;
    }
  }

  /** Changes the record under its lock; a task that is gone meanwhile throws `not_found`. */
  async update(id: string, change: (record: TaskRecord) => TaskRecord): Promise<TaskRecord> {
    return this.#locked(id, (held) => {
      const before = this.read(id);
      const after = change(before);
      if (after !== before) this.#write(after, held);
      return after;
    });
  }

  /** Makes the end of a run visible in one commit: status, usage and new files. Bytes of a run that had ended are dropped. */
  async finish(id: string, end: TaskEnd, left: LeftBehind = {}): Promise<TaskRecord> {
    const { files = [], usage = [], steps } = left;
    const rows = await this.#store(id, files);
    let isTaken = false;
    try {
      return await this.update(id, (record) => {
        const task = ended(record.task, end, this.now());
        if (task === record.task) return record;
        isTaken = true;
        const outputs = rows.filter((row) => row.role === "output");
        const intermediates = rows.filter((row) => row.role === "intermediate");
        return {
          task: steps === undefined ? task : { ...task, steps: [...steps] },
          // Newest first, so that of two intermediates with one name the newer one stands before the older.
          files: [
            ...filesByRole(record.files, "input"),
            ...outputs,
            ...intermediates,
            ...filesByRole(record.files, "intermediate"),
          ],
          usage: [...record.usage, ...usage],
        };
      });
    } catch (error) {
      isTaken = false;
      throw error;
    } finally {
      if (!isTaken) for (const row of rows) removeTree(this.pathOf(row));
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
    for (const file of dropped) removeTree(this.pathOf(file));
    return record;
  }

  /** Removes the record, then the bytes. */
  async remove(id: string): Promise<void> {
    await this.#locked(id, (held) => {
      this.read(id);
      held.assertOwned();
      this.#disk.unlinkSync(this.#source(id).file);
    });
    removeTree(join(this.directory, id));
  }

  /** What dead processes left: their tasks become failed, their half-written files go. To be called at start. */
  async recover(self: ProcessName): Promise<readonly string[]> {
    const { records, problems } = this.list();
    const found = [...problems];
    for (const { task } of records) {
      if (task.status !== "processing") continue;
      const isMine = task.process?.pid === self.pid && task.process.start === self.start;
      if (isMine || (task.process && isRunning(task.process, this.#disk))) continue;
      try {
        await this.finish(task.id, { status: "failed", result: null, error: ERROR_INTERRUPTED });
      } catch (error) {
        found.push(messageOf(error));
      }
    }
    this.#sweep();
    return found;
  }

  refusals(): readonly Refusal[] {
    return parseRefusals(readVersionedJson(this.#source(REFUSALS_NAME), this.#disk));
  }

  async addRefusal(surface: Refusal["surface"]): Promise<void> {
    await this.#locked(REFUSALS_NAME, (held) => {
      const refusal: Refusal = { id: newId(), surface, created: this.now() };
      const fields = { refusals: [...this.refusals(), refusal].slice(-REFUSALS_MAX) };
      this.#commit(REFUSALS_NAME, fields, held);
    });
  }

  async #store(id: string, files: readonly NewFile[], signal?: AbortSignal): Promise<readonly FileRow[]> {
    const directory = join(this.directory, id);
    const rows: FileRow[] = [];
    if (files.length === 0) return rows;
    try {
      makePrivateDirectory(this.directory, this.#disk);
      makePrivateDirectory(directory, this.#disk);
      for (const { source, filename, role } of files) {
        const stored = storedName(filename);
        const shown = `The ${role === "input" ? "attachment" : "file"} ${shownValue(filename)}`;
        const { bytes, sha256 } = await copyPlainFile(source, join(directory, stored), {
          shown,
          signal,
          disk: this.#disk,
        });
        rows.push({
          id: newId(),
          task: id,
          filename,
          storedName: stored,
          contentType: contentTypeOf(filename),
          kind: kindOf(filename),
          size: bytes,
          sha256,
          role,
          created: this.now(),
        });
      }
      return rows;
    } catch (error) {
      for (const row of rows) removeTree(this.pathOf(row));
      throw error;
    }
  }

  #ids(): readonly string[] {
    try {
      return namesAt(this.directory, this.#disk).flatMap((name) => {
        const id = RECORD_FILE.exec(name)?.[1];
        return id === undefined || id === REFUSALS_NAME ? [] : [id];
      });
    } catch (error) {
      throw storageFailure(error, { shown: "The task records", doing: "listed" });
    }
  }

  #source(id: string): VersionedFile {
    const shown = id === REFUSALS_NAME ? "The list of quota refusals" : `The record of task ${id}`;
    if (!RECORD_FILE.test(`${id}.json`)) {
      throw new TokenBudgetError(
        "invalid_argument",
        `The task id is ${shownValue(id)}; ids are of a-z and 0-9. List the tasks to see them.`,
      );
    }
    return { file: join(this.directory, `${id}.json`), version: RECORD_FORMAT_VERSION, shown };
  }

  async #locked<T>(id: string, work: (held: HeldLock) => T): Promise<T> {
    await this.#files.load();
    const { shown } = this.#source(id);
    return this.#locks.withLock({ name: id, shown }, work);
  }

  #write(record: TaskRecord, held: HeldLock): void {
    this.#commit(record.task.id, { ...record }, held);
  }

  #commit(id: string, fields: Readonly<Record<string, unknown>>, held: HeldLock): void {
    const source = this.#source(id);
    try {
      makePrivateDirectory(dirname(source.file), this.#disk);
      const write = { fields, lockName: id, beforeRename: () => held.assertOwned() };
      writeVersionedJson(this.#files, source, write, this.#disk);
    } catch (error) {
      throw storageFailure(error, { shown: source.shown, doing: "written" });
    }
  }

  #sweep(): void {
    const { temporaryDirectory } = this.#files;
    const { directory: lockDirectory, staleMs } = this.#locks;
    sweepLeftOvers({ temporaryDirectory, lockDirectory, staleMs }, this.#disk);
    const known = new Set(this.#ids());
    for (const name of namesAt(this.directory, this.#disk)) {
      const path = join(this.directory, name);
      if (kindAt(path, this.#disk) !== "directory") continue;
      if (!known.has(name)) this.#dropOld(path);
      else this.#dropUnnamed(name, path);
    }
  }

  /** Bytes that no row names, of a run that died between storing and committing. */
  #dropUnnamed(id: string, directory: string): void {
    try {
      const named = new Set(this.read(id).files.map((file) => file.storedName));
      for (const name of namesAt(directory, this.#disk)) if (!named.has(name)) this.#dropOld(join(directory, name));
    } catch {
      // A record that cannot be read keeps everything it has.
    }
  }

  #dropOld(path: string): void {
    const nowMs = diskNowMs(this.#disk, join(this.directory, `.clock-${randomUUID()}`));
    // Of a time that is yet to come it is not of a dispatch that goes on either.
    if (Math.abs(nowMs - modifiedMsAt(path, this.#disk)) > ORPHAN_AGE_MS) removeTree(path);
  }
}
