// The directory a task works in: created with copies of the inputs, collected from after the run, and removed. It never
// touches the stored originals, and never collects a path that leads out of the directory.
import { basename, dirname, join, relative, sep } from "node:path";
import { shownValue, TokenBudgetError } from "../../errors.ts";
import {
  blobFacts,
  copyPlainFile,
  kindAt,
  makePrivateDirectory,
  namesAt,
  realPathOf,
  removeLargeTree,
  removeTree,
  writeNewText,
} from "../../storage/blobs.ts";
import { codeOf, NODE_DISK } from "../../storage/disk.ts";
import { inSlices } from "../../storage/slices.ts";
import { removeEmpty, type Walk, type WalkLimits, walkingPlainFiles } from "../../storage/tree.ts";
import { workName } from "./names.ts";
import {
  ATTACHMENTS_FOLDER,
  type Collection,
  filesToKeep,
  type NewFile,
  namedPaths,
  OUTPUT_FOLDER,
  PATHS_SHOWN_MAX,
  WORK_FOLDER,
} from "./roles.ts";

/** Of a requested directory that is watched for changes; in a larger one none is named. */
const WATCHED: WalkLimits = { entries: 20_000, pathChars: 8_000_000 };
/** Of what a run leaves, in `output/` and in all the rest: many times what is kept. */
const COLLECTED: WalkLimits = { entries: 5_000, pathChars: 2_000_000 };
const SHORT_ID_CHARS = 8;
const PI_TASK_FOLDER = ".pi-task";
const CHILD_SUFFIX = ".child";
/** Changes in these are not reported. */
const IGNORED_FOLDERS: ReadonlySet<string> = new Set([".git", "node_modules", PI_TASK_FOLDER]);

/** A stored original. */
export interface StoredInput {
  readonly filename: string;
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** Absolute path. */
  readonly stored: string;
}

/** An input with its working copy. */
export interface PlacedInput extends StoredInput {
  /** Relative to the working directory. */
  readonly path: string;
  /** Absolute. */
  readonly at: string;
}

export interface WorkspaceOptions {
  readonly taskId: string;
  /** `tasks/<runId>/work`. */
  readonly workRoot: string;
  /** The directory that the request named; null for a fresh one. */
  readonly cwd: string | null;
  readonly inputs: readonly StoredInput[];
  readonly signal?: AbortSignal | undefined;
}

/** Size and times of each file, by its path; undefined where there are too many. */
type Snapshot = ReadonlyMap<string, string> | undefined;

function isWatched(directory: string): boolean {
  return !IGNORED_FOLDERS.has(basename(directory));
}

function isCollected(directory: string): boolean {
  return directory !== ATTACHMENTS_FOLDER && isWatched(directory);
}

