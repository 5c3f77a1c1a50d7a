// The directory a task works in: made fresh with copies of the inputs, looked through when the run is over, and removed.
// Originals lie elsewhere and are never touched; nothing is collected that leads out of the directory.
import { dirname, join } from "node:path";
import { shownValue, TokenBudgetError } from "../../errors.ts";
import {
  blobFacts,
  copyPlainFile,
  kindAt,
  makePrivateDirectory,
  realPathOf,
  removeTree,
  writeNewText,
} from "../../storage/blobs.ts";
import { NODE_DISK } from "../../storage/disk.ts";
import { type FoundFile, walkPlainFiles } from "../../storage/tree.ts";
import type { FileRow, NewFile } from "../record/rules.ts";
import { workName } from "./names.ts";
import { ATTACHMENTS_FOLDER, collectedRoles, OUTPUT_FOLDER, WORK_FOLDER } from "./roles.ts";

/** Files that are collected of one run, the products first; a dependency folder would be thousands. */
const COLLECTED_MAX_FILES = 200;
/** Of the files of one run, so that a run cannot fill the disk twice. */
const COLLECTED_MAX_BYTES = 1_000_000_000;
/** Changed files of a foreign directory that steps name. */
const CHANGED_SHOWN_MAX = 20;
/** Files of a foreign directory that are looked at. */
const FOREIGN_MAX_FILES = 20_000;
const SHORT_ID_CHARS = 8;
const PI_TASK_FOLDER = ".pi-task";
/** Folders that nobody means when they ask what changed. */
const UNINTERESTING: ReadonlySet<string> = new Set([".git", "node_modules", PI_TASK_FOLDER]);

/** An input where the child finds it. */
export interface PlacedInput {
  readonly file: FileRow;
  /** Relative to the working directory, as the child is told. */
  readonly path: string;
  /** Absolute. */
  readonly at: string;
}

export interface WorkspaceOptions {
  readonly taskId: string;
  /** `tasks/<runId>/work`. */
  readonly workRoot: string;
  /** The directory that was asked for instead; null for one of the task's own. */
  readonly cwd: string | null;
  readonly inputs: readonly FileRow[];
  readonly pathOf: (file: FileRow) => string;
  readonly signal?: AbortSignal | undefined;
}

export interface Collection {
  readonly files: readonly NewFile[];
  /** What the person should know of it, one line each. */
  readonly steps: readonly string[];
}

type Seen = ReadonlyMap<string, string>;

function stamp(file: FoundFile): string {
  return `${file.bytes}:${file.modifiedMs}:${file.bornMs}`;
}

function isInteresting(directory: string): boolean {
  return !UNINTERESTING.has(directory.slice(directory.lastIndexOf("/") + 1));
}

/** A working directory that was asked for, checked. */
export function checkedCwd(cwd: unknown): string | null {
  if (cwd === undefined || cwd === null) return null;
  if (typeof cwd === "string" && cwd !== "" && !cwd.includes("\0") && kindAt(cwd) === "directory")
    return realPathOf(cwd);
  throw new TokenBudgetError(
    "invalid_argument",
    `cwd is ${shownValue(cwd)}; it must be the path of a directory that exists. Nothing was stored. Leave it out for a fresh directory.`,
  );
}

export class Workspace {
  /** Where the child works; absolute. */
  readonly cwd: string;
  /** Where attachments, output and work lie; absolute. */
  readonly base: string;
  /** That place as seen from the working directory: empty, or with a slash at its end. */
  readonly prefix: string;
  readonly inputs: readonly PlacedInput[];
  readonly #isForeign: boolean;
  readonly #pathOf: (file: FileRow) => string;
  readonly #before: Seen;

  private constructor(options: WorkspaceOptions, inputs: readonly PlacedInput[], before: Seen) {
    const { cwd, base, prefix } = placesOf(options);
    this.cwd = cwd;
    this.base = base;
    this.prefix = prefix;
    this.inputs = inputs;
    this.#isForeign = options.cwd !== null;
    this.#pathOf = options.pathOf;
    this.#before = before;
  }

  /** Makes the directory afresh, with copies of the inputs; where that fails, nothing of it stays. */
  static async open(options: WorkspaceOptions): Promise<Workspace> {
    const { base } = placesOf(options);
    removeTree(base);
    try {
      return await Workspace.#open(options);
    } catch (error) {
      removeTree(base);
      throw error;
    }
  }

