// What /notes says: lists of notes and a note's text, bounded and safe to show. Reads through what it is given only.
import { messageOf } from "../errors.ts";
import { counted, grouped, localTime } from "../figures.ts";
import { fullPath, noteName, parseNotePrefix } from "../notes/paths.ts";
import type { NotesStore } from "../notes/store.ts";
import { agentName, isAddress } from "../task/addresses.ts";
import { CHOICES_MAX, type Choice } from "./commands.ts";
import { bounded, safeText } from "./text.ts";

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

function listOf(store: NotesStore, prefix: string): { readonly lines: readonly string[]; readonly total: number } {
  const { rows, total } = store.list({ prefix, orderBy: "updated_at", order: "descending", limit: ROWS_PER_AGENT });
  const lines = rows.map(({ path, bytes, updatedAt }) => {
    return `  ${safeText(path)}  ${counted(bytes, "byte")}  ${localTime(updatedAt)}`;
  });
  const rest = total - rows.length;
  return { lines: rest === 0 ? lines : [...lines, `  … ${grouped(rest)} more: /notes <beginning of a path>`], total };
}

function section(view: NotesView, agent: string): readonly string[] {
  const name = agentName(agent);
  try {
    const { lines, total } = listOf(view.notesOf(agent), "");
    if (agent === view.agent) return [total === 0 ? "No notes yet" : `${counted(total, "note")}:`, ...lines];
    return total === 0 ? [] : [`${counted(total, "note")} of ${name} (/notes ${name}: <path>):`, ...lines];
  } catch (error) {
    return [`${name}: ${safeText(messageOf(error))}`];
  }
}

/** The notes of every agent that may be read. */
export function notesOverview(view: NotesView): string {
  const readable = view.agents.filter(isAddress);
  const shown = readable.slice(0, AGENTS_MAX);
  const rest = view.agents.length - shown.length;
  const more = rest === 0 ? [] : [`${counted(rest, "more agent")}, restricted or left out`];
  return [...shown.flatMap((agent) => section(view, agent)), ...more].join("\n");
}

/** Whose notes are meant, and what of them: `reviewer: plan.md`, a full address, or a path of one's own. */
function meant({ agents }: NotesView, argument: string): string {
  const [, name, path = ""] = /^([^:]+): *(.*)$/s.exec(argument) ?? [];
  if (name === undefined) return argument;
  const addresses = agents.map((shown) => shown.split(" ", 1)[0] ?? shown);
  const agent = addresses.find((address) => agentName(address) === name);
  return agent === undefined ? argument : fullPath(agent, path);
}

/** How a person would type it. */
function typedPath(view: NotesView, agent: string, path: string): string {
  return safeText(agent === view.agent ? path : noteName(fullPath(agent, path)));
}

/** A note, or the notes whose paths begin like the argument. Throws with the rule that the argument breaks. */
export function notesAt(view: NotesView, argument: string): string {
  const { agent, prefix } = parseNotePrefix(meant(view, argument), view.agent);
  const store = view.notesOf(agent);
  if (store.list({ prefix }).rows.some(({ path }) => path === prefix)) return noteText(view, store, prefix);
  const { lines, total } = listOf(store, prefix);
  const shown = typedPath(view, agent, prefix);
  if (total === 0) return `No note begins with ${shown}. /notes lists the notes there are.`;
  return [`${counted(total, "note begins", "notes begin")} with ${shown}:`, ...lines].join("\n");
}

function noteText(view: NotesView, store: NotesStore, path: string): string {
  const { text, bytes, updatedAt } = store.read(path);
  const shown = bounded(safeText(text), NOTE_BOUNDS);
  const head = `${typedPath(view, store.agent, path)}  ${counted(bytes, "byte")}  ${localTime(updatedAt)}`;
  const { omitted } = shown;
  const rest =
    omitted && `… ${counted(omitted.codePoints, "more character")}, in the file ${store.root}/${safeText(path)}`;
  return [head, shown.text, ...(rest === undefined ? [] : [rest])].join("\n");
}

/** Notes that begin like this, one's own and then others'. */
export function noteCompletions(view: NotesView, prefix: string): readonly Choice[] {
  const others = view.agents.filter((address) => address !== view.agent && isAddress(address));
  const named = others.filter((address) => {
    const before = `${agentName(address)}: `;
    return before.startsWith(prefix) || prefix.startsWith(before);
  });
  return [
    ...choicesOf(view, view.agent, prefix, ""),
    ...named.flatMap((address) => {
      const before = `${agentName(address)}: `;
      return choicesOf(view, address, prefix.slice(before.length), before);
    }),
  ];
}

/** None when the notes cannot be listed. */
function choicesOf({ notesOf }: NotesView, agent: string, prefix: string, before: string): readonly Choice[] {
  try {
    const { rows } = notesOf(agent).list({ prefix, limit: CHOICES_MAX });
    return rows.map(({ path, bytes }) => ({ value: `${before}${path}`, about: counted(bytes, "byte") }));
  } catch {
    return [];
  }
}
