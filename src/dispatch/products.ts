// Whose products a task shows: those of its last complete run stay until another one has come to its end. Pure.
import type { TaskView } from "./task-view.ts";

/** Whether the task's products, or its result, are of a run before the newest one, which runs or did not come to its end. */
export function areOfRunBefore({ status, outputs }: Pick<TaskView, "status" | "outputs">): boolean {
  return status !== "completed" && outputs.some(({ partial }) => !partial);
}

/** What the list of a task's products is called. */
export function productsHeading(task: Pick<TaskView, "status" | "outputs">): string {
  return areOfRunBefore(task) ? "Files of the run before" : "Files";
}
