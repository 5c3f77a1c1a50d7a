// The notes tools: resolve the address, ask the store, shape the answer, and nothing else. Paths are shown in full,
// as every agent can pass them back; nothing here opens a file.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { noteWarnings } from "../notes/limits.ts";
import { selectLines } from "../notes/lines.ts";
import type { NotePlace, NoteSearch } from "../notes/listing.ts";
import { fullPath, parseNotePath, parseNotePrefix, prefixFrom, splitFrom } from "../notes/paths.ts";
import type { LineMatch } from "../notes/search.ts";
import type { NoteInfo } from "../notes/shapes.ts";
import type { NotesStore, NoteWrite } from "../notes/store.ts";
import { type LeftOutWays, leftOutHint } from "../prompts.ts";
import { inSlices } from "../storage/slices.ts";
import { CodePointText } from "../storage/text.ts";
import type { SavedCheckpoint } from "../window/loop.ts";
import { type Execute, type ToolAnswer, usedLimit } from "./define.ts";
import { type JsonRow, listOutput, readOutput } from "./output.ts";
import { TOOL_SPECS, type ToolName } from "./specs.ts";

/** A matching line is shown at most this long. */
export const NOTE_LINE_MAX_CODE_POINTS = 400;

/** How many files that are not readable notes are named. */
const LEFT_OUT_NAMED_MAX = 3;

/** The part of a store that the tools use. */
export type ToolNotes = Pick<
  NotesStore,
  "maxFileBytes" | "write" | "append" | "read" | "listing" | "searching" | "usage"
>;

export interface NotesToolDeps {
  /** The address of the current agent. */
  readonly agent: () => string;
  /** The notes of an agent; throws when there is no such agent or its notes may not be read. */
  readonly notesToRead: (agent: string) => ToolNotes;
  /** The same for a write. An answer says nothing of notes that may be written but not read. */
  readonly notesToWrite: (agent: string) => Promise<{ readonly notes: ToolNotes; readonly readable: boolean }>;
  readonly limits: () => { readonly maxToolOutputChars: number };
  /** Called when a note is saved; under a fence it may be the checkpoint, which `readsBack` then proves. */
  readonly onSaved: (toolCallId: string, path: string, readsBack: () => boolean) => SavedCheckpoint;
  /** Called when a write has failed. */
  readonly onFailed: (toolCallId: string, error: unknown) => void;
}

type NotesTool = Extract<ToolName, `notes_${string}`>;

export type NotesTools = { readonly [N in NotesTool]: Execute<N> };

type LeftOut = readonly { readonly path: string; readonly reason: string }[];

const LIST_LIMIT = TOOL_SPECS.notes_list_files_by_prefix.params.max_results;
const SEARCH_LIMITS = TOOL_SPECS.notes_search_contents.params;

type NoteHit = NonNullable<NoteSearch["next"]>;

/** Where the rows of a search continue: a note and a line in it. */
function matchPlace({ path, match }: NoteHit): string {
  return `${path}:${match.line}`;
}

function parsedPlace(from: string | undefined): NotePlace | undefined {
  if (from === undefined) return undefined;
  const [, path, line] = /^(.+):([1-9]\d{0,9})$/s.exec(from) ?? [];
  if (path === undefined)
    throw new TokenBudgetError(
      "invalid_path",
      `path_prefix ends with //from ${shownValue(from)}; that must be a note and a line, such as plan.md:12.`,
    );
  return { path, line: Number(line) };
}

/** The first match that is not among the first rows: of a note that was cut short, or of the next one. */
function nextMatch({ files, next }: NoteSearch, returned: number): NoteHit | undefined {
  let before = 0;
  for (const { path, matches, next: beyond } of files) {
    const match = matches[returned - before] ?? beyond;
    if (match) return { path, match };
    before += matches.length;
  }
  return next;
}

/** The limits of a search that leave something out. */
function limitsInTheWay({ files, next }: NoteSearch, maxFiles: number, maxMatchesPerFile: number): string[] {
  const perFile =
    files.some((file) => file.next !== undefined) && maxMatchesPerFile < SEARCH_LIMITS.max_matches_per_file.maximum;
  const ofFiles = next !== undefined && maxFiles < SEARCH_LIMITS.max_files.maximum;
  return [...(perFile ? ["max_matches_per_file"] : []), ...(ofFiles ? ["max_files"] : [])];
}

