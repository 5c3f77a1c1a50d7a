// The text a new window starts from: where things are, never the content of notes. Generated in one place for all
// causes. Pure: the caller hands over the branch and the list of notes.
import { blocksOf, isTextBlock, isToolCallBlock, type LogEntry } from "../host/entries.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import { pastedBefore, pastedNames, typedHead } from "../log/pasted.ts";
import {
  bootstrapText,
  CHILDREN_HEADING,
  childrenOmitted,
  type Identity,
  NOTES_INDEX_NONE,
  NOTES_INDEX_UNREADABLE,
  notesIndexHeading,
  notesIndexOmitted,
} from "../prompts.ts";
import { countCodePoints, headOf, oneLine, shorten, tailOf } from "../storage/text.ts";
import { todoState } from "../todo/replay.ts";
import { openTodos } from "../todo/text.ts";
import { textTokens } from "./token-estimate.ts";

export const REQUEST_INDEX_MAX = 25;
export const REQUEST_PREVIEW_CODE_POINTS = 160;
export const LATEST_REQUEST_CODE_POINTS = 2_000;
export const EDITED_FILES_MAX = 5;
const EDITED_PATH_CODE_POINTS = 200;
/** Changes further back than this are not looked for: a window change costs the same in a long session. */
const EDIT_SEARCH_MAX_ROWS = 5_000;
export const NOTES_INDEX_MAX_FILES = 25;
export const NOTES_INDEX_MAX_CODE_POINTS = 4_500;
export const SIBLING_RESULTS_MAX = 20;
export const CHILDREN_MAX = 6;

/** Built-in tools of Pi that change the file named by their `path` argument. */
const EDITING_TOOLS: ReadonlySet<string> = new Set(["edit", "write"]);

export interface NoteRow {
  /** The full path that notes_read_file accepts. */
  readonly path: string;
  readonly bytes: number;
  readonly updated_at: string;
}

/** The agent's own notes, newest update first, and how many there are; undefined when they could not be listed. */
export type NotesIndex = { readonly rows: readonly NoteRow[]; readonly total: number } | undefined;

function requestLine(branch: BranchIndex, row: Row, answered: boolean): string {
  const text = oneLine(typedHead(branch.text(row).points.text, REQUEST_PREVIEW_CODE_POINTS * 4));
  const mark = answered ? " (answered)" : "";
  return `${row.head.id} — w${row.window}${mark} — ${shorten(text, REQUEST_PREVIEW_CODE_POINTS).toWellFormed()}`;
}

/**
 * The latest request in full; else what was typed behind what was pasted, in full or its head and tail, with the calls
 * that read the rest.
 */
function latestRequest(branch: BranchIndex, row: Row, maxCodePoints: number): string {
  const { points } = branch.text(row);
  const quoted = (...parts: readonly string[]) =>
    `<request id="${row.head.id}" window="w${row.window}">\n${parts.join("\n").toWellFormed()}\n</request>`;
  const leftOut = (what: string, offset: number) => {
    const rest = { item_id: row.head.id, window_id: `w${row.window}`, offset_chars: offset };
    return `[… ${what}: history_read_item ${JSON.stringify(rest)}]`;
  };
  if (points.length <= maxCodePoints) return quoted(points.text);
  const pasted = pastedBefore(points.text);
  const start = points.toCodePoint(pasted.end);
  const before = start === 0 ? [] : [leftOut(`${start} characters of ${pastedNames(pasted)} left out`, 0)];
  const typed = points.text.slice(pasted.end);
  if (points.length - start <= maxCodePoints) return quoted(...before, typed);
  const half = Math.floor(maxCodePoints / 2);
  const middle = leftOut(`${points.length - start - 2 * half} characters left out`, start + half);
  return quoted(...before, headOf(typed, half), middle, tailOf(typed, half));
}

function isFinalAnswer(entry: LogEntry): boolean {
  const message = entry.message;
  if (message?.role !== "assistant" || message.stopReason !== "stop") return false;
  const blocks = blocksOf(message.content);
  return !blocks.some(isToolCallBlock) && blocks.some((block) => isTextBlock(block) && block.text.trim() !== "");
}

interface IndexedRequest {
  readonly row: Row;
  readonly answered: boolean;
}

/**
 * The latest requests, newest first. One is answered by a final answer that came before the next request, or together
 * with a later one when nothing was cut off between them.
 */
