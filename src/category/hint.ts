// The one hint of dispatch: an agent of a category that opened an ordinary task is told what that means. Pure.
import { ORDINARY_TASK_HINT } from "../prompts.ts";
import type { Category } from "../task/category.ts";

/** The sentence for the result of a dispatch; undefined in every case but that one. */
export function dispatchHint(owner: Category, task: Category): string | undefined {
  return owner !== null && task === null ? ORDINARY_TASK_HINT : undefined;
}
