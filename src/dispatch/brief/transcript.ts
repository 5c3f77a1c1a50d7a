// Earlier turns of the root session and finished tasks, for a child's prompt: bounded, newest last. `canRead` decides before
// anything is read. Pure.
import type { ItemSource } from "../../history/source.ts";
import { blocksOf, isTextBlock } from "../../host/entries.ts";
import { type Row, windowId } from "../../log/branch.ts";
import { countCodePoints, shorten } from "../../storage/text.ts";
import { type Category, canRead } from "../../task/category.ts";
import { REFERENCES_MAX, type TaskRecord, type TaskRow } from "../record/schema.ts";

/** The newest of a root task's tasks; older ones are not looked at. */
export const FINISHED_TASKS_MAX = 100;

export interface TranscriptLimits {
  /** Characters of all turns together (setting `taskHistoryChars`). */
  readonly totalChars: number;
  /** Characters of one turn (setting `taskHistoryTurnChars`). */
  readonly turnChars: number;
}

export interface Turn {
  readonly speaker: string;
  readonly text: string;
  /** ISO 8601. */
  readonly at: string;
}

export interface Transcript {
  /** Oldest first. */
  readonly turns: readonly Turn[];
  /** Number of turns before them. */
  readonly leftOut: number;
  /** Number of tasks that were not looked at, since newer ones are many. */
  readonly olderTasks: number;
}

export const NO_TRANSCRIPT: Transcript = { turns: [], leftOut: 0, olderTasks: 0 };

function spokenText(row: Row): string {
  const { head } = row;
  if (head.internal || (!head.fromUser && head.role !== "assistant")) return "";
  // After that check: a journal reads an entry from disk only here, and tool results may be large.
  const { entry } = row;
  if (entry.type !== "message") return "";
  const texts = blocksOf(entry.message?.content).flatMap((block) => (isTextBlock(block) ? [block.text] : []));
  return texts.join("\n").trim();
}

function conversation(source: ItemSource): Turn[] {
  const turns: Turn[] = [];
  for (const row of source.rows) {
    const text = spokenText(row);
    if (text === "") continue;
    turns.push({ speaker: row.head.fromUser ? "User" : "Assistant", text, at: row.head.timestamp });
  }
  return turns;
}

function finishedTasks(records: readonly TaskRecord[], viewer: Category): Turn[] {
  return records.flatMap(({ task }) => {
    if (task.status !== "completed" || !canRead(viewer, task.category)) return [];
    const text = `${task.requirement || task.title}\n\n${task.result ?? ""}`.trim();
    return [{ speaker: `Finished task: ${task.title}`, text, at: task.updated }];
  });
}

export interface TranscriptSource {
  readonly viewer: Category;
  /** The category of the root session. */
  readonly owner: Category;
  readonly root: ItemSource | undefined;
  /** Without the task itself. */
  readonly records: readonly TaskRecord[];
  /** Number of tasks besides, which nobody looked at. */
  readonly older?: number;
}

/** The newest turns that fit. A viewer that may not read the root's content gets none of its turns, and no count. */
export function transcriptOf(
  { viewer, owner, root, records, older: olderTasks = 0 }: TranscriptSource,
  limits: TranscriptLimits,
): Transcript {
  const spoken = root !== undefined && canRead(viewer, owner) ? conversation(root) : [];
  const turns = [...spoken, ...finishedTasks(records, viewer)].sort((a, b) => a.at.localeCompare(b.at));
  const kept: Turn[] = [];
  let left = limits.totalChars;
  for (const turn of turns.toReversed()) {
    const text = shorten(turn.text, limits.turnChars).toWellFormed();
    const length = countCodePoints(text);
    if (length > left) break;
    left -= length;
    kept.push({ ...turn, text });
  }
  return { turns: kept.reverse(), leftOut: turns.length - kept.length, olderTasks };
}

/** The most recent messages that a person wrote to an agent, newest last. */
export function recentHumanItems(source: ItemSource | undefined): TaskRow["references"]["items"] {
  if (source === undefined) return [];
  const ids: { item: string; window: string }[] = [];
  for (let row = source.rows.length - 1; row >= 0 && ids.length < REFERENCES_MAX; row--) {
    const found = source.rows.at(row);
    if (found?.head.fromUser) ids.push({ item: found.head.id, window: windowId(found.window) });
  }
  return ids.reverse();
}
