// The todo list as the entries of an Agent Client Protocol plan. Priority exists only at this border. Pure.
import type { TodoItem, TodoStatus } from "./list.ts";

export interface PlanEntry {
  readonly content: string;
  readonly status: TodoStatus;
  readonly priority: "medium";
}

/** One plan entry per item, in order; the client replaces its whole plan with them. */
export function todosToPlan(todos: readonly TodoItem[]): PlanEntry[] {
  return todos.map(({ content, status }) => ({ content, status, priority: "medium" }));
}
