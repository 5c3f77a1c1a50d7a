// Root tasks and rows of dispatched tasks, for what is tortured and for processes that are killed. No test library.
import { join } from "node:path";
import { nowText, type TaskRow } from "../../src/dispatch/record/schema.ts";
import type { TaskContext } from "../../src/task/context.ts";

/** A process that is gone. */
export const GONE = { pid: 2 ** 22 + 1, start: null };

export const contextIn = (base: string): TaskContext => ({
  version: 1,
  runId: "root",
  rootSessionId: "root",
  storageRoot: join(base, "pi-token-budget"),
});

export function taskRow(id: string, process: TaskRow["process"] = GONE): TaskRow {
  const created = nowText();
  return {
    ...{ id, rootSession: "root", agent: `/root/${id}`, parent: "/root", category: null, categoryOwn: false },
    ...{ title: "task", requirement: "r", context: null, runner: "session", status: "processing", progress: "" },
    ...{
      steps: [],
      result: null,
      error: null,
      model: null,
      modelPinned: false,
      cwd: null,
      sandbox: null,
      runs: 1,
      process,
    },
    ...{ references: { agent: "/root", items: [] }, created, updated: created },
  };
}
