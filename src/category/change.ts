// A decision about a category made by another program, without a session: the launcher's counterpart of `/category`.
import { assertArgument, FILLED_TEXT } from "../options.ts";
import { ROOT_ADDRESS, resolveAddress } from "../task/addresses.ts";
import { type Category, parseCategory } from "../task/category.ts";
import { parseContext, type TaskContext } from "../task/context.ts";
import { noSuchTask, Registry } from "../task/registry.ts";

/**
 * Decides what the content of an agent of a root task is, and of everything below it: a label, or null for ordinary
 * content. Works on the root, below an ordinary parent, and towards the parent's own label or null. A running session
 * follows with its next request; do not call it for one that is in a run.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`: the context or the category;
 * `invalid_address`, `unknown_agent`: the address; `not_found`: no such task; `refused`: the parent's category does not
 * allow it; `lock_unavailable`, `storage_failed`: the registry could not be written.
 */
export async function setAgentCategory(context: TaskContext, address: string, category: Category): Promise<void> {
  const task = parseContext(context);
  assertArgument("setAgentCategory", "address", address, FILLED_TEXT);
  const label = parseCategory(category);
  const registry = new Registry({ context: task });
  // Nothing is made where there is no task.
  if (!registry.holdsTask()) throw noSuchTask(task);
  await registry.setCategory(resolveAddress(ROOT_ADDRESS, address), label);
}