/** How to see what was left out, and which files there are not readable as notes. */
function hintWith(leftOut: LeftOut, ways: LeftOutWays): string {
  const hint = leftOutHint(ways);
  if (leftOut.length === 0) return hint;
  if (ways.isShort) return `${hint} ${leftOut.length} not readable as notes.`.trimStart();
  const named = leftOut.slice(0, LEFT_OUT_NAMED_MAX).map(({ path, reason }) => `${shownValue(path)} (${reason})`);
  const more = leftOut.length > named.length ? ` and ${leftOut.length - named.length} more` : "";
  return `${hint} Not readable as notes: ${named.join(", ")}${more}.`.trimStart();
}

function noteRow(agent: string, { path, bytes, createdAt, updatedAt }: NoteInfo): JsonRow {
  return { path: fullPath(agent, path), bytes, created_at: createdAt, updated_at: updatedAt };
}

interface FoundLine {
  readonly path: string;
  readonly match: LineMatch;
  /** The whole line. */
  readonly points: CodePointText;
}

/** A stretch of a line, in code points. */
interface Part {
  readonly from: number;
  readonly to: number;
}

/** The line, or the part around its first match. */
function shownPart({ points, match }: FoundLine, codePoints: number): Part {
  if (points.length <= codePoints) return { from: 0, to: points.length };
  const room = Math.max(1, codePoints - 2);
  const start = points.toCodePoint(match.start);
  const before = Math.max(0, Math.floor((room - (points.toCodePoint(match.end) - start)) / 2));
  const from = Math.max(0, Math.min(start - before, points.length - room));
  return { from, to: from + room };
}

/** For a line that is cut, also the offset of the part in it, as notes_read_file counts when it reads that line alone. */
function lineRow(line: FoundLine, codePoints: number): JsonRow {
  const { points, path, match } = line;
  if (codePoints === 0) return { path, line: match.line, text: "" };
  const { from, to } = shownPart(line, codePoints);
  const text = `${from > 0 ? "…" : ""}${points.slice(from, to)}${to < points.length ? "…" : ""}`;
  const isCut = to - from < points.length;
  const place = isCut ? { line_chars: points.length, offset_chars: from, limit_chars: to - from } : {};
  return { path, line: match.line, text, ...place };
}

/** The size of all notes for a warning; a write that is done does not fail because they cannot be counted. */
function totalBytes(notes: ToolNotes, atLeast: number): number {
  try {
    return notes.usage().totalBytes;
  } catch {
    return atLeast;
  }
}

function written(notes: ToolNotes, path: string, { bytes, created }: NoteWrite): ToolAnswer {
  const { maxFileBytes } = notes;
  const warnings = noteWarnings({ path, bytes, totalBytes: totalBytes(notes, bytes), maxFileBytes });
  const answer = { path, bytes, created, ...(warnings.length > 0 && { warnings }) };
  return { text: JSON.stringify(answer), details: answer };
}

/** A write to notes that may not be read: neither answer nor error reveals what is there. */
async function blindly(path: string, write: Promise<NoteWrite>): Promise<ToolAnswer> {
  try {
    await write;
  } catch (error) {
    if (error instanceof TokenBudgetError && error.code === "invalid_argument") throw error;
    throw new TokenBudgetError("refused", `${path} is restricted, and the text was not saved there. Do without it.`);
  }
  const answer = { path, saved: true, restricted: true };
  return { text: JSON.stringify(answer), details: answer };
}

function withCheckpoint(answer: ToolAnswer, { details, terminate }: SavedCheckpoint): ToolAnswer {
  return { ...answer, details: { ...answer.details, ...details }, ...(terminate ? { terminate } : {}) };
}

