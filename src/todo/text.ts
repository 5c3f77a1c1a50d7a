// The todo list as text for the model: the answer of a write, and the section of a bootstrap. Every line is bounded. Pure.

import { counted } from "../figures.ts";
import { droppedTodosText, openTodosText, TODOS_CLEARED_NOTICE, TODOS_EMPTY, todoCountsText } from "../prompts.ts";
import { countCodePoints, plainLine, shorten } from "../storage/text.ts";
import { countOf, type TodoItem } from "./list.ts";
import type { TodoState } from "./replay.ts";

const MARKS = { pending: "[ ]", in_progress: "[>]", completed: "[x]" } as const;

/** An item is not shortened below this to make room for more items. */
const LINE_MIN_CODE_POINTS = 40;
export const DROPPED_NAMED_MAX = 10;
export const DROPPED_CODE_POINTS = 100;
export const BOOTSTRAP_TODOS_MAX = 12;
export const BOOTSTRAP_TODO_CODE_POINTS = 100;

/** An item as one line of at most so many code points. */
export function todoLine({ content, status }: TodoItem, codePoints: number): string {
  return shorten(`${MARKS[status]} ${plainLine(content)}`, codePoints).toWellFormed();
}

/** The checklist in at most `room` code points: lines shrink evenly before items are left out. */
function checklist(todos: readonly TodoItem[], room: number): readonly string[] {
  const whole = todos.map((todo) => todoLine(todo, Number.POSITIVE_INFINITY));
  const size = whole.reduce((sum, line) => sum + countCodePoints(line) + 1, 0);
  if (size <= room) return whole;
  const each = Math.max(LINE_MIN_CODE_POINTS, Math.floor(room / todos.length) - 1);
  const lines: string[] = [];
  let left = room;
  for (const todo of todos) {
    const line = todoLine(todo, each);
    left -= countCodePoints(line) + 1;
    if (left < 0) break;
    lines.push(line);
  }
  return lines.length === todos.length ? lines : [...lines, `[… ${counted(todos.length - lines.length, "more item")}]`];
}

export interface TodoAnswer {
  readonly todos: readonly TodoItem[];
  readonly dropped: readonly TodoItem[];
  /** A person had cleared the list before this write. */
  readonly clearedByUser: boolean;
  /** Code points of the whole text. */
  readonly bound: number;
}

/** The checklist, the counts, the unfinished items that were dropped, and a person's clearing. */
export function todoAnswerText({ todos, dropped, clearedByUser, bound }: TodoAnswer): string {
  const named = dropped.slice(0, DROPPED_NAMED_MAX);
  const lost = named.map(({ content }) => JSON.stringify(shorten(plainLine(content), DROPPED_CODE_POINTS)));
  const notices = [
    todos.length === 0
      ? TODOS_EMPTY
      : todoCountsText(todos.length, countOf(todos, "completed"), countOf(todos, "in_progress")),
    ...(dropped.length === 0 ? [] : [droppedTodosText(lost, dropped.length - named.length)]),
    ...(clearedByUser ? [TODOS_CLEARED_NOTICE] : []),
  ];
  const room = bound - notices.reduce((sum, line) => sum + countCodePoints(line) + 1, 0) - LINE_MIN_CODE_POINTS;
  return [...checklist(todos, room), ...notices].join("\n").toWellFormed();
}

/** The open items for the bootstrap of the next window, the active one first; empty when there are none to show. */
export function openTodos({ todos, clearedByUser, window }: TodoState, currentWindow: number): string {
  // Said in the first bootstrap after it: later ones find it in an older window.
  if (clearedByUser) return window === currentWindow ? TODOS_CLEARED_NOTICE : "";
  const active = todos.filter(({ status }) => status === "in_progress");
  const open = [...active, ...todos.filter(({ status }) => status === "pending")];
  if (open.length === 0) return "";
  const lines = open.slice(0, BOOTSTRAP_TODOS_MAX).map((todo) => todoLine(todo, BOOTSTRAP_TODO_CODE_POINTS));
  return openTodosText(lines, open.length - lines.length, countOf(todos, "completed"));
}
