// A process that appends numbered lines to one note and reports each once it is acknowledged.
// Arguments: notes root, its own id, number of lines (0 for no end), stale time in ms (0 for the default).
import { NotesStore } from "../../../src/notes/store.ts";

const [root = "", id = "", count = "0", stale = "0"] = process.argv.slice(2);
const store = new NotesStore({ root, agent: "/root", ...(stale === "0" ? {} : { staleLockMs: Number(stale) }) });

let stopped = false;
process.on("message", () => {
  stopped = true;
});
for (let line = 0; !stopped && (count === "0" || line < Number(count)); line++) {
  await store.append("shared.md", `${id}:${line}\n`);
  process.send?.(`${id}:${line}`);
}
process.disconnect();
