// Dispatches tasks and ends them, one after the other, and says of each step when it is done, until it is told to stop.
// Arguments: the folder, 8 hex digits that its tasks' ids begin with, the stale time of locks in ms.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RecordStore } from "../../../src/dispatch/record/store.ts";
import { thisProcess } from "../../../src/storage/processes.ts";
import { contextIn, taskRow } from "../task-rows.ts";

const PAUSE_MS = 25;
const [base = "", prefix = "", staleMs = "0"] = process.argv.slice(2);
const store = new RecordStore(contextIn(base), { staleMs: Number(staleMs) });
const self = thisProcess();
const usage = { kind: "chat", model: "p/m", input: 10, output: 1, cached: 0, amount: null } as const;

process.once("disconnect", () => process.exit());
let isStopped = false;
process.on("message", () => {
  isStopped = true;
});
for (let n = 0; !isStopped; n++) {
  const id = `${prefix}${n.toString(16).padStart(8, "0")}`;
  await store.create(taskRow(id, self), [{ source: join(base, "in.txt"), filename: "in.txt", role: "input" }]);
  process.send?.({ id, step: "created" });
  store.ledger.addUsage({ task: id, run: 1 }, usage);
  process.send?.({ id, step: "used" });
  const end = { status: "completed", result: "done", error: null } as const;
  const files = [{ source: join(base, "in.txt"), filename: "out.txt", role: "output" }] as const;
  await store.finish({ id, runs: 1, process: self }, end, { files });
  process.send?.({ id, step: "finished" });
  // Who looks at what was done has to keep up.
  await sleep(PAUSE_MS);
}
process.disconnect();
