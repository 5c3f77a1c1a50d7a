// Tasks that run, in a few lines above the editor. Pure but for the time, which is given.
import type { LiveTask } from "../dispatch/task-view.ts";
import { counted } from "../figures.ts";
import type { UiTheme } from "../host/ui.ts";
import { columnsOf, fitted } from "./columns.ts";
import { ageText } from "./task-rows.ts";

/** Lines of the widget, without the count of the rest. */
const LINES_MAX = 4;
const BETWEEN = " · ";
/** What a narrow line leaves of the goal, before it leaves out figures. */
const GOAL_MIN_COLUMNS = 12;
/** With less than this, what a task is at says nothing. */
const PROGRESS_MIN_COLUMNS = 16;

/** Its figures, as many as leave the goal its least room; the time is always among them. */
function figuresOf({ progress, steps, tokens, sinceMs }: LiveTask, nowMs: number, columns: number): string {
  const age = ageText(nowMs - sinceMs);
  if (progress === "queued") return ["queued", age].join(BETWEEN);
  const few = [counted(steps, "step"), age].join(BETWEEN);
  const all = [counted(steps, "step"), counted(tokens, "token"), age].join(BETWEEN);
  return columnsOf(all) + BETWEEN.length + GOAL_MIN_COLUMNS <= columns ? all : few;
}

/** What one does: its goal, steps, tokens and time, and what it is at, in so many columns. */
export function liveTaskText(task: LiveTask, nowMs: number, columns: number): string {
  const { title } = task;
  const progress = task.progress === "queued" ? "" : task.progress;
  const figures = figuresOf(task, nowMs, columns);
  const room = Math.max(0, columns - columnsOf(figures) - BETWEEN.length);
  const shared = room - BETWEEN.length;
  if (progress === "" || shared < GOAL_MIN_COLUMNS + PROGRESS_MIN_COLUMNS)
    return fitted([fitted(title, room), figures].join(BETWEEN), columns);
  // The goal gets what the progress leaves, and half of the room where both are long.
  const goal = fitted(title, Math.max(Math.floor(shared / 2), shared - columnsOf(progress)));
  return [goal, figures, fitted(progress, shared - columnsOf(goal))].join(BETWEEN);
}

export function liveTaskLines(tasks: readonly LiveTask[], nowMs: number, theme: UiTheme, width: number): string[] {
  const lines = tasks.slice(0, LINES_MAX).map((task) => {
    return `${theme.fg("accent", "▸")} ${theme.fg("muted", liveTaskText(task, nowMs, Math.max(0, width - 2)))}`;
  });
  const more = tasks.length - lines.length;
  return more === 0
    ? lines
    : [...lines, theme.fg("dim", fitted(`and ${counted(more, "more task", "more tasks")}`, width))];
}
