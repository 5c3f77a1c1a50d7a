// Tasks as others see them: without stored names and processes, and in neutral form where they may not be read. Pure.
import { type Category, canRead } from "../../task/category.ts";
import type { FileRow, TaskRecord, TaskStatus, UsageRow } from "./rules.ts";
import { filesByRole } from "./rules.ts";

/** A file of a task; `openFile` gives its bytes. */
export interface FileView {
  /** As `openFile` takes it. */
  readonly id: string;
  /** Its name, without a folder. */
  readonly filename: string;
  /** Its MIME type, by the name. */
  readonly contentType: string;
  /** `word` and `pdf` by the name; `other` is everything else. */
  readonly kind: FileRow["kind"];
  /** Bytes. */
  readonly size: number;
  /** When it was stored, ISO 8601. */
  readonly created: string;
}

/** A task as it stands. */
export interface TaskView {
  /** As `get`, `rerun`, `cancel` and `remove` take it. */
  readonly id: string;
  /** Id of the root session of its root task. */
  readonly rootSession: string;
  /** Address of the agent that works, or worked last, on it. */
  readonly agent: string;
  /** What its content is: a label, or null for ordinary content. */
  readonly category: Category;
  /** The goal's first line, at most 60 characters. */
  readonly title: string;
  /** The whole goal. */
  readonly requirement: string;
  /** Name of the runner that carries it out. */
  readonly runner: string;
  /** How it stands. */
  readonly status: TaskStatus;
  /** The latest hint while it runs, `queued` while it waits; else empty. */
  readonly progress: string;
  /** What it did, oldest first: at most 200 lines of 500 characters. */
  readonly steps: readonly string[];
  /** The child's last answer, at most 200,000 characters; null until it is completed. */
  readonly result: string | null;
  /** Why it failed, such as `interrupted`; null when it did not. */
  readonly error: string | null;
  /** `provider/id`; null when the runner chose its own. */
  readonly model: string | null;
  /** When it was dispatched, ISO 8601. */
  readonly created: string;
  /** When its record last changed, ISO 8601. */
  readonly updated: string;
  /** What was attached. */
  readonly files: readonly FileView[];
  /** Finished products. */
  readonly outputs: readonly FileView[];
  /** Everything else that it made, newest first. */
  readonly intermediates: readonly FileView[];
  /** What models did for it, a row for each kind and model. */
  readonly usage: readonly UsageRow[];
}

/** A task that may not be read: that it is there, and nothing of it. */
export interface RestrictedTask {
  /** Address of the agent that works on it. */
  readonly agent: string;
  /** Tells it from a `TaskView`. */
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
