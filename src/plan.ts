// The todo list as the entries of an editor's plan, and nothing else of this package: for programs that need only that.
export type { TodoItem, TodoStatus } from "./todo/list.ts";
export { type PlanEntry, todosToPlan } from "./todo/plan.ts";
