// A tree of plain files below one root: where a relative path leads, and what lies there. Every step is looked at with
// lstat: nothing here may ever follow a symbolic link, whether it leads out of the root or stays inside.
import type { Dirent, Stats } from "node:fs";
import { dirname, join } from "node:path";
import { codeOf, DIRECTORY_MODE, type DiskCalls, ensurePrivateDirectory, flushFolder, modifiedMsOf } from "./disk.ts";
import { atOnce } from "./slices.ts";

/** What a relative path leads to. `at` is the part of the path (relative, "" for the root) that decided it. */
export type Place =
  | { readonly type: "file"; readonly file: string; readonly stats: Stats }
  | { readonly type: "missing"; readonly file: string }
  | { readonly type: "directory" }
  | { readonly type: "below_file"; readonly at: string }
  | { readonly type: "link"; readonly at: string }
  | { readonly type: "special"; readonly at: string }
  | { readonly type: "collision"; readonly at: string; readonly existing: string };

function lstatOrMissing(disk: DiskCalls, path: string): Stats | undefined {
  try {
    return disk.lstatSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** One spelling for all names that a case-insensitive or normalizing disk takes for the same. */
export function foldedName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** The name under which the directory really holds `name`; undefined when that is exactly `name`. */
function differentSpelling(disk: DiskCalls, directory: string, name: string): string | undefined {
  const names = disk.readdirSync(directory);
  if (names.includes(name)) return undefined;
  const folded = foldedName(name);
  return names.find((other) => foldedName(other) === folded);
}

/** Follows a relative path, segment by segment. The root may be missing; it may not be a link. */
export function locate(disk: DiskCalls, root: string, relative: string): Place {
  const segments = relative.split("/");
  const file = join(root, ...segments);
  let path = root;
  let at = "";
  let stats = lstatOrMissing(disk, root);
  for (const segment of segments) {
    if (stats === undefined) return { type: "missing", file };
    if (stats.isSymbolicLink()) return { type: "link", at };
    if (stats.isFile()) return { type: "below_file", at };
    if (!stats.isDirectory()) return { type: "special", at };
    const parent = path;
    path = join(path, segment);
    at = at === "" ? segment : `${at}/${segment}`;
    stats = lstatOrMissing(disk, path);
    const existing = stats && differentSpelling(disk, parent, segment);
    if (existing !== undefined) return { type: "collision", at, existing };
  }
  if (stats === undefined) return { type: "missing", file };
  if (stats.isSymbolicLink()) return { type: "link", at };
  if (stats.isDirectory()) return { type: "directory" };
  return stats.isFile() ? { type: "file", file, stats } : { type: "special", at };
}

/** Makes the directories above a relative path; returns those it made, outermost first. */
export function makeParents(disk: DiskCalls, root: string, relative: string): string[] {
  ensurePrivateDirectory(disk, root);
  const made: string[] = [];
  let directory = root;
  try {
    for (const segment of relative.split("/").slice(0, -1)) {
      directory = join(directory, segment);
      try {
        disk.mkdirSync(directory, { mode: DIRECTORY_MODE });
        made.push(directory);
        flushFolder(disk, dirname(directory));
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
        ensurePrivateDirectory(disk, directory);
      }
    }
  } catch (error) {
    removeEmpty(disk, made);
    throw error;
  }
  return made;
}

/** Removes the directories made for a write that failed; one that is in use by now stays. */
export function removeEmpty(disk: DiskCalls, directories: readonly string[]): void {
  for (const directory of directories.toReversed()) {
    try {
      disk.rmdirSync(directory);
    } catch {
      return;
    }
  }
}

/** Removes a file, or a folder with everything in it; links themselves, and no error when nothing is there. */
export function removeTree(disk: DiskCalls, path: string): void {
  disk.rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}

/** The same, with a pause behind every file. */
export function* removingTree(disk: DiskCalls, path: string): Generator<void, void> {
  const stats = lstatOrMissing(disk, path);
  if (stats === undefined) return;
  if (!stats.isDirectory()) return disk.unlinkSync(path);
  const room = { entries: Number.POSITIVE_INFINITY, pathChars: Number.POSITIVE_INFINITY };
  for (const entry of yield* entriesWithin(disk, path, room)) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) yield* removingTree(disk, below);
    else disk.unlinkSync(below);
    yield;
  }
  disk.rmdirSync(path);
}

