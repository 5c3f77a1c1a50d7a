// What the runs of killed processes leave in the folder of working directories: what they had written is kept with the record,
// what they had started is ended, and the rest is removed.
import { removeTree } from "../../storage/blobs.ts";
import type { NewFile } from "../files/roles.ts";
import { childFolder, leftByRun, removeWorkspace, type TaskPlace, tasksWithLeftovers } from "../files/workspace.ts";
import { askedOf } from "../record/rules.ts";
import type { TaskRecord } from "../record/schema.ts";
import { endNotedGroup } from "./process-group.ts";

/** The files of a run whose process is gone; a child process of it that still runs is ended first. */
export function leftByDead(record: TaskRecord, workRoot: string): Promise<readonly NewFile[]> {
  const { id: taskId, cwd } = record.task;
  endNotedGroup(childFolder(workRoot, taskId));
  return leftByRun({ taskId, workRoot, cwd }, askedOf(record));
}

/** Removes all that runs of a task have left, its record excepted. */
export async function removeLeftovers(place: TaskPlace): Promise<void> {
  const folder = childFolder(place.workRoot, place.taskId);
  endNotedGroup(folder);
  removeTree(folder);
  await removeWorkspace(place);
}

/** Removes what belongs to no task that runs; `whileEnded` sees to it that none begins to meanwhile. */
export async function sweepWork(
  workRoot: string,
  whileEnded: (taskId: string, work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  for (const taskId of tasksWithLeftovers(workRoot)) {
    try {
      await whileEnded(taskId, () => removeLeftovers({ taskId, workRoot, cwd: null }));
    } catch {
      // It stays for the next sweep, and holds up no other one.
    }
  }
}
