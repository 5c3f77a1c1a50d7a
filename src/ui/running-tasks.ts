// Tasks that run, in a few lines above the editor. Pure but for the time, which is given.
import type { LiveTask } from "../dispatch/task-view.ts";
import { counted } from "../figures.ts";
import type { UiTheme } from "../host/ui.ts";
import { fitted } from "./columns.ts";
import { ageText } from "./task-rows.ts";

/** Lines of the widget, without the count of the rest. */
const LINES_MAX = 4;
const GOAL_MAX_COLUMNS = 40;

/** What one does: its goal, steps, tokens and time, and what it is at. */
export function liveTaskText({ title, progress, steps, tokens, sinceMs }: LiveTask, nowMs: number): string {
  const parts = [
    fitted(title, GOAL_MAX_COLUMNS),
    ...(progress === "queued" ? ["queued"] : [counted(steps, "step"), counted(tokens, "token")]),
    ageText(nowMs - sinceMs),
    ...(progress === "" || progress === "queued" ? [] : [progress]),
  ];
  return parts.join(" · ");
}

export function liveTaskLines(tasks: readonly LiveTask[], nowMs: number, theme: UiTheme, width: number): string[] {
  const lines = tasks.slice(0, LINES_MAX).map((task) => {
    return `${theme.fg("accent", "▸")} ${theme.fg("muted", fitted(liveTaskText(task, nowMs), Math.max(0, width - 2)))}`;
  });
  const more = tasks.length - lines.length;
  return more === 0
    ? lines
    : [...lines, theme.fg("dim", fitted(`and ${counted(more, "more task", "more tasks")}`, width))];
}
