// A child that writes a note and is held right before the rename, to be killed there. Argument: its notes root.
import { NotesStore } from "../../../src/notes/store.ts";
import { NODE_DISK } from "../../../src/storage/disk.ts";

const [root = ""] = process.argv.slice(2);
const renameSync: typeof NODE_DISK.renameSync = (from, to) => {
  if (!String(to).endsWith("plan.md")) return NODE_DISK.renameSync(from, to);
  process.send?.("renaming");
  // For ever: whoever started this kills it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
await new NotesStore({ root, agent: "/root/worker", disk: { ...NODE_DISK, renameSync } }).write("plan.md", "half done");
