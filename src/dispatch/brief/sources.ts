// What a child may know of the root task: earlier turns, finished tasks, and which of the person's messages it can read.
// Everything is checked with the child as the viewer; what it may not read is not mentioned.

import type { ItemSource } from "../../history/source.ts";
import { JournalReader } from "../../journal/reader.ts";
import { ROOT_ADDRESS } from "../../task/addresses.ts";
import { mayRead } from "../../task/category.ts";
import { taskLayout } from "../../task/layout.ts";
import { categoriesOf, type DispatchParent } from "../parent.ts";
import { mayView } from "../record/rules.ts";
import type { TaskRecord, TaskRow } from "../record/schema.ts";
import type { TaskSettings } from "../settings.ts";
import type { BriefSources } from "./prompt.ts";
import { NO_TRANSCRIPT, recentHumanItems, transcriptOf } from "./transcript.ts";

/** An agent's journal; undefined when it cannot be read, since a task can do without earlier turns. */
async function historyOf({ context }: DispatchParent, agent: string): Promise<ItemSource | undefined> {
  try {
    const directory = taskLayout(context.storageRoot, context).history(agent);
    return await new JournalReader({ directory, agent }).refresh();
  } catch {
    return undefined;
  }
}

/** The dispatching agent's latest human messages, by id: their text stays where it is. */
export async function frozenReferences(parent: DispatchParent): Promise<TaskRow["references"]> {
  return { agent: parent.agentName, items: recentHumanItems(await historyOf(parent, parent.agentName)) };
}

/** The other tasks of a root task. */
export interface OtherTasks {
  /** The newest. */
  readonly records: readonly TaskRecord[];
  /** How many there are besides. */
  readonly older: number;
}

export async function briefSources(
  parent: DispatchParent,
  { category, references }: TaskRow,
  { records, older }: OtherTasks,
  { taskHistoryChars: totalChars, taskHistoryTurnChars: turnChars }: TaskSettings,
): Promise<BriefSources> {
  let readable: TaskRow["references"] | undefined;
  try {
    const categories = categoriesOf(parent);
    if (mayRead(category, categories(references.agent))) readable = references;
    const owner = categories(ROOT_ADDRESS) ?? null;
    const root = mayRead(category, categories(ROOT_ADDRESS)) ? await historyOf(parent, ROOT_ADDRESS) : undefined;
    const visible = records.filter((record) => mayView(category, record, categories(record.task.agent)));
    // Nothing is known of the older ones, so only who may read everything learns that there are any.
    const source = { viewer: category, owner, root, records: visible, older: root === undefined ? 0 : older };
    return { transcript: transcriptOf(source, { totalChars, turnChars }), references: readable };
  } catch {
    // A registry that cannot be read allows no read across agents.
    return { transcript: NO_TRANSCRIPT, references: readable };
  }
}
