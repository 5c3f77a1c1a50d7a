// A process that dispatches a task which never ends, says its id, and waits to be killed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TaskDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { DEFAULT_TASK_SETTINGS } from "../../../src/dispatch/settings.ts";
import { openTask } from "../../../src/task/open.ts";

const [, , base = ""] = process.argv;
const sessionFile = join(base, "sessions", "2025-01-02T03-04-05-678Z_root.jsonl");
const task = openTask({
  identity: { sessionId: "root", sessionFile, createdAt: Date.parse("2025-01-02T03:04:05.678Z") },
  agentDir: join(base, "agent"),
});
const input = join(base, "in.txt");
writeFileSync(input, "the original");
const dispatcher = new TaskDispatcher({
  parent: {
    context: task.context,
    agentName: task.agent,
    category: () => task.category(),
    agents: () => task.agents().map(({ address, category }) => ({ agentName: address, category })),
    childExtension: async () => {
      await task.join();
      return "";
    },
  },
  runners: [
    { name: "session", choosesModels: false, run: () => new Promise(() => setInterval(() => undefined, 1_000)) },
  ],
  settings: () => DEFAULT_TASK_SETTINGS,
  baseDirectory: base,
});
const handle = await dispatcher.dispatch({ goal: "never ends", attachments: [input] });
process.stdout.write(`${handle.task.id}\n`);
