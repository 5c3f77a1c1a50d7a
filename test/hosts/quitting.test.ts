// Quitting Pi while the first journal of a long session is being written: it is not waited for, and the next start makes it
// good.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { text } from "../../fixtures/pi/scripted-model.ts";
import { writeSessionFile } from "../../fixtures/story/session-file.ts";
import { END_BYTES_MAX } from "../../src/history/journal-writer.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const ENTRIES = 3_000;
const DEADLINE_MS = 60_000;

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
