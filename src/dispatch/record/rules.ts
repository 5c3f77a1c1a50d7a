// The task record: what is kept of a dispatched task, and the rules its rows keep. Rows hold metadata only; bytes lie in
// files beside the record. Pure.
import { shownValue, TokenBudgetError } from "../../errors.ts";
import { headOf, oneLine, shorten } from "../../storage/text.ts";

/** Longest title, in characters. */
export const TITLE_MAX_CHARS = 60;
/** Longest goal that is accepted, in characters; so is the context beside it. */
export const GOAL_MAX_CHARS = 50_000;
/** Rows of steps that are kept of a run. */
export const STEPS_MAX_ROWS = 200;
/** Longest row of steps, in characters; so is the progress hint. */
export const STEP_MAX_CHARS = 500;
/** Longest result that is kept, in characters: a record is read whole. */
export const RESULT_MAX_CHARS = 200_000;
export const ERROR_MAX_CHARS = 2_000;

export const UNTITLED = "Untitled task";
export const PROGRESS_QUEUED = "queued";
export const ERROR_INTERRUPTED = "interrupted";

/** How a task stands; one that waits for its turn is `processing`, with the progress `queued`. */
export type TaskStatus = "processing" | "completed" | "failed" | "cancelled";
export type FileRole = "input" | "output" | "intermediate";

export interface TaskRow {
  readonly id: string;
  readonly rootSession: string;
  /** Address of the agent that works, or worked last, on it. */
  readonly agent: string;
  /** Address of the agent that dispatched it. */
  readonly parent: string;
  readonly category: string | null;
  /** Whether the category was declared; without that it is the parent's. */
  readonly categoryOwn: boolean;
  readonly title: string;
  readonly requirement: string;
  readonly context: string | null;
  readonly runner: string;
  readonly status: TaskStatus;
  readonly progress: string;
  readonly steps: readonly string[];
  readonly result: string | null;
  readonly error: string | null;
  /** `provider/id`; null when the runner chooses its own. */
  readonly model: string | null;
  /** Whether whoever dispatched it chose the model. */
  readonly modelPinned: boolean;
  /** The working directory that was asked for; null for one of its own. */
  readonly cwd: string | null;
  /** The dispatching agent's latest human messages, by their ids; the child resolves them as itself. */
  readonly references: {
    readonly agent: string;
    readonly items: readonly { readonly item: string; readonly window: string }[];
  };
  /** How often it was run. */
  readonly runs: number;
  /** The process that runs it; null when none does. */
  readonly process: { readonly pid: number; readonly start: string | null } | null;
  /** ISO 8601, as all times here. */
  readonly created: string;
  readonly updated: string;
}

export interface FileRow {
  readonly id: string;
  readonly task: string;
  readonly filename: string;
  readonly storedName: string;
  readonly contentType: string;
  readonly kind: "word" | "pdf" | "other";
  /** Bytes. */
  readonly size: number;
  /** Of the stored bytes, hex. */
  readonly sha256: string;
  readonly role: FileRole;
  readonly created: string;
}

/** What one model did for a task. */
export interface UsageRow {
  /** Of this row. */
  readonly id: string;
  /** What was made: `chat` for the model's answers, and what runners of one's own say. */
  readonly kind: "chat" | "image" | "internal";
  /** `provider/id`. */
  readonly model: string;
  /** Tokens that the provider read anew. */
  readonly input: number;
  /** Tokens that the model wrote. */
  readonly output: number;
  /** Tokens that the provider had in its cache. */
  readonly cached: number;
  /** Number of runs that the row counts: 1. */
  readonly quantity: number;
  /** The provider's own cost figure, in its currency (Pi's: US dollars); null when it gives none. */
  readonly amount: number | null;
  /** Id of the task. */
  readonly task: string;
  /** When the run ended, ISO 8601. */
  readonly created: string;
}

export interface TaskRecord {
  readonly task: TaskRow;
  readonly files: readonly FileRow[];
  readonly usage: readonly UsageRow[];
}

