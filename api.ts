// The launcher API: what other programs use. Re-exports only.
export { setAgentCategory } from "./src/category/change.ts";
export type { CategoryModels, ModelName } from "./src/category/labels.ts";
export { createRouter, type Route, type RouteRequest, type RouterParts } from "./src/category/router.ts";
export type { TaskDispatcherOptions } from "./src/dispatch/create.ts";
export type { ListOptions, LookOptions, RerunOptions, TaskDispatcher } from "./src/dispatch/dispatcher.ts";
export type { Attachment } from "./src/dispatch/files/attachments.ts";
export type { DispatchParent, RouteDoor, RouteQuestion } from "./src/dispatch/parent.ts";
export type { DailyQuota, Quota, QuotaAnswer } from "./src/dispatch/quota.ts";
export type { DispatchRequest } from "./src/dispatch/request.ts";
export type { RunEvent, Runner, RunRequest } from "./src/dispatch/runner.ts";
export type { RunLimits, TaskSettings } from "./src/dispatch/settings.ts";
export type {
  FileView,
  LiveTask,
  OpenedFile,
  QuotaUsage,
  RestrictedTask,
  RunUsage,
  TaskEvent,
  TaskHandle,
  TaskStatus,
  TaskView,
  UsageRow,
} from "./src/dispatch/task-view.ts";
export { CategoryModelError, type ErrorCode, TokenBudgetError } from "./src/errors.ts";
export { createTokenBudgetExtension, type TokenBudgetExtension, type TokenBudgetOptions } from "./src/extension.ts";
export type { ItemBranch } from "./src/history/shapes.ts";
export type { OverflowJudge } from "./src/host/overflow.ts";
export { type AgentInfo, type FindTaskOptions, getTokenBudgetTask, type TokenBudgetTask } from "./src/launcher.ts";
export type { ItemRole } from "./src/log/item.ts";
export type { NoteInfo, NoteText } from "./src/notes/shapes.ts";
export { type OpenTaskOptions, openTask } from "./src/reader/open.ts";
export type {
  FoundHistoryItem,
  HistoriesReader,
  HistoryItem,
  HistoryPage,
  HistoryQuery,
  HistoryRegion,
  HistoryWindow,
  ListedHistoryItem,
  NoteMatch,
  NoteQuery,
  NoteSearchPage,
  NoteSearchQuery,
  NotesReader,
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
export {
  type ChildExtensionOptions,
  type CreateTaskOptions,
  createTask,
  writeChildExtension,
} from "./src/wire/plain-program.ts";
export { defineTaskTool, type TaskTool, type TaskToolResult } from "./src/wire/task-tool.ts";
