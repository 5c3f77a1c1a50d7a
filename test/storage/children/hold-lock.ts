// A process that takes a lock, says so, and then hangs: either waiting, or with its event loop blocked until a file
// appears. Arguments: lock directory, lock name, stale time in ms (0 for the default), "wait" or the file's path.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { LockDirectory } from "../../../src/storage/lock.ts";

const [directory = "", name = "", stale = "0", until = "wait"] = process.argv.slice(2);
const FOREVER_MS = 600_000;
/** Long enough for the library's timers to notice what happened. */
const AFTERWARDS_MS = 2_500;

const CHECK_MS = 5;

/** Stops this process with its event loop, without a spinning core. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const locks = new LockDirectory(directory, stale === "0" ? {} : { staleMs: Number(stale) });
let outcome = "kept";
try {
  await locks.withLock({ name, shown: "The note of the test" }, async (held) => {
    process.send?.("held");
    if (until === "wait") await sleep(FOREVER_MS);
    // Blocks on purpose: a host may be busy for seconds.
    while (!existsSync(until)) block(CHECK_MS);
    held.assertOwned();
  });
} catch (error) {
  outcome = error instanceof Error && "code" in error ? String(error.code) : String(error);
}
await sleep(AFTERWARDS_MS);
process.send?.(outcome);
process.disconnect();
