// Tasks as others see them: without stored names and processes, and in neutral form where they may not be read. Pure.
import { type Category, canRead } from "../task/category.ts";
import type { FileRow, TaskRecord, TaskStatus, UsageRow } from "./record.ts";
import { filesByRole } from "./record.ts";

export interface FileView {
  readonly id: string;
  readonly filename: string;
  readonly contentType: string;
  readonly kind: FileRow["kind"];
  /** Bytes. */
  readonly size: number;
  /** ISO 8601. */
  readonly created: string;
}

export interface TaskView {
  readonly id: string;
  readonly rootSession: string;
  /** Address of the agent that works, or worked last, on it. */
  readonly agent: string;
  readonly category: Category;
  readonly title: string;
  readonly requirement: string;
  readonly runner: string;
  readonly status: TaskStatus;
  /** The latest hint while it runs. */
  readonly progress: string;
  readonly steps: readonly string[];
  readonly result: string | null;
  readonly error: string | null;
  /** `provider/id`; null when the runner chose its own. */
  readonly model: string | null;
  readonly created: string;
  readonly updated: string;
  /** What was attached. */
  readonly files: readonly FileView[];
  readonly outputs: readonly FileView[];
  /** Newest first. */
  readonly intermediates: readonly FileView[];
  readonly usage: readonly UsageRow[];
}

/** A task that may not be read: that it is there, and nothing of it. */
export interface RestrictedTask {
  readonly agent: string;
  readonly restricted: true;
}

function fileView({ id, filename, contentType, kind, size, created }: FileRow): FileView {
  return { id, filename, contentType, kind, size, created };
}

export function taskView({ task, files, usage }: TaskRecord): TaskView {
  const { id, rootSession, agent, category, title, requirement, runner, status, progress } = task;
  const { steps, result, error, model, created, updated } = task;
  const withRole = (role: FileRow["role"]) => filesByRole(files, role).map(fileView);
  return {
    id,
    rootSession,
    agent,
    category,
    title,
    requirement,
    runner,
    status,
    progress,
    steps,
    result,
    error,
    model,
    created,
    updated,
    files: withRole("input"),
    outputs: withRole("output"),
    intermediates: withRole("intermediate"),
    usage,
  };
}

/**
 * Whether an agent may read a record. It and what its agent's content is now may disagree after a change by hand: the
 * stricter one counts, and of content that nobody can name, nothing is shown.
 */
export function mayView(viewer: Category, { task }: TaskRecord, now: Category | undefined): boolean {
  return now !== undefined && canRead(viewer, task.category) && canRead(viewer, now);
}
