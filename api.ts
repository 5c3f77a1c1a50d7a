// The launcher API: what other programs use. Re-exports only.
export { setAgentCategory } from "./src/category/change.ts";
export type { CategoryModels, ModelName } from "./src/category/labels.ts";
export { createRouter, type Route, type RouteRequest, type RouterParts } from "./src/category/router.ts";
export type { Attachment } from "./src/dispatch/attachments.ts";
export type { TaskDispatcherOptions } from "./src/dispatch/create.ts";
export type { LookOptions, OpenedFile, TaskDispatcher } from "./src/dispatch/dispatcher.ts";
export type { TaskEvent, TaskHandle } from "./src/dispatch/handle.ts";
export type { DispatchParent, RouteDoor, RouteQuestion } from "./src/dispatch/parent.ts";
export type { Quota, QuotaAnswer, QuotaUsage } from "./src/dispatch/quota.ts";
export type { UsageRow } from "./src/dispatch/record.ts";
export type { DispatchRequest } from "./src/dispatch/request.ts";
export type { RunEvent, RunUsage } from "./src/dispatch/run-log.ts";
export type { Runner, RunRequest } from "./src/dispatch/runner.ts";
export type { TaskSettings } from "./src/dispatch/settings.ts";
export { defineTaskTool, type TaskTool } from "./src/dispatch/tool.ts";
export type { FileView, RestrictedTask, TaskView } from "./src/dispatch/view.ts";
export { CategoryModelError, type ErrorCode, TokenBudgetError } from "./src/errors.ts";
export { createTokenBudgetExtension, type TokenBudgetExtension, type TokenBudgetOptions } from "./src/extension.ts";
export { type AgentInfo, type FindTaskOptions, getTokenBudgetTask, type TokenBudgetTask } from "./src/launcher.ts";
export type { ItemRole } from "./src/log/item.ts";
export { type OpenTaskOptions, openTask } from "./src/reader/open.ts";
export type {
  FoundHistoryItem,
  HistoryItem,
  HistoryPage,
  HistoryQuery,
  HistoryRegion,
  HistoryWindow,
  ListedHistoryItem,
  NoteInfo,
  NoteMatch,
  NoteQuery,
  NoteSearchPage,
  NoteSearchQuery,
  NoteText,
  ReadableAgent,
  ReadHistoryItem,
  TaskReader,
} from "./src/reader/types.ts";
export type { Category } from "./src/task/category.ts";
export type { ChildPlace, TaskContext, TaskMembership } from "./src/task/context.ts";
export type { TodoItem, TodoStatus } from "./src/todo/list.ts";
export { type PlanEntry, todosToPlan } from "./src/todo/plan.ts";
export { TOOL_NAMES, type ToolName } from "./src/tools/specs.ts";
export { createTaskDispatcher } from "./src/wire/dispatcher.ts";
