// What a file that a run left behind is: a product, something in between, or nothing to keep. Pure.

import type { FileRole } from "../record/rules.ts";
import { baseName, isMarkdown, isSpreadsheet, isTable } from "./names.ts";

export const OUTPUT_FOLDER = "output";
export const WORK_FOLDER = "work";
export const ATTACHMENTS_FOLDER = "attachments";

const REPORT = "report.html";

function folded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Whether a goal asks for a file by its name, as a word of its own. */
export function isNamedIn(goal: string, name: string): boolean {
  const wanted = folded(name);
  const text = folded(goal);
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const before = text[at - 1] ?? " ";
    const after = text[at + wanted.length] ?? " ";
    if (!/[\w.-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}

/** A copy of a table for checking: the CSV or TSV with the name of a spreadsheet beside it. */
function isCheckCopy(path: string, all: readonly string[]): boolean {
  if (!isTable(path)) return false;
  const base = folded(baseName(path));
  return all.some(
    (other) => isSpreadsheet(other) && folderOf(other) === folderOf(path) && folded(baseName(other)) === base,
  );
}

export interface CollectedRole {
  /** Relative to the task's directory, segments joined by `/`. */
  readonly path: string;
  /** Undefined for what is not kept. */
  readonly role: Exclude<FileRole, "input"> | undefined;
}

/** The roles of the files that a run left behind in its directory, inputs left out. */
export function collectedRoles(paths: readonly string[], goal: string): readonly CollectedRole[] {
  const own = paths.filter((path) => !path.startsWith(`${ATTACHMENTS_FOLDER}/`));
  return own.map((path) => {
    if (!path.startsWith(`${OUTPUT_FOLDER}/`)) return { path, role: "intermediate" };
    const name = nameOf(path);
    if (folded(name) === REPORT || isCheckCopy(path, own)) return { path, role: "intermediate" };
    return { path, role: isMarkdown(name) && !isNamedIn(goal, name) ? undefined : "output" };
  });
}