export interface FoundFile {
  /** Relative to the root, segments joined by `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  /** When the file system made this file; 0 where it does not say. */
  readonly bornMs: number;
}

/** Something in the tree that was left out, and why. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

export interface Walk {
  readonly files: FoundFile[];
  readonly leftOut: LeftOut[];
  /** Whether it stopped at its limits: there is more. */
  isCut?: boolean;
}

/** Where a walk stops. */
export interface WalkLimits {
  /** Files, directories and all else that is looked at. */
  readonly entries: number;
  /** Characters of all their paths. */
  readonly pathChars: number;
}

/** Of a directory, read between two pauses. */
const PIECE_ENTRIES = 500;

/**
 * Every plain file of the tree below the directories that `wanted` accepts (it gets their relative paths). A root that
 * is missing holds nothing; one that cannot be read throws; a directory below that cannot be read is left out by name.
 */
export function walkPlainFiles(disk: DiskCalls, root: string, wanted: (directory: string) => boolean): Walk {
  return atOnce(walkingPlainFiles(disk, root, wanted));
}

/** The same, with a pause behind every file; within limits it also reads large directories in pieces. */
export function* walkingPlainFiles(
  disk: DiskCalls,
  root: string,
  wanted: (directory: string) => boolean,
  limits?: WalkLimits,
): Generator<void, Walk> {
  const walk: Walk = { files: [], leftOut: [] };
  const rootStats = lstatOrMissing(disk, root);
  if (rootStats === undefined) return walk;
  if (!rootStats.isDirectory()) {
    walk.leftOut.push({ path: "", reason: rootStats.isSymbolicLink() ? "a symbolic link" : "not a directory" });
    return walk;
  }
  const open = [""];
  const room = limits && { ...limits };
  for (let directory = open.pop(); directory !== undefined && !walk.isCut; directory = open.pop()) {
    try {
      const at = join(root, directory);
      const entries = room ? yield* entriesWithin(disk, at, room) : disk.readdirSync(at, { withFileTypes: true });
      if (room && (room.entries < 0 || room.pathChars < 0)) walk.isCut = true;
      yield* walkDirectory({ disk, root, directory, entries }, walk, (below) => wanted(below) && open.push(below));
    } catch (error) {
      if (directory === "") throw error;
      if (codeOf(error) === "ENOENT") continue;
      walk.leftOut.push({ path: directory, reason: `unreadable directory (${codeOf(error) ?? "unknown error"})` });
    }
  }
  return walk;
}

/** The entries of a directory, by their names, as far as there is room, which becomes less than nothing where there is not. */
function* entriesWithin(
  disk: DiskCalls,
  directory: string,
  room: { entries: number; pathChars: number },
): Generator<void, Dirent[]> {
  const entries: Dirent[] = [];
  const opened = disk.opendirSync(directory, { bufferSize: PIECE_ENTRIES });
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      room.entries--;
      room.pathChars -= directory.length + entry.name.length;
      if (room.entries < 0 || room.pathChars < 0) break;
      entries.push(entry);
      if (entries.length % PIECE_ENTRIES === 0) yield;
    }
  } finally {
    opened.closeSync();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface OpenDirectory {
  readonly disk: DiskCalls;
  readonly root: string;
  /** Relative to the root. */
  readonly directory: string;
  readonly entries: readonly Dirent[];
}

function* walkDirectory(
  { disk, root, directory, entries }: OpenDirectory,
  walk: Walk,
  descend: (below: string) => void,
): Generator<void, void> {
  for (const entry of entries) {
    const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
    if (entry.isDirectory()) {
      descend(path);
      yield;
    } else if (entry.isFile()) {
      const stats = lstatOrMissing(disk, join(root, path));
      // Replaced by something else, or gone, since the directory was read.
      if (!stats?.isFile()) continue;
      walk.files.push({ path, bytes: stats.size, modifiedMs: modifiedMsOf(stats), bornMs: stats.birthtimeMs });
      yield;
    } else {
      walk.leftOut.push({ path, reason: entry.isSymbolicLink() ? "a symbolic link" : "not a plain file" });
    }
  }
}
