// A process that dispatches a task which writes half a product and never ends, says its id, and waits to be killed. It takes
// a folder for everything, and a directory for the task to work in, or none.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TaskDispatcher } from "../../../src/dispatch/dispatcher.ts";
import type { RunRequest } from "../../../src/dispatch/runner.ts";
import { DEFAULT_TASK_SETTINGS } from "../../../src/dispatch/settings.ts";
import { openTask } from "../../../src/task/open.ts";

const [, , base = "", cwd] = process.argv;
const sessionFile = join(base, "sessions", "2025-01-02T03-04-05-678Z_root.jsonl");
const task = openTask({
  identity: { sessionId: "root", sessionFile, createdAt: Date.parse("2025-01-02T03:04:05.678Z") },
  agentDir: join(base, "agent"),
});
const input = join(base, "in.txt");
writeFileSync(input, "the original");
async function writeHalf({ cwd: directory, prompt, taskId, onEvent }: RunRequest): Promise<void> {
  const own = /lie in (\S+) below/.exec(prompt)?.[1] ?? "";
  const site = join(directory, own, "output", "site");
  mkdirSync(site, { recursive: true });
  writeFileSync(join(site, "half.html"), "<p>");
  for (const [input, output] of [
    [4, 1],
    [3, 2],
  ] as const)
    onEvent({ type: "usage", usage: { kind: "chat", model: "p/m", input, output, cached: 0, amount: 0.125 } });
  process.stdout.write(`${taskId}\n`);
  await new Promise(() => setInterval(() => undefined, 1_000));
}
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
  runners: [{ name: "session", choosesModels: false, run: writeHalf }],
  settings: () => DEFAULT_TASK_SETTINGS,
  baseDirectory: base,
});
await dispatcher.dispatch({ goal: "never ends", attachments: [input], cwd: cwd ?? null });
