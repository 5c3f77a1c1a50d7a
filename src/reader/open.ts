// A root task for a program that has no session in it: agents, history and notes, read-only. It registers nothing,
// takes no lock and creates nothing on disk.
import { assertObject, fieldOf, optional, TEXT } from "../options.ts";
import { type Category, parseCategory } from "../task/category.ts";
import { parseContext, type TaskContext } from "../task/context.ts";
import { ReadAccess } from "./access.ts";
import { historyOf } from "./history.ts";
import { notesOf } from "./notes.ts";
import type { TaskReader } from "./types.ts";

const CATEGORY = fieldOf("a label, or null for ordinary content", (value) => value === null || TEXT.fits(value));

/** Who reads. */
export interface OpenTaskOptions {
  /**
   * What the program may see: ordinary content and, with a label, that of the category. Null or left out: ordinary
   * content only.
   */
  readonly category?: Category;
}

/**
 * Opens a root task to be read by a program that has no session in it. Nothing is registered or created.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`, `newer_format`: the context or an option;
 * `not_found`: its storage holds no such task.
 */
export function openTask(context: TaskContext, options: OpenTaskOptions = {}): TaskReader {
  const checked = parseContext(context);
  assertObject(options, { of: "openTask", what: "the options", fields: { category: optional(CATEGORY) } });
  const access = new ReadAccess(checked, parseCategory(options.category ?? null));
  return Object.freeze({
    context: Object.freeze(checked),
    category: access.category,
    agents: () => access.agents(),
    history: Object.freeze(historyOf(access)),
    notes: Object.freeze(notesOf(access)),
  });
}