/** A dispatch that a quota refused. */
export interface Refusal {
  readonly id: string;
  readonly surface: "task" | "chat" | "image";
  readonly created: string;
}

/** A file to take into a record. */
export interface NewFile {
  /** Absolute path of the bytes now. */
  readonly source: string;
  readonly filename: string;
  readonly role: FileRole;
}

/** First non-empty line of the goal, else the first attachment's name, else a fixed text. */
export function titleOf(goal: string, attachments: readonly string[]): string {
  const lines = goal.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => oneLine(line));
  const first = [...lines, oneLine(attachments[0] ?? ""), UNTITLED].find((line) => line !== "") ?? UNTITLED;
  return headOf(first, TITLE_MAX_CHARS).toWellFormed();
}

/** A goal as it is kept: trimmed, and empty only beside an attachment. */
export function parseGoal(value: unknown, attachments: number): string {
  if (typeof value !== "string") {
    throw new TokenBudgetError(
      "invalid_argument",
      `goal is ${shownValue(value)}; it must be a text that says what is to be done.`,
    );
  }
  assertLength("goal", value);
  const goal = value.trim().toWellFormed();
  if (goal !== "" || attachments > 0) return goal;
  throw new TokenBudgetError(
    "invalid_argument",
    "goal is empty; say what is to be done. It may be empty only when there is an attachment.",
  );
}

/** A text beside the goal; undefined and blank are none. */
export function parseContext(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") {
    throw new TokenBudgetError(
      "invalid_argument",
      `context is ${shownValue(value)}; it must be a text, or be left out.`,
    );
  }
  assertLength("context", value);
  return value.trim() === "" ? null : value.trim().toWellFormed();
}

function assertLength(field: string, value: string): void {
  if (headOf(value, GOAL_MAX_CHARS).length === value.length) return;
  throw new TokenBudgetError(
    "too_large",
    `${field} is longer than ${GOAL_MAX_CHARS.toLocaleString("en-US")} characters (${shownValue(value)}). Nothing was stored. Shorten it, or put the text into a file and attach that.`,
  );
}

/** Whether a status may follow another: they only move forward. A rerun starts a run of its own. */
export function mayFollow(status: TaskStatus, next: TaskStatus): boolean {
  return status === "processing" || status === next;
}

/** Steps with one more; past the bound the oldest are left out, and the first row says how many. */
export function withStep(steps: readonly string[], step: string): readonly string[] {
  const line = shorten(oneLine(step), STEP_MAX_CHARS).toWellFormed();
  if (line === "") return steps;
  if (steps.length < STEPS_MAX_ROWS) return [...steps, line];
  const before = /^\((\d+) earlier steps left out\)$/.exec(steps[0] ?? "");
  const left = before ? Number(before[1]) + 1 : 2;
  return [`(${left} earlier steps left out)`, ...steps.slice(before ? 2 : 2), line];
}

export function progressLine(hint: string): string {
  return shorten(oneLine(hint), STEP_MAX_CHARS).toWellFormed();
}

export function errorLine(error: string): string {
  return shorten(error.trim(), ERROR_MAX_CHARS).toWellFormed();
}

/** How a run ended. */
export interface TaskEnd {
  readonly status: Exclude<TaskStatus, "processing">;
  readonly result: string | null;
  readonly error: string | null;
}

/** The task after the end of its run; one that has ended already stays as it is. */
export function ended(task: TaskRow, end: TaskEnd, now: string): TaskRow {
  if (!mayFollow(task.status, end.status) || task.status !== "processing") return task;
  const result = end.result === null ? null : shorten(end.result, RESULT_MAX_CHARS).toWellFormed();
  const error = end.error === null ? null : errorLine(end.error);
  return { ...task, status: end.status, progress: "", result, error, process: null, updated: now };
}

/** Files by what they are to the task. */
export function filesByRole(files: readonly FileRow[], role: FileRole): readonly FileRow[] {
  return files.filter((file) => file.role === role);
}