function latestRequests(branch: BranchIndex): readonly IndexedRequest[] {
  const requests: IndexedRequest[] = [];
  let answered = false;
  let betweenRequests = false;
  for (let i = branch.rows.length - 1; i >= 0 && requests.length < REQUEST_INDEX_MAX; i--) {
    const row = branch.rows[i] as Row;
    if (row.head.fromUser) {
      requests.push({ row, answered });
      betweenRequests = true;
    } else if (row.head.role === "assistant") {
      const { stopReason } = row.entry.message ?? {};
      const wasCutOff = stopReason === "aborted" || stopReason === "error";
      if (betweenRequests && wasCutOff) answered = false;
      betweenRequests = false;
      if (isFinalAnswer(row.entry)) answered = true;
    }
  }
  return requests;
}

/** The user-request index, oldest first, and which of the requests got a final answer. */
export function requestIndex(branch: BranchIndex, latestMaxCodePoints: number): string {
  const requests = latestRequests(branch);
  const [latest, ...earlier] = requests;
  if (!latest) return "The user has not asked anything yet.";
  const older = branch.userMessages - requests.length;
  const lines = earlier.reverse().map(({ row, answered }) => requestLine(branch, row, answered));
  const heading = lines.length === 0 ? [] : ["User requests so far, oldest first (id — window — text):"];
  const olderLine = older === 0 ? [] : [`(${older} older: history_list_items {"role":"user"})`];
  const state = latest.answered
    ? "The latest request got a final answer; do not do it again:"
    : "The latest request is still open:";
  return [...heading, ...olderLine, ...lines, state, latestRequest(branch, latest.row, latestMaxCodePoints)].join("\n");
}

function editedPath(block: unknown): string | undefined {
  if (!isToolCallBlock(block) || !EDITING_TOOLS.has(block.name)) return undefined;
  const path = (block.arguments as { path?: unknown } | null | undefined)?.path;
  return typeof path === "string" ? path : undefined;
}

/** The files changed last through edit and write calls that succeeded, with the item that holds the last change. */
export function editedFilesIndex(branch: BranchIndex): string {
  const files = new Map<string, Row>();
  const succeeded = new Set<string>();
  const oldest = Math.max(0, branch.rows.length - EDIT_SEARCH_MAX_ROWS);
  for (let i = branch.rows.length - 1; i >= oldest && files.size < EDITED_FILES_MAX; i--) {
    const row = branch.rows[i] as Row;
    if (row.head.role === "tool" && row.entry.message?.isError !== true) succeeded.add(row.head.toolCallId ?? "");
    if (row.head.role !== "assistant" || row.head.calls.length === 0) continue;
    for (const block of blocksOf(row.entry.message?.content).toReversed()) {
      const path = isToolCallBlock(block) && succeeded.has(block.id) ? editedPath(block) : undefined;
      if (path !== undefined && !files.has(path) && files.size < EDITED_FILES_MAX) files.set(path, row);
    }
    succeeded.clear();
  }
  if (files.size === 0) return "";
  const lines = Array.from(
    files,
    ([path, row]) => `${shorten(oneLine(path), EDITED_PATH_CODE_POINTS)} — ${row.head.id} — w${row.window}`,
  );
  return ["Files changed last, newest first (path — id of the change — window):", ...lines].join("\n");
}

export function notesIndex(agent: string, notes: NotesIndex, maxCodePoints = NOTES_INDEX_MAX_CODE_POINTS): string {
  if (notes === undefined) return NOTES_INDEX_UNREADABLE;
  const heading = notesIndexHeading(agent);
  if (notes.total === 0) return `${heading}\n${NOTES_INDEX_NONE}`;
  const lines: string[] = [];
  let left = maxCodePoints - countCodePoints(heading) - 80;
  for (const { path, bytes, updated_at } of notes.rows.slice(0, NOTES_INDEX_MAX_FILES)) {
    const line = JSON.stringify({ path, bytes, updated_at });
    left -= countCodePoints(line) + 1;
    if (left < 0) break;
    lines.push(line);
  }
  const omitted = notes.total - lines.length;
  return [heading, ...lines, ...(omitted === 0 ? [] : [notesIndexOmitted(omitted)])].join("\n");
}

/** A child that has not ended. */
export interface RunningChild {
  readonly address: string;
  /** The first line of what it was asked; undefined when that is not known, or not for this agent. */
  readonly task: string | undefined;
}

