// The power goes at any call of a run: nothing that was acknowledged is lost, nothing torn is shown, and the next session
// works with what is left.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { chance } from "../../fixtures/story/random.ts";
import { figure, rounds, seed } from "../rounds.ts";
import { tapped } from "./disk-tap.ts";
import { type DiskState, PowerCut, putBack, Recording, statesOf } from "./power-cut.ts";
import { leftOversIn, SUBJECTS, type Subject, unnamedFilesIn } from "./subjects.ts";

const TEST_MS = 600_000;
const SEED = seed(1);
/** The power goes at one event in so many. */
const EVENTS_STEP = rounds(5, 2, 1);
const STATES = { points: rounds(1, 10, 40), random: rounds(1, 10, 40) };

async function seenIn(subject: Subject, base: string): Promise<unknown> {
  return JSON.parse(JSON.stringify(await subject.see(base)));
}

/** Runs all acts; answers what happened, and what was seen before the first and after each. */
async function recorded(subject: Subject, base: string) {
  await subject.prepare?.(base);
  const recording = new Recording(base);
  const seen = [await seenIn(subject, base)];
  for (const act of subject.acts(base)) {
    recording.mark("begun");
    await tapped(base, recording.judge, async () => void (await act.run()));
    recording.mark("acknowledged");
    seen.push(await seenIn(subject, base));
  }
  return { events: recording.events, seen };
}

function nameOf(state: DiskState): string {
  const hash = createHash("sha256");
  for (const [path, bytes] of [...state].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${path}\0${bytes?.length}\0`).update(bytes ?? "");
  return hash.digest("hex");
}

test.each(SUBJECTS.map((subject) => [subject.name, subject] as const))(
  "%s",
  { timeout: TEST_MS },
  async (_name, subject) => {
    const base = mkdtempSync(join(tmpdir(), "token-budget-"));
    onTestFinished(() => rmSync(base, { recursive: true, force: true }));
    const { events, seen } = await recorded(subject, base);
    const luck = chance(SEED);
    const known = new Set<string>();
    const first = events.findIndex(({ type }) => type === "begun");
    for (let at = first + (SEED % EVENTS_STEP); at <= events.length; at += EVENTS_STEP) {
      const cut = new PowerCut(events.slice(0, at));
      const { acknowledged, begun } = cut;
      const allowed = seen.slice(acknowledged, begun + 1);
      for (const state of statesOf(cut, luck, STATES)) {
        const name = `${acknowledged} ${begun} ${nameOf(state)}`;
        if (known.has(name)) continue;
        known.add(name);
        putBack(base, state);
        const where = `event ${at} of ${events.length}, ${acknowledged} acts acknowledged of ${begun}, seed ${SEED}: ${[...state.keys()].join(" ")}`;
        const shown = await seenIn(subject, base);
        if (!subject.inSteps || acknowledged === begun) expect(allowed, where).toContainEqual(shown);
        for (const path of leftOversIn(base)) utimesSync(join(base, path), 1, 1);
        subject.outlive?.(base);
        await subject.start(base);
        expect(leftOversIn(base), where).toEqual([]);
        expect(unnamedFilesIn(base), where).toEqual([]);
      }
    }
    figure("states after a power cut", known.size);
    expect(known.size).toBeGreaterThan(10);
  },
);
