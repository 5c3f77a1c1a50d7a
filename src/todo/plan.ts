// The todo list as the entries of an Agent Client Protocol plan. Priority exists only at this border. Pure.
import { assertArgument, assertObject, LIST, oneOf, TEXT } from "../options.ts";
import { TODO_STATUSES, type TodoItem, type TodoStatus } from "./list.ts";

/** One entry of a plan of the Agent Client Protocol. */
export interface PlanEntry {
  /** The item's content, as it is. */
  readonly content: string;
  /** The item's status; the protocol has the same three. */
  readonly status: TodoStatus;
  /** The protocol wants one; the list has none. */
  readonly priority: "medium";
}

const STATUS = oneOf(...TODO_STATUSES);

/**
 * One plan entry per item, in order; the client replaces its whole plan with them.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`: what is no todo list.
 */
export function todosToPlan(todos: readonly TodoItem[]): PlanEntry[] {
  assertArgument("todosToPlan", "todos", todos, LIST);
  for (const [at, todo] of todos.entries())
    assertObject(todo, { of: "todosToPlan", what: `todos[${at}]`, fields: { content: TEXT, status: STATUS } });
  return todos.map(({ content, status }) => ({ content, status, priority: "medium" }));
}