/** The children that have not ended, the newest first. */
function childrenIndex(children: readonly RunningChild[]): string {
  if (children.length === 0) return "";
  const shown = children.slice(0, CHILDREN_MAX);
  const lines = shown.map(({ address, task }) => (task === undefined ? address : `${address} — ${task}`));
  const omitted = children.length - shown.length;
  return [CHILDREN_HEADING, ...lines, ...(omitted === 0 ? [] : [childrenOmitted(omitted)])].join("\n");
}

/** Results that stand before the opener in its own batch: they are not in the next request. */
function siblingResults(branch: BranchIndex): { id: string; tool: string }[] {
  const results: { id: string; tool: string }[] = [];
  for (let i = branch.rows.length - 1; i >= 0; i--) {
    const { head } = branch.rows[i] as Row;
    if (head.role !== "tool" || !branch.newestBatch.has(head.toolCallId ?? "")) break;
    results.unshift({ id: head.id, tool: head.calls[0]?.name ?? "tool" });
  }
  return results.slice(-SIBLING_RESULTS_MAX);
}

export interface NextWindow {
  readonly identity: Identity;
  readonly notes: NotesIndex;
  readonly children: readonly RunningChild[];
  /**
   * Where no checkpoint was saved: why, and the model's window in tokens. Nothing else of the last user request is shown
   * then, so it is here whole up to a quarter of the window.
   */
  readonly unsaved: { readonly because: "overflow" | "without_note"; readonly contextWindow: number } | undefined;
}

const WHOLE_REQUEST_SHARE = 0.25;
/** An estimate may be a quarter short. */
const ESTIMATE_AT_MOST = 4 / 3;

/** How much of the latest request a bootstrap holds: without a checkpoint a quarter of the model's window, by tokens. */
function latestRequestMax(branch: BranchIndex, contextWindow: number | undefined): number {
  if (contextWindow === undefined) return LATEST_REQUEST_CODE_POINTS;
  const [latest] = latestRequests(branch);
  if (!latest) return LATEST_REQUEST_CODE_POINTS;
  const { points } = branch.text(latest.row);
  const atMost = Math.max(1, textTokens(points.text) * ESTIMATE_AT_MOST);
  const share = (contextWindow * WHOLE_REQUEST_SHARE) / atMost;
  return Math.max(LATEST_REQUEST_CODE_POINTS, Math.floor(points.length * Math.min(1, share)));
}

/** The bootstrap of the window that opens next on this branch. */
export function nextBootstrap(branch: BranchIndex, { identity, notes, children, unsaved }: NextWindow): string {
  const todos = openTodos(todoState(branch, identity.agent), branch.current.number);
  return bootstrapText({
    ...identity,
    firstWindowId: "w1",
    previousWindowId: branch.current.id,
    unsaved: unsaved?.because,
    // The last results before a window without a note are refusals.
    siblingResults: unsaved?.because === "without_note" ? [] : siblingResults(branch),
    requests: requestIndex(branch, latestRequestMax(branch, unsaved?.contextWindow)),
    editedFiles: editedFilesIndex(branch),
    todos,
    // Open items take their room from the list of notes, so that a full bootstrap stays as large as it was.
    notes: notesIndex(identity.agent, notes, NOTES_INDEX_MAX_CODE_POINTS - countCodePoints(todos)),
    children: childrenIndex(children),
  });
}

const REMINDER_ITEMS = 25;
const REMINDER_ITEM_CODE_POINTS = 120;

/** The newest items of the current window, oldest first: id, window, role and beginning, so that ids can be written down. */
export function recentItems(branch: BranchIndex): readonly string[] {
  const lines: string[] = [];
  const { firstRow } = branch.current;
  for (let i = branch.rows.length - 1; i >= firstRow && lines.length < REMINDER_ITEMS; i--) {
    const row = branch.rows[i] as Row;
    const { head, window } = row;
    if (head.internal) continue;
    const { text } = branch.text(row).points;
    const begin = head.role === "user" ? typedHead : headOf;
    const beginning = oneLine(begin(text, REMINDER_ITEM_CODE_POINTS * 4)).toWellFormed();
    lines.unshift(`${head.id} — w${window} — ${head.role} — ${shorten(beginning, REMINDER_ITEM_CODE_POINTS)}`);
  }
  return lines;
}
