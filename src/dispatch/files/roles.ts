// What each file that a run left behind is: a product, an intermediate file, or nothing to keep. Pure.
import { basename, dirname } from "node:path/posix";
import { formOf } from "../../extract/forms.ts";
import { foldedName } from "../../storage/tree.ts";
import { baseName, isMarkdown, isTable } from "./names.ts";

export type FileRole = "input" | "output" | "intermediate";

/** A file to store with a record. */
export interface NewFile {
  /** Absolute path of its bytes. */
  readonly source: string;
  readonly filename: string;
  readonly role: FileRole;
}

export const OUTPUT_FOLDER = "output";
export const WORK_FOLDER = "work";
export const ATTACHMENTS_FOLDER = "attachments";

const REPORT = "report.html";

/** Whether a goal asks for a file by its name, as a word of its own. */
export function isNamedIn(goal: string, name: string): boolean {
  const wanted = foldedName(name);
  const text = foldedName(goal);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const before = text[at - 1] ?? " ";
    const after = text[at + wanted.length] ?? " ";
    if (!/[\w.-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}

/** A CSV or TSV beside a spreadsheet of the same name is its copy for checking. */
function isCheckCopy(path: string, all: readonly string[]): boolean {
  if (!isTable(path)) return false;
  const base = foldedName(baseName(path));
  return all.some(
    (other) =>
      formOf(other) === "spreadsheet" && dirname(other) === dirname(path) && foldedName(baseName(other)) === base,
  );
}

export interface CollectedRole {
  /** Relative to the task's directory, segments joined by `/`. */
  readonly path: string;
  /** Undefined for a file that is not kept. */
  readonly role: Exclude<FileRole, "input"> | undefined;
}

/** The roles of all files in the task's directory, copies of inputs left out. */
export function collectedRoles(paths: readonly string[], goal: string): readonly CollectedRole[] {
  const own = paths.filter((path) => !path.startsWith(`${ATTACHMENTS_FOLDER}/`));
  return own.map((path) => {
    const name = basename(path);
    const isProduct = path.startsWith(`${OUTPUT_FOLDER}/`) && foldedName(name) !== REPORT && !isCheckCopy(path, own);
    if (!isProduct) return { path, role: "intermediate" };
    return { path, role: isMarkdown(name) && !isNamedIn(goal, name) ? undefined : "output" };
  });
}
