// The launcher API: what other programs use. Re-exports only.
export { setAgentCategory } from "./src/category/change.ts";
export type { CategoryModels, ModelName } from "./src/category/labels.ts";
export { createRouter, type Route, type RouteRequest, type RouterParts } from "./src/category/router.ts";
export { CategoryModelError, type ErrorCode, TokenBudgetError } from "./src/errors.ts";
export { createTokenBudgetExtension, type TokenBudgetExtension, type TokenBudgetOptions } from "./src/extension.ts";
export { type AgentInfo, type FindTaskOptions, getTokenBudgetTask, type TokenBudgetTask } from "./src/launcher.ts";
export type { Category } from "./src/task/category.ts";
export type { TaskContext, TaskMembership } from "./src/task/context.ts";
export type { TodoItem, TodoStatus } from "./src/todo/list.ts";
export { type PlanEntry, todosToPlan } from "./src/todo/plan.ts";
export { TOOL_NAMES, type ToolName } from "./src/tools/specs.ts";
