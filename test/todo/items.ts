// Todo items for tests.
import type { TodoItem, TodoStatus } from "../../src/todo/list.ts";

export function item(content: string, status: TodoStatus = "pending"): TodoItem {
  return { content, status };
}
