// What a starting session does once on the disk: left-overs are swept, a child registers, a fork gets its notes.
import { NotesStore, sweepNotes } from "../notes/store.ts";
import type { Work } from "../storage/work.ts";
import { sweepEphemeral } from "../task/forget.ts";
import type { SessionTask } from "../task/membership.ts";
import type { ForkSource } from "../task/seats.ts";

export interface Beginning {
  readonly task: SessionTask;
  /** The session's own. */
  readonly notes: NotesStore;
  readonly agentDir: string;
  /** What the session is a fork or a copy of. */
  readonly origin: ForkSource | undefined;
  /** Whether a fork starts with a copy of its source's notes. */
  readonly copiesNotes: boolean;
  /** Shows a long copy of notes. */
  readonly work: () => Work;
}

export async function beginStorage(beginning: Beginning): Promise<void> {
  const { task, notes, agentDir } = beginning;
  notes.sweep();
  task.sweep();
  for (const root of task.otherNotes()) sweepNotes(root);
  const isKnown = task.registry.exists();
  // Before anything is removed, here or by others: an agent that is registered but not marked as running counts as ended.
  if (isKnown || task.parent !== null) await task.join();
  await sweepEphemeral({ agentDir, own: task.context.storageRoot });
  if (!isKnown && task.parent === null) await beginFork(beginning);
}

async function beginFork({ task, notes, origin, copiesNotes, work }: Beginning): Promise<void> {
  if (origin === undefined) return;
  if (copiesNotes) await notes.copyFrom(new NotesStore({ root: origin.notesRoot, agent: origin.agent }), work());
  await task.join();
}
