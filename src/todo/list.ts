// The rules of a todo list: what a write may hold, and what it leaves out of the list before it. Pure.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { isRecord } from "../shapes.ts";
import { countCodePoints, plainLine } from "../storage/text.ts";

export const TODO_STATUSES = ["pending", "in_progress", "completed"] as const;
/** An item's status; at most one item of a list is `in_progress`. */
export type TodoStatus = (typeof TODO_STATUSES)[number];

/** One item of a todo list. */
export interface TodoItem {
  /** What is to be done, at most 2,000 characters. */
  readonly content: string;
  /** Its status. */
  readonly status: TodoStatus;
}

/** What comes from a log or a bus may be anything. */
export function isTodoItem(value: unknown): value is TodoItem {
  return isRecord(value) && typeof value.content === "string" && TODO_STATUSES.includes(value.status as TodoStatus);
}

/** On the host's event bus: carries `{ sessionId, agent, todos }` after each change and once after each rebuild. */
export const TODO_CHANNEL = "pi-token-budget:todo";

export const TODOS_MAX = 200;
export const TODO_CONTENT_MAX_CODE_POINTS = 2_000;

const NOT_CHANGED = "The list was not changed; correct it and send it whole again.";

function refused(what: string): TokenBudgetError {
  return new TokenBudgetError("invalid_argument", `todo_write: ${what} ${NOT_CHANGED}`);
}

function checkedContent(given: string, at: number): string {
  const field = `todos[${at}].content`;
  const content = given.trim();
  if (plainLine(content) === "")
    throw refused(`${field} is ${shownValue(given)}; it must hold something that can be read.`);
  if (!content.isWellFormed())
    throw refused(`${field} is ${shownValue(given)}; it holds half of a surrogate pair, so send whole characters.`);
  // A code point has at most two code units, so most texts need no count.
  const length = content.length > TODO_CONTENT_MAX_CODE_POINTS ? countCodePoints(content) : 0;
  if (length > TODO_CONTENT_MAX_CODE_POINTS)
    throw refused(
      `${field} is ${shownValue(content)}, ${length} characters; at most ${TODO_CONTENT_MAX_CODE_POINTS} are allowed, so keep details in a note.`,
    );
  return content;
}

/** The list as it is stored: a copy, contents trimmed. Throws a TokenBudgetError when the rules do not allow it. */
export function checkedTodos(given: readonly TodoItem[]): readonly TodoItem[] {
  if (given.length > TODOS_MAX)
    throw refused(`todos holds ${given.length} items; at most ${TODOS_MAX} are allowed, so leave out finished ones.`);
  const todos = given.map(({ content, status }, at) => ({ content: checkedContent(content, at), status }));
  const firstAt = new Map<string, number>();
  let active: number | undefined;
  for (const [at, { content, status }] of todos.entries()) {
    const earlier = firstAt.get(content);
    if (earlier !== undefined)
      throw refused(
        `todos[${earlier}] and todos[${at}] have the same content ${shownValue(content)}; name each item differently or send it once.`,
      );
    firstAt.set(content, at);
    if (status !== "in_progress") continue;
    if (active !== undefined)
      throw refused(
        `todos[${active}] and todos[${at}] are both "in_progress"; at most one item may be, so make the others "pending" or "completed".`,
      );
    active = at;
  }
  return todos;
}

export function copyOf(todos: readonly TodoItem[]): TodoItem[] {
  return todos.map(({ content, status }) => ({ content, status }));
}

/** The unfinished items of a list that the next one does not hold. */
export function droppedItems(before: readonly TodoItem[], after: readonly TodoItem[]): TodoItem[] {
  const kept = new Set(after.map(({ content }) => content));
  return copyOf(before.filter(({ content, status }) => status !== "completed" && !kept.has(content)));
}

export function countOf(todos: readonly TodoItem[], status: TodoStatus): number {
  return todos.reduce((sum, todo) => sum + (todo.status === status ? 1 : 0), 0);
}

export function isFinished(todos: readonly TodoItem[]): boolean {
  return todos.length > 0 && countOf(todos, "completed") === todos.length;
}
