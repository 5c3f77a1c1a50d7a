// The list of tasks: a row for each, in columns. Pure but for the age, which is given.
import type { LiveTask, TaskView, UsageRow } from "../dispatch/task-view.ts";
import { counted, grouped } from "../figures.ts";
import { columnsOf, fitted } from "./columns.ts";

/** An id is cut to this where no other begins alike. */
const ID_MIN_CHARS = 8;
const GOAL_MAX_COLUMNS = 60;
/** With less, other columns go. */
const GOAL_MIN_COLUMNS = 20;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Such as `40 s`, `12 min`, `5 h`, `3 d`. */
export function ageText(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(0, Math.floor(ms / SECOND_MS))} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  return ms < DAY_MS ? `${Math.floor(ms / HOUR_MS)} h` : `${Math.floor(ms / DAY_MS)} d`;
}

/** What the models took, in the provider's money where it says so, else in tokens; empty for nothing. */
export function costText(usage: readonly Pick<UsageRow, "amount" | "input" | "output" | "cached">[]): string {
  const amounts = usage.flatMap(({ amount }) => (amount === null || amount === 0 ? [] : [amount]));
  if (amounts.length > 0) return `$${amounts.reduce((sum, amount) => sum + amount, 0).toFixed(2)}`;
  const tokens = usage.reduce((sum, row) => sum + row.input + row.output + row.cached, 0);
  return tokensText(tokens);
}

function tokensText(tokens: number): string {
  return tokens === 0 ? "" : counted(tokens, "token");
}

/** The shortest beginnings, of at least eight characters, that tell these ids apart. */
export function shortIds(ids: readonly string[]): readonly string[] {
  const longest = Math.max(0, ...ids.map((id) => id.length));
  for (let length = ID_MIN_CHARS; length < longest; length++) {
    const short = ids.map((id) => id.slice(0, length));
    if (new Set(short).size === ids.length) return short;
  }
  return ids;
}

function statusWord({ status, progress }: TaskView): string {
  if (status !== "processing") return status;
  return progress === "queued" ? "queued" : "running";
}

export interface RowsOptions {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** The ids of all tasks, so that the shown beginnings are of one each. */
  readonly ids: readonly string[];
  /** What runs in this process: it knows more of these than their records, which are written now and then. */
  readonly live?: readonly LiveTask[];
  /** The width to keep to; rows are as long as they are when left out. */
  readonly columns?: number | undefined;
}

const HEADINGS = ["id", "status", "age", "steps", "cost", "sandbox", "goal"] as const;
type Heading = (typeof HEADINGS)[number];
/** What a narrow terminal does without, the first one first. */
const DISPENSABLE: readonly Heading[] = ["cost", "steps", "age", "sandbox"];
const BETWEEN = "  ";

type Cells = Readonly<Record<Heading, string>>;

function cellsOf(task: TaskView, id: string, { nowMs, live = [] }: RowsOptions): Cells {
  const now = live.find((each) => each.id === task.id);
  return {
    id,
    status: statusWord(task),
    age: ageText(nowMs - Date.parse(task.created)),
    steps: grouped(now?.steps ?? task.steps.length),
    cost: now === undefined ? costText(task.usage) : tokensText(now.tokens),
    sandbox: task.sandbox ?? "none",
    goal: task.title,
  };
}

/** A heading and a row for each task; every column but the last is as wide as its widest cell. Sandboxes stand there where one is. */
export function taskRows(tasks: readonly TaskView[], options: RowsOptions): readonly string[] {
  const { ids, columns = Number.POSITIVE_INFINITY } = options;
  const short = new Map(shortIds(ids).map((id, at) => [ids[at], id]));
  const heads = Object.fromEntries(HEADINGS.map((heading) => [heading, heading])) as Cells;
  const rows = [heads, ...tasks.map((task) => cellsOf(task, short.get(task.id) ?? task.id, options))];
  const widthOf = (heading: Heading) => Math.max(...rows.map((row) => columnsOf(row[heading])));
  const before = new Map(HEADINGS.slice(0, -1).map((heading) => [heading, widthOf(heading)]));
  if (tasks.every(({ sandbox }) => sandbox === null)) before.delete("sandbox");
  const used = () => [...before.values()].reduce((sum, width) => sum + width + BETWEEN.length, 0);
  for (const heading of DISPENSABLE) if (columns - used() < GOAL_MIN_COLUMNS) before.delete(heading);
  const room = Math.max(1, Math.min(GOAL_MAX_COLUMNS, columns - used()));
  return rows.map((row) => {
    const cells = [...before].map(
      ([heading, width]) => `${row[heading]}${" ".repeat(width - columnsOf(row[heading]))}`,
    );
    return [...cells, fitted(row.goal, room)].join(BETWEEN);
  });
}