export function notesTools(deps: NotesToolDeps): NotesTools {
  const noteAt = (path: string) => {
    const address = parseNotePath(path, deps.agent());
    return { ...address, full: fullPath(address.agent, address.path) };
  };
  const notesUnder = (prefix: string | undefined, field: string) => {
    const given = splitFrom(prefix);
    const address = parseNotePrefix(given.prefix, deps.agent(), field);
    return { ...address, given: given.prefix, from: given.from, notes: deps.notesToRead(address.agent) };
  };
  const bound = () => deps.limits().maxToolOutputChars;
  const orTold = async (toolCallId: string, write: () => Promise<ToolAnswer>): Promise<ToolAnswer> => {
    try {
      return await write();
    } catch (error) {
      deps.onFailed(toolCallId, error);
      throw error;
    }
  };
  return {
    notes_list_files_by_prefix: async (params, call) => {
      const { agent, prefix, given, from, notes } = notesUnder(params.prefix, "prefix");
      const limit = usedLimit(LIST_LIMIT, params.max_results);
      const { file_order_by: orderBy, file_order: order } = params;
      const listing = notes.listing({ prefix, orderBy, order, from, limit: limit + 1 });
      const { rows, total, leftOut } = await inSlices(listing, call.signal);
      return listOutput({
        scope: { agent, prefix: params.prefix },
        total,
        limit,
        rows: rows.slice(0, limit),
        beyond: rows[limit],
        unreadable: leftOut.length,
        render: (row) => noteRow(agent, row),
        hint: ({ next, limitHelps, isShort }) =>
          hintWith(leftOut, {
            isShort,
            goOn: next && { field: "prefix", value: prefixFrom(given, next.path) },
            raise: limitHelps && limit < LIST_LIMIT.maximum ? ["max_results"] : [],
            narrowing: "use a longer prefix",
          }),
        bound: bound(),
      });
    },

    notes_read_file: (params) => {
      const { agent, path, full } = noteAt(params.path);
      const notes = deps.notesToRead(agent);
      const range = { start: params.start_line, stop: params.stop_line };
      const { text, startLine, stopLine, totalLines, pastEnd } = selectLines(notes.read(path).text, range);
      return readOutput({
        header: { path: full, start_line: startLine, stop_line: stopLine, total_lines: totalLines },
        footer: { note: pastEnd },
        points: new CodePointText(text),
        offset: params.offset_chars ?? 0,
        limit: params.limit_chars,
        bound: bound(),
      });
    },

    notes_search_contents: async (params, call) => {
      const { agent, prefix, given, from, notes } = notesUnder(params.path_prefix, "path_prefix");
      const maxFiles = usedLimit(SEARCH_LIMITS.max_files, params.max_files);
      const maxMatchesPerFile = usedLimit(SEARCH_LIMITS.max_matches_per_file, params.max_matches_per_file);
      const { query, recent_file_first: recentFileFirst } = params;
      const place = parsedPlace(from);
      const search = notes.searching({ query, prefix, recentFileFirst, from: place, maxFiles, maxMatchesPerFile });
      const found = await inSlices(search, call.signal);
      const rowOf = ({ path, match }: NoteHit) => ({
        path: fullPath(agent, path),
        match,
        points: new CodePointText(match.text),
      });
      const rows = found.files.flatMap(({ path, matches }) => matches.map((match) => rowOf({ path, match })));
      const beyond = nextMatch(found, rows.length);
      return listOutput({
        scope: {
          agent,
          max_matches_per_file: maxMatchesPerFile,
          files: found.totalFiles,
          query,
          path_prefix: params.path_prefix,
        },
        total: found.totalMatches,
        limit: maxFiles,
        rows,
        beyond: beyond && rowOf(beyond),
        unreadable: found.leftOut.length,
        render: lineRow,
        previewChars: NOTE_LINE_MAX_CODE_POINTS,
        hint: ({ returned, limitHelps, isShort }) => {
          const next = nextMatch(found, returned);
          return hintWith(found.leftOut, {
            isShort,
            goOn: next && { field: "path_prefix", value: prefixFrom(given, matchPlace(next)) },
            raise: limitHelps ? limitsInTheWay(found, maxFiles, maxMatchesPerFile) : [],
            narrowing: "use a longer query or path_prefix",
          });
        },
        bound: bound(),
      });
    },

    notes_append_to_file: (params, call) =>
      orTold(call.id, async () => {
        const { agent, path, full } = noteAt(params.path);
        const { notes, readable } = await deps.notesToWrite(agent);
        if (!readable) return blindly(full, notes.append(path, params.text));
        const saved = await notes.append(path, params.text);
        const readsBack = () => notes.read(path).text.endsWith(params.text);
        return withCheckpoint(written(notes, full, saved), deps.onSaved(call.id, full, readsBack));
      }),

    notes_write_file: (params, call) =>
      orTold(call.id, async () => {
        const { agent, path, full } = noteAt(params.path);
        const { notes, readable } = await deps.notesToWrite(agent);
        if (!readable) return blindly(full, notes.write(path, params.text));
        const saved = await notes.write(path, params.text);
        const readsBack = () => notes.read(path).text === params.text;
        return withCheckpoint(written(notes, full, saved), deps.onSaved(call.id, full, readsBack));
      }),
  };
}
