// A process that goes on with its branch of a shared session, syncs the journal after every entry and reports each sync
// that was acknowledged. Arguments: directory, its own name, own entries there are already, how many to add (0 for no
// end), stale time of the lock in ms.
import { setTimeout as sleep } from "node:timers/promises";
import { TokenBudgetError } from "../../../src/errors.ts";
import { JournalWriter } from "../../../src/journal/writer.ts";
import { SharedSession } from "./shared-session.ts";

const [directory = "", name = "", from = "0", more = "0", stale = "1000"] = process.argv.slice(2);
const PAUSE_MS = 2;

const session = new SharedSession(name, Number(from));
const writer = new JournalWriter({ directory, agent: `/root/${name}`, staleLockMs: Number(stale), markEvery: 8 });

/** A process that was held up while it had the lock is told so; the next sync is good. */
async function sync(): Promise<void> {
  for (;;) {
    try {
      return await writer.sync(session);
    } catch (error) {
      if (!(error instanceof TokenBudgetError) || error.code !== "lock_lost") throw error;
    }
  }
}

let stopped = false;
process.on("message", () => {
  stopped = true;
});
await sync();
process.send?.(Number(from) - 1);
for (let number = Number(from); !stopped && (more === "0" || number < Number(from) + Number(more)); number++) {
  session.add();
  await sync();
  process.send?.(number);
  // Writers that never pause would leave the lock to each other by luck alone.
  await sleep(PAUSE_MS);
}
process.disconnect();
