// Content categories: the one predicate that decides who may read what, and the one table of what a new task's content
// is. A category is a label, or null for ordinary content. Pure.

import { FieldError, shownValue, TokenBudgetError } from "../errors.ts";
import { ORDINARY_TASK_HINT } from "../prompts.ts";

/** What content is: a label of 1 to 64 characters (`a-z`, `0-9`, `_`, `-`), or null for ordinary content. */
export type Category = string | null;

/** What a person types for ordinary content. */
const NO_CATEGORY = "none";

const LABEL = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The same in words. */
export const LABEL_RULE =
  "a label has 1 to 64 characters a-z, 0-9, _ and -, and begins with a letter or a digit, such as client-x";

/** What a person typed, as a label; undefined when it is none. */
export function labelOf(typed: string): string | undefined {
  const label = typed.trim().toLowerCase();
  return label !== NO_CATEGORY && LABEL.test(label) ? label : undefined;
}

/** A category from outside: trimmed and lower-cased; null is ordinary content, and the empty string is nothing. */
export function parseCategory(value: unknown, field = "category"): Category {
  if (value === null) return null;
  const text = typeof value === "string" ? value : "";
  if (text.trim().toLowerCase() === NO_CATEGORY) {
    const rule = `${NO_CATEGORY} stands for ordinary content where a person types it, so no category is called so. Give null.`;
    throw new TokenBudgetError("invalid_argument", `${field} is ${shownValue(value)}; ${rule}`);
  }
  const label = labelOf(text);
  if (label !== undefined) return label;
  throw new FieldError("invalid_argument", field, value, `${LABEL_RULE}; null is ordinary content.`);
}

/** Whether an agent of one category may read content of another. Every path between agents asks this. */
export function canRead(viewer: Category, owner: Category): boolean {
  return owner === null || viewer === owner;
}

/** The same for content whose category may be unknown: then it may not be read. */
export function mayRead(viewer: Category, owner: Category | undefined): boolean {
  return owner !== undefined && canRead(viewer, owner);
}

/** Throws when content of `from` may not reach `to`. The message names no category: its reader may not know it. */
export function assertFlow(from: Category, to: Category): void {
  if (canRead(to, from)) return;
  throw new TokenBudgetError(
    "refused",
    "Content of a category only goes to agents of the same category, and this one is of another or of none. Nothing was changed. Leave that content out, or address an agent of the same category.",
  );
}

export interface CategoryChoice {
  /** Whether the task's own content was declared; otherwise it quotes its parent's. */
  readonly own: boolean;
  readonly category: Category;
}

/**
 * What a new task's content is. `declared` is undefined only in internal flows that quote the parent's content; a caller
 * that knows the content declares null for ordinary content, or the owner's own category.
 */
export function taskCategoryChoice(declared: Category | undefined, owner: Category): CategoryChoice {
  if (declared === undefined) return { own: false, category: owner };
  const category = parseCategory(declared);
  if (category === null || category === owner) return { own: true, category };
  const possible = owner === null ? "This agent is ordinary" : `This agent is of category ${owner}`;
  throw new FieldError(
    "refused",
    "category",
    declared,
    `it is not this agent's. ${possible}: leave category out for an ordinary task${owner === null ? "" : `, or give ${owner}`}.`,
  );
}

/** What the category rule needs to know of an agent. */
export interface Categorized {
  readonly address: string;
  readonly category: Category;
  /** Whether the category was declared for it; without that it is its parent's. */
  readonly categoryOwn: boolean;
}

/** Why a child may not be below this parent; undefined when it may. */
export function categoryProblem(parent: Categorized, child: Categorized): string | undefined {
  if (child.category === parent.category) return undefined;
  if (!child.categoryOwn) return `${child.address} has not the category of its parent ${parent.address}`;
  // Below an ordinary parent a person may have given it one by hand; a category itself only changes to none.
  if (parent.category === null || child.category === null) return undefined;
  return `${child.address} is of another category than its parent ${parent.address}`;
}

/** The sentence for the result of a dispatch; undefined in every case but that one. */
export function dispatchHint(owner: Category, task: Category): string | undefined {
  return owner !== null && task === null ? ORDINARY_TASK_HINT : undefined;
}
