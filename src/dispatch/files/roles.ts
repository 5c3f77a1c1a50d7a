// Which of the files that a run left behind are kept, and as what: products or intermediate files. Pure.
import { join } from "node:path";
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
  /** Where it lies below its folder, segments joined by `/`; left out, it is its name. */
  readonly path?: string;
  readonly role: FileRole;
}

export const OUTPUT_FOLDER = "output";
export const WORK_FOLDER = "work";
export const ATTACHMENTS_FOLDER = "attachments";

const REPORT = "report.html";
/** Kept of one run; a dependency folder would hold thousands. */
const KEPT_MAX_FILES = 200;
/** Kept of one run, so that it cannot fill the disk twice. */
const KEPT_MAX_BYTES = 1_000_000_000;
/** Paths that one step names. */
export const PATHS_SHOWN_MAX = 20;

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

/** The spreadsheets, by their folder and their name without its extension. */
function sheetsOf(paths: readonly string[]): ReadonlySet<string> {
  return new Set(paths.filter((path) => formOf(path) === "spreadsheet").map(sheetKey));
}

function sheetKey(path: string): string {
  return `${dirname(path)}/${foldedName(baseName(path))}`;
}

export interface CollectedRole {
  /** Relative to the task's directory, segments joined by `/`. */
  readonly path: string;
  /** Undefined for a file that is not kept. */
  readonly role: Exclude<FileRole, "input"> | undefined;
}

/** The path of a file below the folder for its kind, by its path in the task's directory. */
export function pathInFolder(path: string): string {
  const folder = [OUTPUT_FOLDER, WORK_FOLDER].find((name) => path.startsWith(`${name}/`));
  return folder === undefined ? path : path.slice(folder.length + 1);
}

/** The roles of all files in the task's directory, copies of inputs left out. */
export function collectedRoles(paths: readonly string[], goal: string): readonly CollectedRole[] {
  const own = paths.filter((path) => !path.startsWith(`${ATTACHMENTS_FOLDER}/`));
  const sheets = sheetsOf(own);
  return own.map((path) => {
    const name = basename(path);
    // A CSV or TSV next to a spreadsheet of the same name is its copy for checking.
    const isCheckCopy = isTable(path) && sheets.has(sheetKey(path));
    const isProduct = path.startsWith(`${OUTPUT_FOLDER}/`) && foldedName(name) !== REPORT && !isCheckCopy;
    if (!isProduct) return { path, role: "intermediate" };
    return { path, role: isMarkdown(name) && !isNamedIn(goal, name) ? undefined : "output" };
  });
}

/** Files to store, and what to report to the person, one line each. */
export interface Collection {
  readonly files: readonly NewFile[];
  readonly steps: readonly string[];
}

/** Products first, within the bounds of one run. `base` is the task's directory. */
export function filesToKeep(
  found: readonly { readonly path: string; readonly bytes: number }[],
  goal: string,
  base: string,
): Collection {
  const sizes = new Map(found.map(({ path, bytes }) => [path, bytes]));
  const roles = collectedRoles([...sizes.keys()].sort(), goal);
  const files: NewFile[] = [];
  let bytes = 0;
  let left = 0;
  for (const role of ["output", "intermediate"] as const) {
    for (const { path } of roles.filter((each) => each.role === role)) {
      const size = sizes.get(path) ?? 0;
      if (files.length >= KEPT_MAX_FILES || bytes + size > KEPT_MAX_BYTES) {
        left++;
        continue;
      }
      bytes += size;
      files.push({ source: join(base, path), filename: basename(path), path: pathInFolder(path), role });
    }
  }
  const dropped = roles.filter(({ role }) => role === undefined).map(({ path }) => path);
  const steps = [...namedPaths("Markdown that the goal does not name was not kept", dropped)];
  if (left > 0)
    steps.push(
      `Not collected: ${left} more files, past ${KEPT_MAX_FILES} files or ${KEPT_MAX_BYTES} bytes of one run.`,
    );
  return { files, steps };
}

/** A step that names some of the paths; none when there are no paths. */
export function namedPaths(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const shown = [...paths].sort().slice(0, PATHS_SHOWN_MAX);
  const more = paths.length > shown.length ? `, and ${paths.length - shown.length} more` : "";
  return [`${what}: ${shown.join(", ")}${more}.`];
}
