// The answers of /notes: lists of notes and a note's text, bounded and safe to show. Reads only through what it is given.
import { messageOf, shownValue, TokenBudgetError } from "../errors.ts";
import { counted, grouped, localTime } from "../figures.ts";
import { fullPath, type NotePrefix, noteName, parseNotePrefix, prefixProblem } from "../notes/paths.ts";
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

/** `plan.md`, `reviewer: plan.md`, `/root/reviewer: plan.md`. */
const NAMED = /^([^:]+):(?: +|$)(.*)$/s;
/** As models write it. */
const FULL_PATH = /^\/.*\/notes(\/|$)/s;

const AGENTS_NAMED_MAX = 10;

/** The addresses without what is remarked behind them. */
function addressesOf({ agents }: NotesView): readonly string[] {
  return agents.map((shown) => shown.split(" ", 1)[0] ?? shown).filter(isAddress);
}

/** The agents that a word means: by its name or address, or by the beginning of one. */
function agentsCalled(view: NotesView, word: string): readonly string[] {
  const addresses = addressesOf(view);
  const exact = addresses.filter((address) => [address, agentName(address)].includes(word));
  if (exact.length > 0) return exact;
  return addresses.filter((address) => address.startsWith(word) || agentName(address).startsWith(word));
}

function namesOf(addresses: readonly string[]): string {
  const shown = addresses.slice(0, AGENTS_NAMED_MAX).map(agentName);
  const rest = addresses.length - shown.length;
  return safeText(`${shown.join(", ")}${rest === 0 ? "" : `, and ${grouped(rest)} more`}`);
}

function agentCalled(view: NotesView, word: string): string {
  const [agent, ...others] = agentsCalled(view, word);
  if (agent === undefined) {
    const message = `No agent is called ${shownValue(word)}. There are ${namesOf(addressesOf(view))}.`;
    throw new TokenBudgetError("unknown_agent", message);
  }
  if (others.length === 0) return agent;
  const message = `${shownValue(word)} is the beginning of ${namesOf([agent, ...others])}. Type more of the name.`;
  throw new TokenBudgetError("unknown_agent", message);
}

/** Whether the argument is a path of one's own; such a path may have a colon in it. */
function isOwnPath(view: NotesView, argument: string, word: string | undefined): boolean {
  if (argument.startsWith("/")) return false;
  const called = word === undefined ? [] : agentsCalled(view, word);
  if (called.length === 0) return true;
  const isWhole = called.some((address) => agentName(address) === word);
  return !isWhole && view.notesOf(view.agent).list({ prefix: argument, limit: 1 }).total > 0;
}

/** Whose notes are meant, and how their paths begin. Throws with what is wrong, for a person. */
function meant(view: NotesView, argument: string): NotePrefix {
  if (FULL_PATH.test(argument)) return parseNotePrefix(argument, view.agent);
  const [, word, rest = ""] = NAMED.exec(argument) ?? [];
  const named = isOwnPath(view, argument, word)
    ? { agent: view.agent, prefix: argument }
    : { agent: agentCalled(view, word ?? argument), prefix: rest };
  const problem = prefixProblem(named.prefix);
  if (problem === undefined) return named;
  throw new TokenBudgetError(
    "invalid_path",
    `No note is called ${shownValue(named.prefix)}: ${problem}. /notes lists those there are.`,
  );
}

/** Why no note is shown. */
function noneText(view: NotesView, { agent, prefix }: NotePrefix): string {
  if (prefix === "") return `There are no notes of ${agentName(agent)}. /notes lists the notes there are.`;
  const [, word] = (agent === view.agent && NAMED.exec(prefix)) || [];
  const noAgent =
    word === undefined ? "" : `, and no agent is called ${safeText(word)} (there are ${namesOf(addressesOf(view))})`;
  return `No note begins with ${typedPath(view, agent, prefix)}${noAgent}. /notes lists the notes there are.`;
}

/** How a person would type it. */
function typedPath(view: NotesView, agent: string, path: string): string {
  return safeText(agent === view.agent ? path : noteName(fullPath(agent, path)));
}

/** A note, or the notes whose paths begin like the argument. Throws with the rule that the argument breaks. */
export function notesAt(view: NotesView, argument: string): string {
  const { agent, prefix } = meant(view, argument);
  const store = view.notesOf(agent);
  if (store.list({ prefix }).rows.some(({ path }) => path === prefix)) return noteText(view, store, prefix);
  const { lines, total } = listOf(store, prefix);
  if (total === 0) return noneText(view, { agent, prefix });
  const shown = typedPath(view, agent, prefix);
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
