// What opening a long session asks of the host, counted in a real Pi: its entries are gone through once for the index and
// once for the journal, a slice at a time, and a turn asks for as few of them as in a short session.

import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import { openPi } from "../../fixtures/pi/session.ts";
import { writeSessionFile } from "../../fixtures/story/session-file.ts";
import { STEPS_PER_SLICE } from "../../src/window/live.ts";

const ENTRIES = [1_000, 4_000];
const TURNS = 4;
/** Looks at single entries: of the newest call, of a label. */
const FEW = 200;

async function lookedAt(entries: number) {
  const path = join(scratchFolder(), "long.jsonl");
  writeSessionFile(path, { entries, windows: 1, seed: 5, compactedBefore: 40 });
  const { codingAgent } = await loadHost();
  const manager = codingAgent.SessionManager.open(path, scratchFolder(), scratchFolder());
  let looks = 0;
  let inOneGo = 0;
  let mostInOneGo = 0;
  const getEntry = manager.getEntry.bind(manager);
  manager.getEntry = (id) => {
    looks++;
    if (inOneGo++ === 0)
      setImmediate(() => {
        inOneGo = 0;
      });
    // The journal, which comes behind the index, goes back in pieces of its own.
    if (looks <= entries) mostInOneGo = Math.max(mostInOneGo, inOneGo);
    return getEntry(id);
  };
  const atRequests: number[] = [];
  const s = await openPi({
    session: manager,
    contextWindow: 1_000_000_000,
    next: (_request, n) => (n > 0 && n <= TURNS ? [call("ls", { path: "." })] : [text("done")]),
    onRequest: () => void atRequests.push(looks),
  });
  await s.prompt("go on");
  await s.prompt("and on");
  await s.dispose();
  const [first = 0, ...later] = atRequests;
  return { first, mostInOneGo, turns: later.slice(1).map((at, turn) => at - (later[turn] as number)) };
}

test("a long session is gone through once for the index and once for the journal, and no more with each turn", async () => {
  const [short, long] = await Promise.all(ENTRIES.map(lookedAt));
  if (!short || !long) throw new Error("two sessions were opened");
  for (const [at, { first, mostInOneGo }] of [short, long].entries()) {
    const entries = ENTRIES[at] as number;
    expect(first).toBeGreaterThan(entries - 1);
    expect(first).toBeLessThanOrEqual(2 * entries + FEW);
    expect(mostInOneGo).toBeLessThanOrEqual(STEPS_PER_SLICE + FEW);
  }
  expect(Math.max(...long.turns)).toBeLessThanOrEqual(Math.max(...short.turns) + 5);
});
