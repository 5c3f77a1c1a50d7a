// What the tasks of a root task have used, written down as it happens: a line for each task that is dispatched and for each
// step of a model. It outlives its tasks, so quotas count from it; a run whose process was killed gets its usage from it.
//
// {"v":1,"at":"2026-01-02T03:04:05.678Z","type":"usage","task":"3f…","run":1,"kind":"chat","model":"p/m","input":10,…}
import { join } from "node:path";
import { isRecord } from "../../shapes.ts";
import { kindAt } from "../../storage/blobs.ts";
import { appendLines } from "../../storage/line-log.ts";
import { LineScan } from "../../storage/line-scan.ts";
import type { Held } from "../../storage/locked-files.ts";
import type { QuotaUsage, RunUsage } from "../task-view.ts";
import { nowText, type TaskRecord } from "./schema.ts";

const LEDGER_FILE = "usage.jsonl";
/** Of each line; lines of a newer one are passed over. */
const FORMAT = 1;
const SHOWN = "The ledger of what tasks used";

type Line = Readonly<Record<string, unknown>>;

/** Which run of which task. */
export interface RunName {
  readonly task: string;
  readonly run: number;
}

/** Days are UTC, so that every process of a root task counts the same. */
function dayOf(time: string): string {
  return time.slice(0, 10);
}

function lineOf(bytes: Buffer): Line | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString("utf8"));
    return isRecord(line) && line.v === FORMAT ? line : undefined;
  } catch {
    // Half a line of a killed process.
    return undefined;
  }
}

function lineText(row: Line): string {
  return JSON.stringify({ v: FORMAT, ...row });
}

function figure(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function usageOf({ kind, model, input, output, cached, amount }: Line): RunUsage {
  return {
    kind: kind === "image" || kind === "internal" ? kind : "chat",
    model: typeof model === "string" ? model : "unknown",
    ...{ input: figure(input), output: figure(output), cached: figure(cached) },
    amount: typeof amount === "number" && Number.isFinite(amount) && amount >= 0 ? amount : null,
  };
}

export class UsageLedger {
  readonly #file: string;
  /** The day that is being counted, and how far. */
  #day: { readonly name: string; readonly scan: LineScan; used: QuotaUsage } | undefined;

  /** `meta` is the folder of what belongs to none of the records. */
  constructor(meta: string) {
    this.#file = join(meta, LEDGER_FILE);
  }

  exists(): boolean {
    return kindAt(this.#file) !== "missing";
  }

  addTask(task: string): void {
    this.#add([{ at: nowText(), type: "task", task }]);
  }

  addUsage({ task, run }: RunName, usage: RunUsage): void {
    this.#add([{ at: nowText(), type: "usage", task, run, ...usage }]);
  }

  /** Begins with what records of before there was a ledger say; under a lock, and whole or not at all. */
  seed(records: readonly TaskRecord[], held: Held): void {
    if (this.exists()) return;
    const rows = records.flatMap(({ task, usage }) => [
      { at: task.created, type: "task", task: task.id },
      ...usage.map(({ created, kind, model, input, output, cached, amount }) => ({
        ...{ at: created, type: "usage", task: task.id, run: 0 },
        ...{ kind, model, input, output, cached, amount },
      })),
    ]);
    const content = Buffer.from(rows.map((row) => `${lineText(row)}\n`).join(""), "utf8");
    held.replace({ target: this.#file, content, shown: SHOWN });
  }

  /** What was used on the day of a time. */
  usedOn(time: string): QuotaUsage {
    const name = dayOf(time);
    if (this.#day?.name !== name) this.#day = { name, scan: this.#scan(`"at":"${name}`), used: NOTHING };
    const day = this.#day;
    const before = day.used;
    let added = NOTHING;
    const read = day.scan.readOn((bytes) => {
      const line = lineOf(bytes);
      if (line !== undefined && typeof line.at === "string" && dayOf(line.at) === name) added = plus(added, line);
    });
    day.used = read === "on" ? sum(before, added) : added;
    return day.used;
  }

  /** What one run has used, step by step. */
  usageOf({ task, run }: RunName): readonly RunUsage[] {
    const found: RunUsage[] = [];
    this.#scan(`"task":${JSON.stringify(task)}`).readOn((bytes) => {
      const line = lineOf(bytes);
      if (line?.type === "usage" && line.task === task && line.run === run) found.push(usageOf(line));
    });
    return found;
  }

  #scan(text: string): LineScan {
    return new LineScan({ file: this.#file, text, shown: SHOWN });
  }

  #add(rows: readonly Line[]): void {
    appendLines(this.#file, rows.map(lineText), { shown: SHOWN, flush: true });
  }
}

const NOTHING: QuotaUsage = { tokens: 0, amount: 0, tasks: 0 };

function plus(used: QuotaUsage, line: Line): QuotaUsage {
  if (line.type === "task") return { ...used, tasks: used.tasks + 1 };
  if (line.type !== "usage") return used;
  const { input, output, cached, amount } = usageOf(line);
  return { ...used, tokens: used.tokens + input + output + cached, amount: used.amount + (amount ?? 0) };
}

function sum(a: QuotaUsage, b: QuotaUsage): QuotaUsage {
  return { tokens: a.tokens + b.tokens, amount: a.amount + b.amount, tasks: a.tasks + b.tasks };
}
