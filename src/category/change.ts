// A decision about a category made by another program, without a session: the launcher's counterpart of `/category`.
import { ROOT_ADDRESS, resolveAddress } from "../task/addresses.ts";
import { type Category, parseCategory } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";
import { Registry } from "../task/registry.ts";

/**
 * Decides what the content of an agent of a root task is, and of everything below it: a label, or null for ordinary
 * content. Works on the root, below an ordinary parent, and towards the parent's own label or null. A running session
 * follows with its next request; do not call it for one that is in a run.
 */
export async function setAgentCategory(context: TaskContext, address: string, category: Category): Promise<void> {
  const label = parseCategory(category);
  await new Registry({ context }).setCategory(resolveAddress(ROOT_ADDRESS, address), label);
}
