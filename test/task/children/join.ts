// A process that joins sessions to a task, one after the other, and tells each address once it is registered. With
// "stay" it then runs on until it is told to end its agents. Arguments: place, membership as JSON ("" for none), ids
// separated by commas, directory of the session files ("memory" for none), "stay" or "go", stale time of locks in ms.
import { once } from "node:events";
import { messageOf } from "../../../src/errors.ts";
import type { TaskMembership } from "../../../src/task/context.ts";
import type { SessionTask } from "../../../src/task/membership.ts";
import { openTask } from "../../../src/task/open.ts";

const [agentDir = "", membershipJson = "", ids = "", directory = "memory", then = "go", stale = "10000"] =
  process.argv.slice(2);
const membership = membershipJson === "" ? undefined : (JSON.parse(membershipJson) as TaskMembership);

const tasks: SessionTask[] = [];
for (const sessionId of ids.split(",")) {
  const sessionFile = directory === "memory" ? undefined : `${directory}/${sessionId}.jsonl`;
  const identity = { sessionId, sessionFile, createdAt: 0 };
  const report = (problem: string) => void process.send?.(`problem: ${problem}`);
  const task = openTask({ identity, agentDir, membership, report, staleLockMs: Number(stale) });
  try {
    await task.join();
    tasks.push(task);
    process.send?.(task.agent);
  } catch (error) {
    process.send?.(`refused: ${messageOf(error)}`);
  }
}
if (then === "stay") {
  await once(process, "message");
  for (const task of tasks) await task.presence.markEnded();
}
process.disconnect();
