// Another agent's todo list, from its history: what its newest successful write holds. Pure.
import type { ItemSource } from "../history/source.ts";
import { isRecord } from "../shapes.ts";
import { isTodoItem, type TodoItem } from "./list.ts";

/** How many of the newest items are searched for a list. */
const SEARCH_ROWS_MAX = 2_000;

function todosIn(details: unknown): readonly TodoItem[] | undefined {
  if (!isRecord(details) || !Array.isArray(details.todos)) return undefined;
  return details.todos.filter(isTodoItem);
}

/** Empty when it never wrote one. */
export function todosOfHistory({ rows }: Pick<ItemSource, "rows">): readonly TodoItem[] {
  const oldest = Math.max(0, rows.length - SEARCH_ROWS_MAX);
  for (let at = rows.length - 1; at >= oldest; at--) {
    const row = rows.at(at);
    const { message } = row?.entry ?? {};
    if (row?.head.role !== "tool" || message?.toolName !== "todo_write" || message.isError === true) continue;
    const todos = todosIn(message.details);
    if (todos) return todos;
  }
  return [];
}
