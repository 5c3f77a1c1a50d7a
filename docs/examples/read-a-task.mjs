// A program without a model reads a root task: who is in it, what was said last, and all notes. It needs no Pi and changes
// nothing. A launcher saves the context with `writeFileSync("task.json", JSON.stringify(task.context))`; then
// `node read-a-task.mjs task.json` shows the task, and `node read-a-task.mjs task.json parser` what was said of "parser".
import { readFileSync } from "node:fs";
import { openTask, TokenBudgetError } from "pi-token-budget/api";

const [file, text] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node read-a-task.mjs <file with task.context> [<text to look for>]");
  process.exit(2);
}

async function showAgent(task, agentName) {
  const { items } = await task.history.list(agentName, { recentFirst: true, limit: 1, previewChars: 60 });
  for (const { role, preview } of items) console.log(`  last: ${role}: ${preview}`);
  for (const { path } of await task.notes.list(agentName)) {
    const note = await task.notes.read(agentName, path);
    console.log(`  note ${path}: ${note.text.trimEnd()}`);
  }
}

async function search(task, agentName) {
  let from;
  do {
    const page = await task.history.search(agentName, text, from ? { from } : {});
    for (const { itemId, windowId, regions } of page.items)
      console.log(`  ${windowId} ${itemId}: ${regions.map((region) => region.text).join(" … ")}`);
    from = page.next;
  } while (from);
}

try {
  // Without { category } it reads ordinary content only.
  const task = openTask(JSON.parse(readFileSync(file, "utf8")));
  for (const { agentName, readable, running } of task.agents()) {
    console.log(`${agentName}${running ? " (running)" : ""}${readable ? "" : " (restricted)"}`);
    if (readable) await (text === undefined ? showAgent(task, agentName) : search(task, agentName));
  }
} catch (error) {
  // The message says what is wrong and what to do; `error.code` is stable.
  if (!(error instanceof TokenBudgetError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
