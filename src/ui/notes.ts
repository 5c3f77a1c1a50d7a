// What /notes says: lists of notes and a note's text, bounded and safe to show. Reads through what it is given only.
import { messageOf } from "../errors.ts";
import { fullPath, parseNotePath, parseNotePrefix } from "../notes/paths.ts";
import type { NotesStore } from "../notes/store.ts";
import { bounded, grouped, safeText } from "./text.ts";

export interface NotesView {
  readonly agent: string;
  /** Every agent of the task, this one first; those that may not be read carry a remark behind their address. */
  readonly agents: readonly string[];
  /** The notes of an agent that may be read; throws for another. */
  readonly notesOf: (agent: string) => NotesStore;
}

const ROWS_PER_AGENT = 30;
const AGENTS_MAX = 20;
const NOTE_BOUNDS = { lines: 200, codePoints: 12_000 };
const COMPLETIONS_MAX = 20;

function listOf(store: NotesStore, prefix: string): { readonly lines: readonly string[]; readonly total: number } {
  const { rows, total } = store.list({ prefix, orderBy: "updated_at", order: "descending", limit: ROWS_PER_AGENT });
  const lines = rows.map(({ path, bytes, updatedAt }) => {
    return `  ${safeText(path)}  ${grouped(bytes)} bytes  ${updatedAt.slice(0, 16).replace("T", " ")}`;
  });
  const rest = total - rows.length;
  return { lines: rest === 0 ? lines : [...lines, `  … ${rest} more: /notes <beginning of a path>`], total };
}

function section(view: NotesView, agent: string, prefix: string): readonly string[] {
  try {
    const { lines, total } = listOf(view.notesOf(agent), prefix);
    if (total === 0) return agent === view.agent ? [`${agent}: no notes yet`] : [];
    return [`${agent}: ${total} ${total === 1 ? "note" : "notes"}`, ...lines];
  } catch (error) {
    return [`${agent}: ${safeText(messageOf(error))}`];
  }
}

/** The notes of every agent that may be read. */
export function notesOverview(view: NotesView): string {
  const readable = view.agents.filter((address) => /^\/\S+$/.test(address));
  const shown = readable.slice(0, AGENTS_MAX);
  const rest = view.agents.length - shown.length;
  const more = rest === 0 ? [] : [`${rest} more agents, restricted or left out: /notes /root/<agent>/notes/<path>`];
  return [...shown.flatMap((agent) => section(view, agent, "")), ...more].join("\n");
}

/** A note, or the notes whose paths begin like the argument. Throws with the rule that the argument breaks. */
export function notesAt(view: NotesView, argument: string): string {
  const { agent, prefix } = parseNotePrefix(argument, view.agent);
  const store = view.notesOf(agent);
  const isThere = store.list({ prefix }).rows.some(({ path }) => path === prefix);
  if (isThere) return noteText(store, parseNotePath(argument, view.agent).path);
  const { lines, total } = listOf(store, prefix);
  if (total > 0) return [`${total} of ${agent} begin with ${safeText(prefix)}`, ...lines].join("\n");
  return `No note of ${agent} is called or begins with ${safeText(prefix)}. /notes lists them.`;
}

function noteText(store: NotesStore, path: string): string {
  const { text, bytes, updatedAt } = store.read(path);
  const shown = bounded(safeText(text), NOTE_BOUNDS);
  const head = `${safeText(fullPath(store.agent, path))}  ${grouped(bytes)} bytes, ${updatedAt}`;
  const { omitted } = shown;
  const rest =
    omitted && `… ${grouped(omitted.codePoints)} more characters, in the file ${store.root}/${safeText(path)}`;
  return [head, shown.text, ...(rest === undefined ? [] : [rest])].join("\n");
}

/** Own notes whose paths begin like this; none when they cannot be listed. */
export function noteCompletions({ agent, notesOf }: NotesView, prefix: string): readonly string[] {
  try {
    return notesOf(agent)
      .list({ prefix, limit: COMPLETIONS_MAX })
      .rows.map(({ path }) => path);
  } catch {
    return [];
  }
}
