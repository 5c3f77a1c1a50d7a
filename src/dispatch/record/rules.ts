// The rules that the rows of a record keep: titles, steps, ends, and who may read it. Pure.
import { oneLine, shorten } from "../../storage/text.ts";
import { type Category, canRead } from "../../task/category.ts";
import type { FileRole } from "../files/roles.ts";
import {
  ERROR_MAX_CHARS,
  type FileRow,
  RESULT_MAX_CHARS,
  STEP_MAX_CHARS,
  STEPS_MAX_ROWS,
  type TaskRecord,
  type TaskRow,
  TITLE_MAX_CHARS,
} from "./schema.ts";

const UNTITLED = "Untitled task";
export const PROGRESS_QUEUED = "queued";
export const ERROR_INTERRUPTED = "interrupted";

/** First non-empty line of the goal, else the first attachment's name, else a fixed text. */
export function titleOf(goal: string, attachments: readonly string[]): string {
  const lines = goal.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => oneLine(line));
  const first = [...lines, oneLine(attachments[0] ?? "")].find((line) => line !== "") ?? UNTITLED;
  return shorten(first, TITLE_MAX_CHARS).toWellFormed();
}

/** All that was asked for: what a file must be named in to be asked for by its name. */
export function askedOf({ task }: Pick<TaskRecord, "task">): string {
  return `${task.requirement}\n${task.context ?? ""}`;
}

export function progressLine(hint: string): string {
  return shorten(oneLine(hint), STEP_MAX_CHARS).toWellFormed();
}

/** Adds a step; past the bound the oldest are dropped, and the first row says how many. */
export function withStep(steps: readonly string[], step: string): readonly string[] {
  const line = progressLine(step);
  if (line === "") return steps;
  if (steps.length < STEPS_MAX_ROWS) return [...steps, line];
  const before = /^\((\d+) earlier steps left out\)$/.exec(steps[0] ?? "");
  const left = before ? Number(before[1]) + 1 : 2;
  return [`(${left} earlier steps left out)`, ...steps.slice(before ? 2 : 2), line];
}

const runSuffix = (run: number) => (run === 1 ? "" : `_run${run}`);
const LIKE_A_RUN = /_run\d+(?=\/|$)/;

/** Whether an address below `parent` could be taken for that of a later run of some task. */
export function isLikeARun(address: string, parent: string): boolean {
  return LIKE_A_RUN.test(address.slice(parent.length));
}

/**
 * Address of the agent of a run: an address belongs to one session, so each run is an agent of its own. Only the suffix of
 * the task's latest run is taken off: another one may belong to the name that was chosen.
 */
export function agentOfRun({ agent, runs }: Pick<TaskRow, "agent" | "runs">, run: number): string {
  const suffix = runSuffix(runs);
  const first = agent.endsWith(suffix) ? agent.slice(0, agent.length - suffix.length) : agent;
  return `${first}${runSuffix(run)}`;
}

/** The agents of all runs of a task. */
export function agentsOfRuns(task: Pick<TaskRow, "agent" | "runs">): readonly string[] {
  return Array.from({ length: task.runs }, (_, at) => agentOfRun(task, at + 1));
}

/** Which run of a task, and by which process. */
export type RunOfTask = Pick<TaskRow, "id" | "runs" | "process">;

/** Whether the task is in that run, and not in another one or ended. */
export function isInRun(task: TaskRow, { runs, process }: RunOfTask): boolean {
  return (
    task.status === "processing" &&
    task.runs === runs &&
    task.process?.pid === process?.pid &&
    task.process?.start === process?.start
  );
}

/** How a run ended. */
export interface TaskEnd {
  readonly status: Exclude<TaskRow["status"], "processing">;
  readonly result: string | null;
  readonly error: string | null;
}

/**
 * The task after its run; a task that has already ended is returned as it is, since statuses only move forward. Without a
 * result it keeps that of the run before.
 */
export function ended(task: TaskRow, { status, result, error }: TaskEnd, now: string): TaskRow {
  if (task.status !== "processing") return task;
  return {
    ...task,
    status,
    progress: "",
    result: result === null ? task.result : shorten(result, RESULT_MAX_CHARS).toWellFormed(),
    error: error === null ? null : shorten(error.trim(), ERROR_MAX_CHARS).toWellFormed(),
    process: null,
    updated: now,
  };
}

export function filesByRole(files: readonly FileRow[], role: FileRole): readonly FileRow[] {
  return files.filter((file) => file.role === role);
}

export interface FilesAfterRun {
  readonly files: readonly FileRow[];
  /** Those that are named no more. */
  readonly dropped: readonly FileRow[];
}

/**
 * A run that came to its end replaces the products of those before. Any other one replaces none that are whole: half products
 * beside them, or beside newer ones, count as intermediate.
 */
export function filesAfterRun(
  before: readonly FileRow[],
  made: readonly FileRow[],
  status: TaskEnd["status"],
): FilesAfterRun {
  const old = filesByRole(before, "output");
  const fresh = filesByRole(made, "output");
  const keepsOld = status !== "completed" && (fresh.length === 0 || old.some(({ partial }) => !partial));
  const asIntermediate = (rows: readonly FileRow[]) => rows.map((row) => ({ ...row, role: "intermediate" as const }));
  return {
    // New intermediates before the old: of two with one name the newer comes first.
    files: [
      ...filesByRole(before, "input"),
      ...(keepsOld ? old : fresh),
      ...(keepsOld ? asIntermediate(fresh) : []),
      ...filesByRole(made, "intermediate"),
      ...(keepsOld || status === "completed" ? [] : asIntermediate(old)),
      ...filesByRole(before, "intermediate"),
    ],
    dropped: status === "completed" ? old : [],
  };
}

/**
 * Whether an agent of category `viewer` may read a record. `current` is the category that the task's agent has now: after a
 * change by hand it may differ from the recorded one, and the stricter of the two counts. Undefined (unknown) hides it.
 */
export function mayView(viewer: Category, { task }: TaskRecord, current: Category | undefined): boolean {
  return current !== undefined && canRead(viewer, task.category) && canRead(viewer, current);
}
