// A program of a launcher that dispatches a task to a process of its own and waits for its end. It takes a folder for
// everything and the script that is the runner.
import { join } from "node:path";
import { TaskDispatcher } from "../../../src/dispatch/dispatcher.ts";
import { cliRunner } from "../../../src/dispatch/run/cli-runner.ts";
import { DEFAULT_TASK_SETTINGS } from "../../../src/dispatch/settings.ts";
import { openTask } from "../../../src/task/open.ts";

const [, , base = "", script = "", packageDirectory = ""] = process.argv;
const sessionFile = join(base, "sessions", "2025-01-02T03-04-05-678Z_root.jsonl");
const task = openTask({
  identity: { sessionId: "root", sessionFile, createdAt: Date.parse("2025-01-02T03:04:05.678Z") },
  agentDir: join(base, "agent"),
});
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
  runners: [cliRunner({ command: () => [process.execPath, script], packageDirectory })],
  settings: () => DEFAULT_TASK_SETTINGS,
  baseDirectory: base,
  report: (problem) => console.error(problem),
});
const { result } = await dispatcher.dispatch({ goal: "never ends" });
console.error((await result).error);
