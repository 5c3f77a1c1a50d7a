// The todo list of a branch: the last write on it, and nothing else. Pure.

import type { BranchIndex } from "../log/branch.ts";
import { isRecord } from "../shapes.ts";
import { ROOT_ADDRESS } from "../task/addresses.ts";
import { copyOf, isFinished, isTodoItem, type TodoItem } from "./list.ts";

/** The custom type of the data entry that each accepted write appends. */
export const TODO_ENTRY = "todo/write";

/** The data of that entry: the whole list. */
export interface TodoEntry {
  readonly todos: readonly TodoItem[];
  /** Whose list it is; left out for the root agent. A forked child's branch holds its parent's. */
  readonly agent?: string;
  /** The list was cleared by a person and not by a call. */
  readonly clearedBy?: "user";
}

export interface TodoState {
  readonly todos: readonly TodoItem[];
  /** A person cleared the list, and no call has come since. */
  readonly clearedByUser: boolean;
  /** The number of the window in which it was written; 0 for a list that never was. */
  readonly window: number;
  /** Every item is completed and the user has sent a message since: it is not shown any more. */
  readonly isFolded: boolean;
}

export const NO_TODOS: TodoState = { todos: [], clearedByUser: false, window: 0, isFolded: false };

/** Session files are not validated, so what is no item of a list is skipped. */
function itemsIn(data: Record<string, unknown>): TodoItem[] {
  return Array.isArray(data.todos) ? copyOf(data.todos.filter(isTodoItem)) : [];
}

export function todoEntry(todos: readonly TodoItem[], agent: string): TodoEntry {
  return { todos: copyOf(todos), ...(agent === ROOT_ADDRESS ? {} : { agent }) };
}

export function clearedEntry(agent: string): TodoEntry {
  return { ...todoEntry([], agent), clearedBy: "user" };
}

/**
 * The list of an agent on its branch. A root session takes over what it finds, since a person's fork continues the
 * same work; a child has only what it wrote itself.
 */
export function todoState(branch: BranchIndex, agent: string): TodoState {
  const written = branch.lastCustom(TODO_ENTRY);
  const data = written?.entry.data;
  if (!written || !isRecord(data)) return NO_TODOS;
  if (agent !== ROOT_ADDRESS && data.agent !== agent) return NO_TODOS;
  const todos = itemsIn(data);
  return {
    todos,
    clearedByUser: data.clearedBy === "user",
    window: written.window,
    isFolded: isFinished(todos) && branch.userMessages > written.userMessages,
  };
}
