// `/tasks <id> save`: a task's files in a place of the person's choice. Which files are meant is decided here; nothing that is
// there is replaced without a yes.
import { basename, resolve, sep } from "node:path";
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import type { FileView, TaskView } from "../dispatch/task-view.ts";
import { counted } from "../figures.ts";
import { type CopyPlace, copyPlace, isFolder, saveCopy } from "../storage/save-copy.ts";

/** All finished products, as a word in the place of a file. */
export const ALL_FILES = "*";
/** Paths that a question or an answer names. */
const SHOWN_MAX = 10;

/** The files that a word names: one by its path or its name, or all in a folder. */
export function filesNamed(task: TaskView, word: string): readonly FileView[] {
  if (word === ALL_FILES) return task.outputs;
  const all = newestOfPath([...task.outputs, ...task.intermediates]);
  const exact = all.find(({ path }) => path === word);
  if (exact) return [exact];
  const folder = word.endsWith("/") ? word : `${word}/`;
  const below = all.filter(({ path }) => path.startsWith(folder));
  if (below.length > 0) return below;
  const named = all.filter(({ filename }) => filename === word);
  return named.length === 1 ? named : [];
}

/** Runs may have left several files of one path: the newest comes first, and is the one that is meant. */
function newestOfPath(files: readonly FileView[]): readonly FileView[] {
  return files.filter(({ path }, at) => files.findIndex((file) => file.path === path) === at);
}

/** The names of the files there are, after another one was named. */
function listed(task: TaskView): string {
  const paths = [...task.outputs, ...task.intermediates].map(({ path }) => path);
  if (paths.length === 0) return `Task ${task.id} has no files.`;
  const more = paths.length > SHOWN_MAX ? `, and ${paths.length - SHOWN_MAX} more` : "";
  return `Its files are ${paths.slice(0, SHOWN_MAX).join(", ")}${more}.`;
}

export interface Wish {
  readonly files: readonly FileView[];
  /** Absolute; undefined for the working directory. */
  readonly to: string | undefined;
}

function looksLikePlace(word: string, at: string): boolean {
  return /[\\/]/.test(word) || word.startsWith(".") || word.startsWith("~") || isFolder(at) !== undefined;
}

/** What `[file] [to]` asks for, or what is wrong with it. */
export function wishOf(task: TaskView, words: readonly string[], absolute: (path: string) => string): Wish | string {
  const [first, second] = words;
  if (first === undefined) {
    if (task.outputs.length > 0) return { files: task.outputs, to: undefined };
    return task.intermediates.length > 0 ? `No finished file came of it. ${listed(task)} Name one.` : listed(task);
  }
  const files = filesNamed(task, first);
  if (files.length > 0) return { files, to: second === undefined ? undefined : absolute(second) };
  const at = absolute(first);
  if (second === undefined && task.outputs.length > 0 && looksLikePlace(first, at))
    return { files: task.outputs, to: at };
  return `There is no file ${first} in task ${task.id}. ${listed(task)}`;
}

/** Where each file goes: several, or one into a folder, keep their folders; one may be given another name. */
function placesOf({ files, to }: Wish, words: readonly string[], cwd: string): readonly CopyPlace[] {
  const folder = to ?? cwd;
  const goesInto = to === undefined || /[\\/]$/.test(words.at(-1) ?? "") || isFolder(to) === true;
  if (files.length === 1 && !goesInto) return [copyPlace(resolve(folder, ".."), basename(folder))];
  return files.map(({ path }) => copyPlace(folder, path));
}

export interface SaveParts {
  readonly board: Pick<TaskDispatcher, "openFile">;
  readonly cwd: string;
  /** A path as a shell takes it, from the working directory. */
  readonly absolute: (path: string) => string;
  /** Whether what is there may be replaced; undefined where nobody can be asked. */
  readonly mayReplace: (files: readonly string[]) => Promise<boolean | undefined>;
}

function shown(paths: readonly string[]): string {
  const more = paths.length > SHOWN_MAX ? `, and ${paths.length - SHOWN_MAX} more` : "";
  return `${paths.slice(0, SHOWN_MAX).join(", ")}${more}`;
}

export async function saveFiles(task: TaskView, words: readonly string[], parts: SaveParts): Promise<string> {
  const { board, cwd, absolute, mayReplace } = parts;
  const wish = wishOf(task, words, absolute);
  if (typeof wish === "string") return wish;
  const places = placesOf(wish, words, cwd);
  const twice = new Set(places.map(({ file }) => file)).size < places.length;
  if (twice)
    return `Two of these files have one name. Nothing was saved. Save them one by one, each to a place of its own.`;
  const there = places.filter(({ isThere }) => isThere).map(({ file }) => file);
  if (there.length > 0) {
    const answer = await mayReplace(there);
    if (answer === undefined)
      return `Nothing was saved: ${shown(there)} is there already, and nobody can be asked here. Name another place.`;
    if (!answer) return "Nothing was saved.";
  }
  for (const [at, { id, size }] of wish.files.entries()) {
    const { stream } = await board.openFile(task.id, id, { viewer: "person" });
    await saveCopy({ stream, size }, places[at] as CopyPlace);
  }
  const partial = wish.files.filter((file) => file.partial).length;
  const half = partial === 0 ? "" : ` ${counted(partial, "file")} of a run that did not come to its end.`;
  const saved = places.map(({ file }) => (file.startsWith(cwd + sep) ? file.slice(cwd.length + 1) : file));
  return `Saved ${counted(saved.length, "file")}: ${shown(saved)}.${half}`;
}
