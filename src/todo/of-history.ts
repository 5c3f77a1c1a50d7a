// Another agent's todo list, as its history tells it: what its newest successful write said. Pure.
import type { ItemSource } from "../history/source.ts";
import type { TodoItem } from "./list.ts";

/** A list is looked for in so many of the newest items. */
const SEARCH_ROWS_MAX = 2_000;

function isTodo(value: unknown): value is TodoItem {
  if (typeof value !== "object" || value === null || !("content" in value) || !("status" in value)) return false;
  return typeof value.content === "string" && typeof value.status === "string";
}

function todosIn(details: unknown): readonly TodoItem[] | undefined {
  if (typeof details !== "object" || details === null || !("todos" in details)) return undefined;
  return Array.isArray(details.todos) ? details.todos.filter(isTodo) : undefined;
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