  static async #open(options: WorkspaceOptions): Promise<Workspace> {
    const { base, prefix } = placesOf(options);
    if (options.cwd === null) makePrivateDirectory(options.workRoot);
    else makePrivateDirectory(join(options.cwd, PI_TASK_FOLDER));
    const shortId = options.taskId.slice(0, SHORT_ID_CHARS);
    const folder = join(base, ATTACHMENTS_FOLDER, shortId);
    for (const directory of [
      base,
      join(base, ATTACHMENTS_FOLDER),
      folder,
      join(base, OUTPUT_FOLDER),
      join(base, WORK_FOLDER),
    ]) {
      makePrivateDirectory(directory);
    }
    const inputs: PlacedInput[] = [];
    for (const [index, file] of options.inputs.entries()) {
      const name = `${String(index + 1).padStart(2, "0")}-${workName(file.filename)}`;
      const at = join(folder, name);
      const shown = `The working copy of ${shownValue(file.filename)}`;
      await copyPlainFile(options.pathOf(file), at, { shown, flush: false, signal: options.signal });
      inputs.push({ file, path: `${prefix}${ATTACHMENTS_FOLDER}/${shortId}/${name}`, at });
    }
    return new Workspace(options, inputs, options.cwd === null ? new Map() : foreignFiles(options.cwd));
  }

  /** Puts the text of an input beside its working copy; answers its path as the child is told. */
  putText(input: PlacedInput, text: string): string {
    writeNewText(`${input.at}.txt`, text);
    return `${input.path}.txt`;
  }

  /** What the run left behind. Working copies that were changed are put back. */
  async collect(goal: string): Promise<Collection> {
    const steps: string[] = [];
    for (const input of this.inputs)
      if (await this.#restored(input))
        steps.push(`Restored ${input.file.filename}: the run had changed its working copy.`);
    const { files, leftOut } = walkPlainFiles(
      NODE_DISK,
      this.base,
      (directory) => directory !== ATTACHMENTS_FOLDER && isInteresting(directory),
    );
    for (const { path, reason } of leftOut.slice(0, CHANGED_SHOWN_MAX)) {
      steps.push(`Not collected: ${path || "the task's directory"} is ${reason}.`);
    }
    steps.push(...this.#changedElsewhere());
    const { kept, steps: bounds } = bounded(files, goal, this.base);
    return { files: kept, steps: [...steps, ...bounds] };
  }

  /** The directory may vanish after the run; a foreign one keeps everything but the task's own folder. */
  remove(): void {
    try {
      removeTree(this.base);
    } catch {
      // A process of the run may still write there; the next start of the task makes it afresh.
    }
  }

  async #restored(input: PlacedInput): Promise<boolean> {
    const facts = await blobFacts(input.at);
    if (facts?.sha256 === input.file.sha256 && facts.bytes === input.file.size) return false;
    // A run may have put links in the place of our directories: nothing is written through them.
    const folders = [this.base, join(this.base, ATTACHMENTS_FOLDER), dirname(input.at)];
    if (folders.some((folder) => kindAt(folder) !== "directory")) return true;
    try {
      removeTree(input.at);
      await copyPlainFile(this.#pathOf(input.file), input.at, { shown: "The working copy", flush: false });
    } catch {
      // The stored original stands all the same; the copy vanishes with the directory.
    }
    return true;
  }

  #changedElsewhere(): readonly string[] {
    if (!this.#isForeign) return [];
    const after = foreignFiles(this.cwd);
    const changed = [...after].filter(([path, now]) => this.#before.get(path) !== now).map(([path]) => path);
    const removed = [...this.#before.keys()].filter((path) => !after.has(path));
    return [
      ...named("Changed in the working directory", changed),
      ...named("Removed from the working directory", removed),
    ];
  }
}

function placesOf({ taskId, workRoot, cwd }: WorkspaceOptions): { cwd: string; base: string; prefix: string } {
  if (cwd === null) return { cwd: join(workRoot, taskId), base: join(workRoot, taskId), prefix: "" };
  return { cwd, base: join(cwd, PI_TASK_FOLDER, taskId), prefix: `${PI_TASK_FOLDER}/${taskId}/` };
}

function foreignFiles(cwd: string): Seen {
  const { files } = walkPlainFiles(NODE_DISK, cwd, isInteresting);
  return new Map(files.slice(0, FOREIGN_MAX_FILES).map((file) => [file.path, stamp(file)]));
}

function named(what: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const shown = [...paths].sort().slice(0, CHANGED_SHOWN_MAX);
  const more = paths.length > shown.length ? `, and ${paths.length - shown.length} more` : "";
  return [`${what}: ${shown.join(", ")}${more}.`];
}

/** The files to keep, products first, within the bounds of one run. */
function bounded(files: readonly FoundFile[], goal: string, base: string): { kept: NewFile[]; steps: string[] } {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const roles = collectedRoles([...byPath.keys()].sort(), goal);
  const wanted = [
    ...roles.filter(({ role }) => role === "output"),
    ...roles.filter(({ role }) => role === "intermediate"),
  ];
  const kept: NewFile[] = [];
  let bytes = 0;
  let left = 0;
  for (const { path, role } of wanted) {
    const size = byPath.get(path)?.bytes ?? 0;
    if (role === undefined || kept.length >= COLLECTED_MAX_FILES || bytes + size > COLLECTED_MAX_BYTES) {
      left++;
      continue;
    }
    bytes += size;
    kept.push({ source: join(base, ...path.split("/")), filename: path.slice(path.lastIndexOf("/") + 1), role });
  }
  const dropped = roles.filter(({ role }) => role === undefined).map(({ path }) => path);
  const steps = named("Markdown that nobody asked for by name was not kept", dropped);
  if (left === 0) return { kept, steps: [...steps] };
  return {
    kept,
    steps: [
      ...steps,
      `Not collected: ${left} more files, past ${COLLECTED_MAX_FILES} files or ${COLLECTED_MAX_BYTES} bytes of one run.`,
    ],
  };
}
