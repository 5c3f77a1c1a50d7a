// Removing agents of a root task with all that they have left there: what becomes of a dispatched task's agents when a person
// removes the task. It never removes one that runs.
import { TokenBudgetError } from "../errors.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { removeTree } from "../storage/tree.ts";
import type { TaskContext } from "./context.ts";
import { Registry } from "./registry.ts";

/**
 * Removes the agents at these addresses and those below them: first from the registry, so that nobody reads them any more,
 * then their journals and notes. Throws `refused` while one of them runs. Those that are not there are none.
 */
export async function removeAgents(
  context: TaskContext,
  addresses: readonly string[],
  disk: DiskCalls = NODE_DISK,
): Promise<void> {
  const registry = new Registry({ context, disk });
  if (!registry.exists()) return;
  const isMeant = (address: string) => addresses.some((one) => address === one || address.startsWith(`${one}/`));
  const removed: string[] = [];
  await registry.update((roster) => {
    const meant = roster.filter(({ address }) => isMeant(address));
    const running = meant.find((agent) => registry.isRunning(agent));
    if (running)
      throw new TokenBudgetError("refused", `Nothing of ${running.address} was removed: it runs. End it first.`);
    if (meant.length === 0) return roster;
    removed.push(...meant.map(({ address }) => address));
    return roster.filter((agent) => !meant.includes(agent));
  });
  const { layout } = registry;
  for (const path of removed.flatMap((address) => [layout.notes(address), layout.history(address)]))
    for (const each of [path, `${path}.meta`]) removeTree(disk, each);
}
