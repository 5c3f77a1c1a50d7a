// A record as a `TaskView`: only the fields named here leave the dispatcher. Pure.
import type { FileView, TaskView } from "../task-view.ts";
import { filesByRole } from "./rules.ts";
import type { FileRow, TaskRecord } from "./schema.ts";

const TASK_FIELDS = [
  "id",
  "rootSession",
  "agent",
  "parent",
  "category",
  "title",
  "requirement",
  "runner",
  "sandbox",
  "status",
  "progress",
  "steps",
  "result",
  "error",
  "model",
  "created",
  "updated",
] as const;
const FILE_FIELDS = ["id", "filename", "path", "partial", "contentType", "kind", "size", "created"] as const;

function picked<T extends object, Field extends keyof T>(row: T, fields: readonly Field[]): Pick<T, Field> {
  return Object.fromEntries(fields.map((field) => [field, row[field]])) as Pick<T, Field>;
}

export function taskView({ task, files, usage }: TaskRecord): TaskView {
  const views = (role: FileRow["role"]): FileView[] =>
    filesByRole(files, role).map((file) => picked(file, FILE_FIELDS));
  return {
    ...picked(task, TASK_FIELDS),
    files: views("input"),
    outputs: views("output"),
    intermediates: views("intermediate"),
    usage,
  };
}
