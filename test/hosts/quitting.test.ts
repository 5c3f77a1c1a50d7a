// Quitting Pi while the first journal of a long session is being written: it is not waited for, and the next start makes it
// good. A child, which nobody opens again, is whole.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTask, createTokenBudgetExtension, openTask } from "../../api.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { text } from "../../fixtures/pi/scripted-model.ts";
import { writeSessionFile } from "../../fixtures/story/session-file.ts";
import { END_BYTES_MAX } from "../../src/journal/writer.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const ENTRIES = 3_000;
const DEADLINE_MS = 60_000;
const CHILD_ENTRIES = 400;
const CHILD_ENTRY_BYTES = 100_000;

function journalBelow(folder: string): string | undefined {
  const name = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((path) =>
    path.endsWith("journal.jsonl"),
  );
  return name === undefined ? undefined : join(folder, name);
}

it("ends with a few pieces, and goes on from there when the session is opened again", {
  timeout: 180_000,
}, async () => {
  const folder = scratchFolder();
  const path = join(folder, "long.jsonl");
  writeSessionFile(path, { entries: ENTRIES, windows: 1, seed: 9, longEvery: 2 });
  const open = () => pi({ session: { path }, contextWindow: 100_000_000, next: () => [text("done")] });
  const s = await open();
  await s.dispose();
  const journal = journalBelow(folder);
  expect(journal).toBeDefined();
  const left = statSync(journal as string).size;
  expect(left).toBeLessThan(statSync(path).size / 2);
  expect(left).toBeLessThan(4 * END_BYTES_MAX);

  await open();
  const isWhole = () => {
    if (journal === undefined || !existsSync(journal)) return false;
    return readFileSync(journal, "latin1").includes('{"commit":{"leaf"');
  };
  for (const untilMs = Date.now() + DEADLINE_MS; !isWhole(); await delay(100))
    if (Date.now() > untilMs) throw new Error("the journal is not made good");
  const entries = readFileSync(journal as string, "utf8").split("\n");
  expect(entries.filter((line) => line.startsWith('{"entry"')).length).toBeGreaterThanOrEqual(ENTRIES);
});

it("a child without a session file leaves a whole journal: nobody opens it again, and nothing else has what it said", async () => {
  const { SessionManager } = (await loadHost()).codingAgent;
  const session = SessionManager.inMemory(scratchFolder());
  const words = "x".repeat(CHILD_ENTRY_BYTES);
  for (let n = 0; n < CHILD_ENTRIES; n++)
    session.appendMessage({ role: "user", content: `${n} ${words}`, timestamp: n });
  const context = createTask({ storageRoot: join(scratchFolder(), "task") });
  const factories = [createTokenBudgetExtension({ task: { ...context, agentName: "long" } })];
  const child = await pi({ session, bare: true, factories, contextWindow: 100_000_000, next: [] });
  await child.dispose();
  const { total } = await openTask(context).history.list("long", { limit: 1 });
  expect(total).toBe(CHILD_ENTRIES);
});
