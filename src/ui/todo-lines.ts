// The todo list as a person sees it: the lines of the widget, and the whole list as plain text. Pure.
import type { UiTheme } from "../host/ui.ts";
import { plainLine, shorten } from "../storage/text.ts";
import { countOf, TODO_CONTENT_MAX_CODE_POINTS, type TodoItem } from "../todo/list.ts";
import { fitted } from "./columns.ts";

/** Lines of the widget, with the count of the rest. */
export const WIDGET_LINES_MAX = 7;

const MARK_COLUMNS = 2;
const INDENT = " ";

/** Whether the active item is being worked on now; `past` is for a result in the chat. */
export type Activity = "running" | "idle" | "past";

export function todoMark({ status }: TodoItem, activity: Activity): string {
  switch (status) {
    case "completed":
      return "✓";
    case "in_progress":
      return activity === "running" ? "▸" : "▹";
    case "pending":
      return "○";
  }
}

/** One item on one line of at most so many columns. */
export function drawnTodo(todo: TodoItem, activity: Activity, theme: UiTheme, width: number): string {
  const room = width - INDENT.length - MARK_COLUMNS;
  if (room <= 0) return "";
  const mark = todoMark(todo, activity);
  const isPaused = todo.status === "in_progress" && activity === "idle";
  const content = fitted(isPaused ? `${todo.content} (paused)` : todo.content, room);
  switch (todo.status) {
    case "completed":
      return `${INDENT}${theme.fg("dim", `${mark} ${theme.strikethrough(content)}`)}`;
    case "in_progress":
      if (activity === "running") return `${INDENT}${theme.fg("accent", `${mark} ${theme.bold(content)}`)}`;
      return `${INDENT}${theme.fg(isPaused ? "warning" : "muted", mark)} ${content}`;
    case "pending":
      return `${INDENT}${theme.fg("muted", mark)} ${content}`;
  }
}

/** The item in focus: the active item, else the first open one, else the end. */
function focusOf(todos: readonly TodoItem[]): number {
  const active = todos.findIndex(({ status }) => status === "in_progress");
  if (active >= 0) return active;
  const open = todos.findIndex(({ status }) => status !== "completed");
  return open >= 0 ? open : todos.length - 1;
}

/** The stretch of a long list that is shown: the item in focus with the one before it. */
function shownFrom(todos: readonly TodoItem[], count: number): number {
  return Math.max(0, Math.min(focusOf(todos) - 1, todos.length - count));
}

function restLine(hidden: readonly TodoItem[]): string {
  const done = countOf(hidden, "completed");
  const counts = [
    ...(done === hidden.length ? [] : [`${hidden.length - done} open`]),
    ...(done ? [`${done} done`] : []),
  ];
  return `… ${hidden.length} more: ${counts.join(", ")} (/todos)`;
}

/** At most seven lines, each within the width; none for an empty list. */
export function widgetLines(todos: readonly TodoItem[], activity: Activity, theme: UiTheme, width: number): string[] {
  if (todos.length <= WIDGET_LINES_MAX) return todos.map((todo) => drawnTodo(todo, activity, theme, width));
  const count = WIDGET_LINES_MAX - 1;
  const from = shownFrom(todos, count);
  const hidden = [...todos.slice(0, from), ...todos.slice(from + count)];
  const rest = theme.fg("muted", fitted(restLine(hidden), width - INDENT.length));
  return [
    ...todos.slice(from, from + count).map((todo) => drawnTodo(todo, activity, theme, width)),
    `${INDENT}${rest}`,
  ];
}

export function countsLine(todos: readonly TodoItem[]): string {
  return `${countOf(todos, "completed")} of ${todos.length} done`;
}

/** The whole list, for a terminal interface and for plain output. */
export function wholeList(todos: readonly TodoItem[], activity: Activity): string {
  if (todos.length === 0) return "The todo list is empty.";
  const lines = todos.map((todo) => {
    const content = shorten(plainLine(todo.content), TODO_CONTENT_MAX_CODE_POINTS);
    return `${todoMark(todo, activity)} ${content}`;
  });
  return [`Todo list, ${countsLine(todos)}:`, ...lines].join("\n");
}
