// Takes a lock, says so, and holds it until it is killed.
import { LockDirectory } from "../../src/storage/lock.ts";

const [directory = "", staleMs = ""] = process.argv.slice(2);
await new LockDirectory(directory, { staleMs: Number(staleMs) }).withLock({ name: "bench", shown: "it" }, () => {
  process.stdout.write("held\n");
  return new Promise<never>(() => void setInterval(() => undefined, 1_000));
});
