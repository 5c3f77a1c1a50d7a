// How the runs of tasks end in their records: each commits its own end alone, under the lock of the record, since others may
// have ended it and run the task again meanwhile.
import { type JsonFile, type JsonStore, lockOf, readJson, replaceJson } from "../../storage/json-store.ts";
import type { NewFile } from "../files/roles.ts";
import type { FileStore } from "./file-store.ts";
import type { UsageLedger } from "./ledger.ts";
import { thereIs } from "./record-files.ts";
import { ERROR_INTERRUPTED, ended, filesAfterRun, isInRun, type RunOfTask, type TaskEnd } from "./rules.ts";
import { type FileRow, nowText, type TaskRecord, type TaskRow, type UsageRow } from "./schema.ts";
import { UsageSum } from "./usage.ts";

/** What a run leaves behind. */
export interface RunYield {
  readonly files?: readonly NewFile[];
  readonly usage?: readonly UsageRow[];
  /** Left out, the record keeps its own. */
  readonly steps?: readonly string[];
  /** Removes what the run has left elsewhere, after the commit and under its lock: no other run has begun. */
  readonly clear?: () => unknown;
}

/** What is done with what the runs of dead processes have left. */
export interface LeftByDead {
  /** Ends what still runs of it, and finds its files. */
  readonly filesOf: (record: TaskRecord) => readonly NewFile[] | Promise<readonly NewFile[]>;
  readonly clear?: (task: TaskRow) => unknown;
}

export interface RunEndParts {
  readonly store: JsonStore;
  readonly files: FileStore;
  readonly ledger: UsageLedger;
  readonly fileOf: (id: string) => JsonFile<TaskRecord>;
  /** Told of a task that has ended, under the lock of its record. */
  readonly onEnd: (task: TaskRow) => void;
}

export class RunEnds {
  readonly #parts: RunEndParts;

  constructor(parts: RunEndParts) {
    this.#parts = parts;
  }

  /**
   * Commits the end of a run: status, usage and new files at once. A task that had already ended, or is in another run by
   * now, takes none of it.
   */
  async finish(run: RunOfTask, end: TaskEnd, { files = [], ...rest }: RunYield = {}): Promise<TaskRecord> {
    const { onEnd } = this.#parts;
    if (files.length > 0 || end.status === "completed") this.#parts.files.begin(run.id);
    let rows: readonly FileRow[] = [];
    let isUsed = false;
    try {
      const added = await this.#parts.files.add(run.id, files, { partial: end.status !== "completed" });
      rows = added;
      const source = this.#parts.fileOf(run.id);
      return await this.#parts.store.hold(lockOf(source), async (held) => {
        const before = thereIs(readJson(source), run.id);
        if (!isInRun(before.task, run)) return before;
        const { after, dropped } = withEnd(before, end, { ...rest, rows: added });
        replaceJson(held, source, { fields: source.fields(after) });
        isUsed = true;
        this.#parts.files.discard(dropped);
        onEnd(after.task);
        await rest.clear?.();
        return after;
      });
    } finally {
      if (!isUsed) this.#parts.files.discard(rows);
      this.#parts.files.settled(run.id);
    }
  }

  /** Whether the run was still that of the dead process: all under one lock, since others recover too, and run it again. */
  async endDead(run: TaskRow, { filesOf, clear }: LeftByDead): Promise<boolean> {
    const source = this.#parts.fileOf(run.id);
    return this.#parts.store.hold(lockOf(source), async (held) => {
      const before = readJson(source);
      if (before === undefined || !isInRun(before.task, run)) return false;
      const end = { status: "failed", result: null, error: ERROR_INTERRUPTED } as const;
      const { files, onEnd } = this.#parts;
      files.begin(run.id);
      const rows = await files.add(run.id, await filesOf(before), { partial: true });
      let after: TaskRecord;
      try {
        after = withEnd(before, end, { rows, usage: this.#usageOf(run) }).after;
        replaceJson(held, source, { fields: source.fields(after) });
      } catch (error) {
        files.discard(rows);
        throw error;
      }
      // It may have been killed while it stored its end.
      files.keepOnly(run.id, after.files);
      onEnd(after.task);
      await clear?.(run);
      return true;
    });
  }

  /** What the ledger says of a run whose process can say nothing any more. */
  #usageOf({ id: task, runs: run }: TaskRow): readonly UsageRow[] {
    const sum = new UsageSum();
    for (const usage of this.#parts.ledger.usageOf({ task, run })) sum.add(usage);
    return sum.rows(task, nowText());
  }
}

interface EndOfRun extends Pick<RunYield, "usage" | "steps"> {
  /** The files that the run has made. */
  readonly rows: readonly FileRow[];
}

interface Ended {
  readonly after: TaskRecord;
  /** Files that the record names no more. */
  readonly dropped: readonly FileRow[];
}

function withEnd(before: TaskRecord, end: TaskEnd, { rows, usage = [], steps }: EndOfRun): Ended {
  const task = ended(before.task, end, nowText());
  const { files, dropped } = filesAfterRun(before.files, rows, end.status);
  const after = {
    task: steps === undefined ? task : { ...task, steps },
    files,
    usage: [...before.usage, ...usage],
  };
  return { after, dropped };
}
