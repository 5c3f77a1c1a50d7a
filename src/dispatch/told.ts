// What a child may be told of the root task: earlier turns, finished tasks, and where the person's messages can be read.
// Everything is asked of `canRead` with the child as the viewer; what it may not read is not mentioned.
import { JournalReader } from "../history/journal-reader.ts";
import type { ItemSource } from "../history/source.ts";
import { ROOT_ADDRESS } from "../task/addresses.ts";
import { type Category, canRead } from "../task/category.ts";
import { taskLayout } from "../task/layout.ts";
import type { DispatchParent } from "./parent.ts";
import type { TaskRecord, TaskRow } from "./record.ts";
import type { TaskSettings } from "./settings.ts";
import { NO_TRANSCRIPT, recentHumanItems, type Transcript, transcriptOf } from "./transcript.ts";
import { mayView } from "./view.ts";

/** What an agent's journal says; undefined when it cannot be read. A task can do without what was said before. */
async function historyOf({ context }: DispatchParent, agent: string): Promise<ItemSource | undefined> {
  try {
    return await new JournalReader({
      directory: taskLayout(context.storageRoot, context).history(agent),
      agent,
    }).refresh();
  } catch {
    return undefined;
  }
}

/** What the registry says of each agent; it is read once, whatever is asked of it. */
export function registeredCategories(parent: DispatchParent): ReadonlyMap<string, Category> {
  return new Map(parent.agents().map(({ agentName, category }) => [agentName, category]));
}

/** The dispatching agent's latest human messages, frozen by their ids and not by their text. */
export async function frozenReferences(parent: DispatchParent): Promise<TaskRow["references"]> {
  return { agent: parent.agentName, items: recentHumanItems(await historyOf(parent, parent.agentName)) };
}

/** The references that the child can resolve as itself; none, and no count, otherwise. */
export function readableReferences(
  parent: DispatchParent,
  { category, references }: TaskRow,
): TaskRow["references"] | undefined {
  try {
    return canRead(category, registeredCategories(parent).get(references.agent) ?? null) ? references : undefined;
  } catch {
    // A registry that cannot be read refuses cross-agent reads.
    return undefined;
  }
}

/** The earlier turns, as the child may read them. `records` is without the task itself. */
export async function readableTranscript(
  parent: DispatchParent,
  { category }: TaskRow,
  records: readonly TaskRecord[],
  { taskHistoryChars: totalChars, taskHistoryTurnChars: turnChars }: TaskSettings,
): Promise<Transcript> {
  try {
    const registered = registeredCategories(parent);
    const owner = registered.get(ROOT_ADDRESS) ?? null;
    const root = canRead(category, owner) ? await historyOf(parent, ROOT_ADDRESS) : undefined;
    const viewer = { type: "agent", category } as const;
    const readable = records.filter((record) => mayView(viewer, record, registered.get(record.task.agent)));
    return transcriptOf({ viewer: category, owner, root, records: readable }, { totalChars, turnChars });
  } catch {
    return NO_TRANSCRIPT;
  }
}
