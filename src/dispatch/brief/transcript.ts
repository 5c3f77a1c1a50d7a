// The earlier turns of a root session as a task is told them: quoted, bounded, newest last. Whether they may be told at all
// is decided by `canRead` before anything is read. Pure.
import type { ItemSource } from "../../history/source.ts";
import { blocksOf, isTextBlock } from "../../host/entries.ts";
import { type Row, windowId } from "../../log/branch.ts";
import { countCodePoints, shorten } from "../../storage/text.ts";
import { type Category, canRead } from "../../task/category.ts";
import type { TaskRecord } from "../record/rules.ts";

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
  /** Turns before them. */
  readonly leftOut: number;
}

export const NO_TRANSCRIPT: Transcript = { turns: [], leftOut: 0 };

/** References that are kept of a dispatch. */
export const REFERENCES_MAX = 12;

function spokenText(row: Row): string {
  const { head } = row;
  if (head.internal || (!head.fromUser && head.role !== "assistant")) return "";
  // Entries of a journal are read from the disk when they are asked for, and results of tools may be large.
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
}

/** The newest turns that fit; an agent that may not read the root's content gets none of them, and no count. */
export function transcriptOf({ viewer, owner, root, records }: TranscriptSource, limits: TranscriptLimits): Transcript {
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
  return { turns: kept.reverse(), leftOut: turns.length - kept.length };
}

/** Names one item of an agent's history. */
export interface ItemReference {
  readonly item: string;
  readonly window: string;
}

/** The most recent messages that a person wrote to an agent, newest last. */
export function recentHumanItems(source: ItemSource | undefined): ItemReference[] {
  if (source === undefined) return [];
  const ids: ItemReference[] = [];
  for (let row = source.rows.length - 1; row >= 0 && ids.length < REFERENCES_MAX; row--) {
    const found = source.rows.at(row);
    if (found?.head.fromUser) ids.push({ item: found.head.id, window: windowId(found.window) });
  }
  return ids.reverse();
}
