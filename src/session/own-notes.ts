// What a session says of its own notes: the index for a bootstrap, soft warnings, and what is wrong with a path.
import { messageOf } from "../errors.ts";
import { noteWarnings } from "../notes/limits.ts";
import { fullPath, parseNotePath } from "../notes/paths.ts";
import type { NotesStore } from "../notes/store.ts";
import { NOTES_INDEX_MAX_FILES, type NotesIndex } from "../window/bootstrap.ts";

const WARNINGS_MAX = 5;

/** The newest notes; undefined when they cannot be listed, which the bootstrap then says: a window opens anyway. */
export function notesIndex(notes: NotesStore): NotesIndex {
  try {
    const { rows, total } = notes.newest(NOTES_INDEX_MAX_FILES);
    const shown = rows.map(({ path, bytes, updatedAt }) => ({
      path: fullPath(notes.agent, path),
      bytes,
      // To the minute: every digit of a bootstrap costs tokens.
      updated_at: `${updatedAt.slice(0, 16)}Z`,
    }));
    return { rows: shown, total };
  } catch {
    return undefined;
  }
}

/** Warnings about notes that have grown large; none when they cannot be listed. */
export function notesWarnings(notes: NotesStore): readonly string[] {
  try {
    const { large, totalBytes } = notes.usage();
    const { agent, maxFileBytes } = notes;
    const files = large.map(({ path, bytes }) => ({ path: fullPath(agent, path), bytes, totalBytes: 0, maxFileBytes }));
    const all = { path: "", bytes: 0, totalBytes, maxFileBytes };
    return [...files, all].flatMap(noteWarnings).slice(-WARNINGS_MAX);
  } catch {
    return [];
  }
}

/** What is wrong with a path as one of the agent's own notes, as a sentence; undefined when it is one. */
export function pathFault(agent: string, path: unknown): string | undefined {
  try {
    const owner = parseNotePath(String(path), agent).agent;
    return owner === agent ? undefined : `path names a note of ${owner}.`;
  } catch (error) {
    return messageOf(error);
  }
}
