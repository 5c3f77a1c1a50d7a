// Reads tasks for a viewer. No path and no process leaves here, and every read is checked against the rule of categories.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { streamOf } from "../storage/blobs.ts";
import { categoriesOf, type DispatchParent } from "./parent.ts";
import { mayView } from "./record/rules.ts";
import type { TaskRecord } from "./record/schema.ts";
import type { RecordStore } from "./record/store.ts";
import { taskView } from "./record/view.ts";
import type { OpenedFile, RestrictedTask, TaskView } from "./task-view.ts";

/** A person or a launcher's own code; undefined is the dispatching agent. */
export type Viewer = "person" | undefined;

export class TaskReader {
  readonly #parent: DispatchParent;
  readonly #store: RecordStore;
  readonly #report: (problem: string) => void;

  constructor(parent: DispatchParent, store: RecordStore, report: (problem: string) => void) {
    this.#parent = parent;
    this.#store = store;
    this.#report = report;
  }

  list(viewer: Viewer, limit?: number): readonly (TaskView | RestrictedTask)[] {
    const may = this.#ruleFor(viewer);
    const { records, problems } = this.#store.list(limit);
    for (const problem of problems) this.#report(problem);
    return records.map((record) => (may(record) ? taskView(record) : { agent: record.task.agent, restricted: true }));
  }

  /** Throws `not_found`, or `refused` when the viewer may not read it. */
  record(taskId: string, viewer: Viewer): TaskRecord {
    const may = this.#ruleFor(viewer);
    const record = this.#store.read(taskId);
    if (may(record)) return record;
    throw new TokenBudgetError(
      "refused",
      `Task ${shownValue(taskId)} is restricted: its content is not for this agent. Do without it.`,
    );
  }

  openFile(taskId: string, fileId: string, viewer: Viewer): OpenedFile {
    const file = this.record(taskId, viewer).files.find(({ id }) => id === fileId);
    if (file === undefined) {
      throw new TokenBudgetError(
        "not_found",
        `Task ${taskId} has no file ${shownValue(fileId)}; its files are in files, outputs and intermediates.`,
      );
    }
    const { filename, contentType, size } = file;
    return { stream: streamOf(this.#store.files.pathOf(file)), filename, contentType, size };
  }

  /** A person reads everything, an agent what its category may read. */
  #ruleFor(viewer: Viewer): (record: TaskRecord) => boolean {
    if (viewer === "person") return () => true;
    const own = this.#parent.category();
    const categories = categoriesOf(this.#parent);
    return (record) => mayView(own, record, categories(record.task.agent));
  }
}