/** The working directory that a request names, as a real path; null for none. */
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
  /** Where attachments/, output/ and work/ are; absolute. */
  readonly base: string;
  /** Path from `cwd` to `base`: empty, or with a slash at its end. */
  readonly prefix: string;
  readonly inputs: readonly PlacedInput[];
  /** The requested directory before the run; undefined for a fresh one. */
  readonly #before: Snapshot;
  readonly #place: TaskPlace;

  private constructor(options: WorkspaceOptions, inputs: readonly PlacedInput[], before: Snapshot) {
    this.#place = options;
    const { cwd, base, prefix } = placesOf(options);
    this.cwd = cwd;
    this.base = base;
    this.prefix = prefix;
    this.inputs = inputs;
    this.#before = before;
  }

  /** Creates the directory with copies of the inputs; a failure leaves nothing of it. */
  static async open(options: WorkspaceOptions): Promise<Workspace> {
    const { base } = placesOf(options);
    await removeLargeTree(base);
    try {
      return await Workspace.#open(options);
    } catch (error) {
      await removeWorkspace(options);
      throw error;
    }
  }

  static async #open(options: WorkspaceOptions): Promise<Workspace> {
    const { base, prefix } = placesOf(options);
    const folder = `${ATTACHMENTS_FOLDER}/${options.taskId.slice(0, SHORT_ID_CHARS)}`;
    makePrivateDirectory(dirname(base));
    for (const directory of ["", ATTACHMENTS_FOLDER, folder, OUTPUT_FOLDER, WORK_FOLDER])
      makePrivateDirectory(join(base, directory));
    const inputs: PlacedInput[] = [];
    for (const [index, input] of options.inputs.entries()) {
      const name = `${String(index + 1).padStart(2, "0")}-${workName(input.filename)}`;
      const at = join(base, folder, name);
      const shown = `The working copy of ${shownValue(input.filename)}`;
      await copyPlainFile(input.stored, at, { shown, flush: false, signal: options.signal });
      inputs.push({ ...input, path: `${prefix}${folder}/${name}`, at });
    }
    const before = options.cwd === null ? undefined : await snapshot(options.cwd, options.signal);
    return new Workspace(options, inputs, before);
  }

  /** Writes the text of an input next to its working copy; returns its path relative to the working directory. */
  putText(input: PlacedInput, text: string): string {
    writeNewText(`${input.at}.txt`, text);
    return `${input.path}.txt`;
  }

  /** What the run left behind. Changed working copies are restored from the originals. */
  async collect(goal: string): Promise<Collection> {
    const steps: string[] = [];
    for (const input of this.inputs)
      if (await this.#restored(input)) steps.push(`Restored ${input.filename}: the run had changed its working copy.`);
    const { files, leftOut, isCut } = await inSlices(collecting(this.base), undefined);
    if (isCut) steps.push(`Not collected: what is past ${COLLECTED.entries} files and folders.`);
    for (const { path, reason } of leftOut.slice(0, PATHS_SHOWN_MAX)) {
      steps.push(`Not collected: ${path || "the task's directory"} is ${reason}.`);
    }
    steps.push(...(await this.#changedElsewhere()));
    const kept = filesToKeep(files, goal, this.base);
    return { files: kept.files, steps: [...steps, ...kept.steps] };
  }

  /** What the task's files are called outside, by their paths below its folders. */
  namesOf(files: readonly NewFile[]): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    for (const { path, filename } of this.inputs) {
      const own = path.slice(this.prefix.length);
      for (const each of [own, `${own}.txt`]) names.set(each, filename);
    }
    for (const { source, filename, path = filename } of files)
      names.set(relative(this.base, source).replaceAll(sep, "/"), path);
    return names;
  }

  /** Of a requested directory, only the task's own folder is removed. */
  async remove(): Promise<void> {
    try {
      await removeWorkspace(this.#place);
    } catch {
      // A process of the run may still be writing there; the task's next run starts with an empty directory anyway.
    }
  }

  async #restored(input: PlacedInput): Promise<boolean> {
    const facts = await blobFacts(input.at);
    if (facts?.sha256 === input.sha256 && facts.bytes === input.size) return false;
    // A run may have replaced our directories with links: never write through them.
    const folders = [this.base, join(this.base, ATTACHMENTS_FOLDER), dirname(input.at)];
    if (folders.some((folder) => kindAt(folder) !== "directory")) return true;
    try {
      removeTree(input.at);
      await copyPlainFile(input.stored, input.at, { shown: "The working copy", flush: false });
    } catch {
      // The stored original is intact, and the copy goes with the directory.
    }
    return true;
  }

  async #changedElsewhere(): Promise<readonly string[]> {
    if (this.#place.cwd === null) return [];
    const before = this.#before;
    const after = before && (await snapshot(this.cwd));
    if (before === undefined || after === undefined) return [UNWATCHED];
    const changed = [...after].filter(([path, now]) => before.get(path) !== now).map(([path]) => path);
    const removed = [...before.keys()].filter((path) => !after.has(path));
    return [
      ...namedPaths("Changed in the working directory", changed),
      ...namedPaths("Removed from the working directory", removed),
    ];
  }
}

export type TaskPlace = Pick<WorkspaceOptions, "taskId" | "workRoot" | "cwd">;

/** Removes what a run may have left of its directory; of a person's own, no empty folder of ours stays either. */
export async function removeWorkspace(place: TaskPlace): Promise<void> {
  const { base } = placesOf(place);
  await removeLargeTree(base);
  if (place.cwd !== null) removeEmpty(NODE_DISK, [dirname(base)]);
}

/** What a run whose process is gone has written, as far as files of a run are kept. */
export async function leftByRun(place: TaskPlace, goal: string): Promise<readonly NewFile[]> {
  const { base } = placesOf(place);
  const { files } = await inSlices(collecting(base), undefined);
  return filesToKeep(files, goal, base).files;
}

/** Where a task works that was given no directory. */
export function freshDirectory(workRoot: string, taskId: string): string {
  return join(workRoot, taskId);
}

/** A folder for what belongs to the child process of a run. */
export function childFolder(workRoot: string, taskId: string): string {
  return join(workRoot, `${taskId}${CHILD_SUFFIX}`);
}

/** The tasks that have something in the folder of working directories. */
export function tasksWithLeftovers(workRoot: string): ReadonlySet<string> {
  const names = namesAt(workRoot).map((name) =>
    name.endsWith(CHILD_SUFFIX) ? name.slice(0, -CHILD_SUFFIX.length) : name,
  );
  return new Set(names);
}

function placesOf({ taskId, workRoot, cwd }: TaskPlace): { cwd: string; base: string; prefix: string } {
  const fresh = freshDirectory(workRoot, taskId);
  if (cwd === null) return { cwd: fresh, base: fresh, prefix: "" };
  return { cwd, base: join(cwd, PI_TASK_FOLDER, taskId), prefix: `${PI_TASK_FOLDER}/${taskId}/` };
}

const UNWATCHED = `Changes in the working directory are not named: it has more than ${WATCHED.entries} files and folders.`;

async function snapshot(cwd: string, signal?: AbortSignal): Promise<Snapshot> {
  const { files, isCut } = await inSlices(walkingPlainFiles(NODE_DISK, cwd, isWatched, WATCHED), signal);
  // Half of them would say that files have come or gone which were only past the other half.
  if (isCut) return undefined;
  return new Map(files.map(({ path, bytes, modifiedMs, bornMs }) => [path, `${bytes}:${modifiedMs}:${bornMs}`]));
}

/** Products first, so that no number of other files keeps them out. */
function* collecting(base: string): Generator<void, Walk> {
  const products = yield* productsIn(join(base, OUTPUT_FOLDER));
  const rest = yield* walkingPlainFiles(
    NODE_DISK,
    base,
    (directory) => directory !== OUTPUT_FOLDER && isCollected(directory),
    COLLECTED,
  );
  const below = <T extends { readonly path: string }>(found: readonly T[]) =>
    found.map((each) => ({ ...each, path: each.path === "" ? OUTPUT_FOLDER : `${OUTPUT_FOLDER}/${each.path}` }));
  return {
    files: [...below(products.files), ...rest.files],
    leftOut: [...below(products.leftOut), ...rest.leftOut],
    isCut: products.isCut === true || rest.isCut === true,
  };
}

function* productsIn(folder: string): Generator<void, Walk> {
  try {
    // What is there in its place is left out by the walk of the folder around it.
    if (kindAt(folder) !== "directory") return { files: [], leftOut: [] };
    return yield* walkingPlainFiles(NODE_DISK, folder, isWatched, COLLECTED);
  } catch (error) {
    return { files: [], leftOut: [{ path: "", reason: `unreadable directory (${codeOf(error) ?? "unknown error"})` }] };
  }
}
