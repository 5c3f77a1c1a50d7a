// Removing agents of a root task with all that they have left there: what becomes of a dispatched task's agents when a person
// removes the task. It never removes one that runs.
import { TokenBudgetError } from "../errors.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { removeTree } from "../storage/tree.ts";
import type { TaskContext } from "./context.ts";
import { Registry } from "./registry.ts";
import type { Roster } from "./roster.ts";

/**
 * Removes the agents at these addresses and those below them: first from the registry, so that nobody reads them any more,
 * then their journals and notes. Throws `refused` while one of them runs. What lies at the addresses goes also where the
 * registry does not name them any more, so that a removal that failed halfway ends with the next one.
 */
export async function removeAgents(
  context: TaskContext,
  addresses: readonly string[],
  disk: DiskCalls = NODE_DISK,
): Promise<void> {
  const registry = new Registry({ context, disk });
  const isMeant = (address: string) => addresses.some((one) => address === one || address.startsWith(`${one}/`));
  const removed = new Set(addresses);
  const forget = (roster: Roster) => {
    const meant = roster.filter(({ address }) => isMeant(address));
    const running = meant.find((agent) => registry.isRunning(agent));
    if (running)
      throw new TokenBudgetError("refused", `Nothing of ${running.address} was removed: it runs. End it first.`);
    if (meant.length === 0) return roster;
    for (const { address } of meant) removed.add(address);
    return roster.filter((agent) => !meant.includes(agent));
  };
  if (registry.exists()) await registry.update(forget);
  const { layout } = registry;
  for (const path of [...removed].flatMap((address) => [layout.notes(address), layout.history(address)]))
    for (const each of [path, `${path}.meta`]) removeTree(disk, each);
}
