// Which task records there are, in a few words each: a line for every change, so that a list or a recovery reads only the
// records that it shows or mends. It is made anew from the records where it lacks one; what stands in a record counts.
//
// {"v":1,"id":"3f…","created":"2026-01-02T03:04:05.678Z","mayRun":true}
import { join } from "node:path";
import { isRecord } from "../../shapes.ts";
import { appendLines } from "../../storage/line-log.ts";
import { LineScan } from "../../storage/line-scan.ts";
import type { TaskRow } from "./schema.ts";

const INDEX_FILE = "index.jsonl";
const FORMAT = 1;
/** Appended at once when many are missing. */
const BATCH_ROWS = 1_000;

export interface IndexRow {
  readonly id: string;
  /** ISO 8601. */
  readonly created: string;
  /** Whether it runs or waits, or did when it was looked at last: written before it does, so that none that does is missed. */
  readonly mayRun: boolean;
}

export function indexRow({ id, created, status }: Pick<TaskRow, "id" | "created" | "status">): IndexRow {
  return { id, created, mayRun: status === "processing" };
}

function rowOf(bytes: Buffer): IndexRow | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString("utf8"));
    if (!isRecord(line) || line.v !== FORMAT) return undefined;
    const { id, created, mayRun } = line;
    if (typeof id !== "string" || typeof created !== "string" || typeof mayRun !== "boolean") return undefined;
    return { id, created, mayRun };
  } catch {
    // Half a line of a killed process: its record is there or not.
    return undefined;
  }
}

const SHOWN = "The index of task records";

export class RecordIndex {
  readonly #file: string;
  readonly #scan: LineScan;
  readonly #rows = new Map<string, IndexRow>();

  /** `meta` is the folder of what belongs to none of the records. */
  constructor(meta: string) {
    this.#file = join(meta, INDEX_FILE);
    this.#scan = new LineScan({ file: this.#file, text: `{"v":${FORMAT},"id":`, shown: SHOWN });
  }

  add(...rows: readonly IndexRow[]): void {
    this.#append(rows, { flush: false });
  }

  /** The same of a task that runs again: a row of before, which says that it has ended, must not outlive this one. */
  addAgain(row: IndexRow): void {
    this.#append([row], { flush: true });
  }

  #append(rows: readonly IndexRow[], { flush }: { readonly flush: boolean }): void {
    for (let at = 0; at < rows.length; at += BATCH_ROWS) {
      const lines = rows.slice(at, at + BATCH_ROWS).map((row) => JSON.stringify({ v: FORMAT, ...row }));
      appendLines(this.#file, lines, { shown: SHOWN, flush });
    }
  }

  /**
   * The rows of these records, newest first. `missing` reads the rows of those that it lacks, which it then knows.
   */
  rowsOf(ids: readonly string[], missing: (ids: readonly string[]) => readonly IndexRow[]): readonly IndexRow[] {
    this.#readOn();
    const unknown = ids.filter((id) => !this.#rows.has(id));
    if (unknown.length > 0) {
      this.add(...missing(unknown));
      this.#readOn();
    }
    const rows = ids.flatMap((id) => this.#rows.get(id) ?? []);
    return rows.sort((a, b) => compared(b.created, a.created) || compared(a.id, b.id));
  }

  #readOn(): void {
    const found: IndexRow[] = [];
    const read = this.#scan.readOn((bytes) => {
      const row = rowOf(bytes);
      if (row !== undefined) found.push(row);
    });
    if (read === "again") this.#rows.clear();
    for (const row of found) this.#rows.set(row.id, row);
  }
}

/** As text; thousands of times are compared, and `localeCompare` costs twenty times as much. */
function compared(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
