// What a child may be told of the root task: earlier turns, finished tasks, and where the person's messages can be read.
// Everything is asked of `canRead` with the child as the viewer; what it may not read is not mentioned.
import { JournalReader } from "../../history/journal-reader.ts";
import type { ItemSource } from "../../history/source.ts";
import { ROOT_ADDRESS } from "../../task/addresses.ts";
import { type Category, canRead } from "../../task/category.ts";
import { taskLayout } from "../../task/layout.ts";
import type { DispatchParent } from "../parent.ts";
import type { TaskRecord, TaskRow } from "../record/rules.ts";
import { mayView } from "../record/view.ts";
import type { TaskSettings } from "../settings.ts";
import { NO_TRANSCRIPT, recentHumanItems, type Transcript, transcriptOf } from "./transcript.ts";

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

/** What agents' content is, by their addresses: undefined when nobody can say it; one that never registered has none. */
export function contentsOf(parent: DispatchParent): (address: string) => Category | undefined {
  const contents = new Map(parent.agents().map(({ agentName, category }) => [agentName, category]));
  return (address) => (contents.has(address) ? contents.get(address) : null);
}

function mayRead(viewer: Category, content: Category | undefined): boolean {
  return content !== undefined && canRead(viewer, content);
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
    return mayRead(category, contentsOf(parent)(references.agent)) ? references : undefined;
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
    const contents = contentsOf(parent);
    const owner = contents(ROOT_ADDRESS);
    const root = mayRead(category, owner) ? await historyOf(parent, ROOT_ADDRESS) : undefined;
    const readable = records.filter((record) => mayView(category, record, contents(record.task.agent)));
    return transcriptOf({ viewer: category, owner: owner ?? null, root, records: readable }, { totalChars, turnChars });
  } catch {
    return NO_TRANSCRIPT;
  }
}
