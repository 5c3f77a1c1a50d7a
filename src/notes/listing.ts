// Listing and searching one agent's notes, whole: what a tool shows of it, and how it is shortened, is decided there.
import { TokenBudgetError } from "../errors.ts";
import { textOfUtf8 } from "../storage/text.ts";
import type { FoundFile, LeftOut } from "../storage/tree.ts";
import type { CreationTimes } from "./created.ts";
import type { NoteFiles } from "./files.ts";
import { type LineMatch, searchLines } from "./search.ts";
import type { NoteInfo } from "./shapes.ts";

export interface NoteListQuery {
  /** A string prefix of paths; all notes when left out. */
  readonly prefix?: string | undefined;
  readonly orderBy?: "name" | "created_at" | "updated_at" | undefined;
  readonly order?: "ascending" | "descending" | undefined;
  /** Rows at most; `total` counts them all. */
  readonly limit?: number | undefined;
  /** The note with which the rows begin, in their order; `total` counts from it on. */
  readonly from?: string | undefined;
}

export interface NoteList {
  readonly rows: NoteInfo[];
  readonly total: number;
  /** Directories that could not be read, and what is no note, with the reason. */
  readonly leftOut: readonly LeftOut[];
}

export interface NewestNotes {
  readonly rows: readonly Pick<NoteInfo, "path" | "bytes" | "updatedAt">[];
  readonly total: number;
}

export interface NoteSearchQuery {
  readonly query: string;
  readonly prefix?: string | undefined;
  /** Newest creation first; by name when false or left out. */
  readonly recentFileFirst?: boolean | undefined;
  /** Where the matches begin, in the order of the notes. */
  readonly from?: NotePlace | undefined;
  readonly maxFiles?: number | undefined;
  readonly maxMatchesPerFile?: number | undefined;
}

export interface NotePlace {
  readonly path: string;
  readonly line: number;
}

export interface NoteSearchFile {
  readonly path: string;
  readonly matches: readonly LineMatch[];
  /** Matching lines of this note, those left out included. */
  readonly total: number;
  /** The first matching line that was left out. */
  readonly next: LineMatch | undefined;
}

export interface NoteSearch {
  readonly files: NoteSearchFile[];
  /** Notes and lines that match, those left out included. */
  readonly totalFiles: number;
  readonly totalMatches: number;
  /** The first match of the first note that `maxFiles` left out. */
  readonly next: { readonly path: string; readonly match: LineMatch } | undefined;
  readonly leftOut: readonly LeftOut[];
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

function byName(left: FoundFile, right: FoundFile): number {
  return left.path < right.path ? -1 : 1;
}

function byUpdate(left: FoundFile, right: FoundFile): number {
  return left.modifiedMs - right.modifiedMs || byName(left, right);
}

function* byCreation(files: readonly FoundFile[], created: CreationTimes): Generator<void, FoundFile[]> {
  const dated: { readonly file: FoundFile; readonly createdMs: number }[] = [];
  for (const file of files) {
    dated.push({ file, createdMs: created.of(file) });
    yield;
  }
  return dated
    .sort((left, right) => left.createdMs - right.createdMs || byName(left.file, right.file))
    .map(({ file }) => file);
}

/** The files from one on, in their order. */
function fromOn(files: readonly FoundFile[], notes: NoteFiles, path: string | undefined): readonly FoundFile[] {
  if (path === undefined) return files;
  const first = files.findIndex((file) => file.path === path);
  if (first >= 0) return files.slice(first);
  throw new TokenBudgetError(
    "not_found",
    `${notes.shown(path)}, with which the rows were to begin, is not among these notes. Leave out //from and what follows.`,
  );
}

/** Lists notes, with a pause behind each that is looked at. */
export function* listingNotes(
  notes: NoteFiles,
  created: CreationTimes,
  query: NoteListQuery,
): Generator<void, NoteList> {
  const { prefix = "", orderBy = "name", order = "ascending", limit = NO_LIMIT } = query;
  const { files, leftOut } = yield* notes.walking(prefix);
  const sorted =
    orderBy === "created_at" ? yield* byCreation(files, created) : files.sort(orderBy === "name" ? byName : byUpdate);
  if (order === "descending") sorted.reverse();
  const wanted = fromOn(sorted, notes, query.from);
  const rows: NoteInfo[] = [];
  for (const file of wanted.slice(0, limit)) {
    const { path, bytes, modifiedMs } = file;
    const createdAt = new Date(created.of(file)).toISOString();
    rows.push({ path, bytes, createdAt, updatedAt: new Date(modifiedMs).toISOString() });
    yield;
  }
  return { rows, total: wanted.length, leftOut };
}

/** The notes that were updated last, newest first, and how many there are: a look at each, and none is opened. */
export function newestNotes(notes: NoteFiles, limit: number): NewestNotes {
  const { files } = notes.walk("");
  const newest = files.sort(byUpdate).reverse().slice(0, limit);
  const rows = newest.map(({ path, bytes, modifiedMs }) => {
    return { path, bytes, updatedAt: new Date(modifiedMs).toISOString() };
  });
  return { rows, total: files.length };
}

/** Searches notes, with a pause behind each that is looked at. */
export function* searchingNotes(
  notes: NoteFiles,
  created: CreationTimes,
  query: NoteSearchQuery,
): Generator<void, NoteSearch> {
  if (query.query === "") {
    throw new TokenBudgetError(
      "invalid_argument",
      "query is empty. Give the text to look for, as it is written in a line.",
    );
  }
  if (query.query.includes("\n")) {
    throw new TokenBudgetError(
      "invalid_argument",
      "query holds a line break, and notes are searched line by line. Give a text that is within one line.",
    );
  }
  const { prefix = "", maxFiles = NO_LIMIT, maxMatchesPerFile = NO_LIMIT } = query;
  const walk = yield* notes.walking(prefix);
  const leftOut = [...walk.leftOut];
  const sorted = query.recentFileFirst ? (yield* byCreation(walk.files, created)).reverse() : walk.files.sort(byName);
  const candidates = fromOn(sorted, notes, query.from?.path);
  const files: NoteSearchFile[] = [];
  let totalFiles = 0;
  let totalMatches = 0;
  let next: NoteSearch["next"];
  for (const file of candidates) {
    yield;
    const content = notes.readFound(file, leftOut);
    if (content === undefined) continue;
    const limit = files.length < maxFiles ? maxMatchesPerFile : 0;
    const fromLine = file.path === query.from?.path ? query.from.line : 1;
    const found = searchLines(textOfUtf8(content.bytes), query.query, limit, fromLine);
    const { total } = found;
    if (total === 0) continue;
    totalFiles++;
    totalMatches += total;
    if (files.length < maxFiles) files.push({ path: file.path, ...found });
    else if (found.next !== undefined) next ??= { path: file.path, match: found.next };
  }
  return { files, totalFiles, totalMatches, next, leftOut };
}
