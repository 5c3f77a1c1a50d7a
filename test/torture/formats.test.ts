// Stored files that were cut, flipped, spliced, doubled, swapped, or come from another run: whoever reads them sees what is
// right or gets an error with a code, changes nothing by looking, and goes on.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { figure, rounds } from "../rounds.ts";
import { type DiskState, putBack } from "./power-cut.ts";
import { SUBJECTS, type Subject } from "./subjects.ts";

const RUNS = rounds(40, 400, 4_000);
const TEST_MS = 600_000;

/** A share of the whole: files are of any length. */
const share = fc.double({ min: 0, max: 1, noNaN: true });
const damages = fc.record({
  kind: fc.constantFrom("cut", "flip", "splice", "double", "insert", "swap", "older", "empty", "gone" as const),
  /** Which file, and which other one. */
  file: share,
  other: share,
  from: share,
  to: share,
  bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
});
type Damage = typeof damages extends fc.Arbitrary<infer T> ? T : never;

function stateOf(base: string): DiskState {
  const entries = readdirSync(base, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }));
  const sorted = paths.sort((a, b) => (a.path < b.path ? -1 : 1));
  return new Map(
    sorted.map(({ entry, path }) => [path.slice(base.length + 1), entry.isFile() ? readFileSync(path) : undefined]),
  );
}

function pick<T>(list: readonly T[], at: number): T {
  return list[Math.min(list.length - 1, Math.floor(at * list.length))] as T;
}

function damagedBytes(bytes: Buffer, { kind, from, to, bytes: given }: Damage): Buffer {
  const [start = 0, end = 0] = [from, to].map((at) => Math.floor(at * bytes.length)).sort((a, b) => a - b);
  switch (kind) {
    case "cut":
      return bytes.subarray(0, start);
    case "flip": {
      const flipped = Buffer.from(bytes);
      for (const [n, byte] of given.entries())
        if (start + n < bytes.length) flipped[start + n] = (flipped[start + n] ?? 0) ^ byte;
      return flipped;
    }
    case "splice":
      return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
    case "double":
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
    case "insert":
      return Buffer.concat([bytes.subarray(0, start), given, bytes.subarray(start)]);
    default:
      return Buffer.alloc(0);
  }
}

/** The state with one file damaged; `older` are those of other runs. */
function damaged(state: DiskState, older: readonly DiskState[], damage: Damage): DiskState {
  const files = [...state].filter(([path, bytes]) => bytes !== undefined && !path.startsWith("in/"));
  const [path, bytes] = pick(files, damage.file) as [string, Buffer];
  const after = new Map(state);
  if (damage.kind === "gone") after.delete(path);
  else if (damage.kind === "older") {
    const other = pick(older, damage.other).get(path);
    if (other) after.set(path, other);
  } else if (damage.kind === "swap") {
    const [otherPath, otherBytes] = pick(files, damage.other) as [string, Buffer];
    after.set(path, otherBytes).set(otherPath, bytes);
  } else after.set(path, damagedBytes(bytes, damage));
  return after;
}

/** What looking has changed. The index of the records is made anew by who finds it lacking. */
function changedIn(base: string, state: DiskState): string[] {
  const now = stateOf(base);
  const paths = [...new Set([...state.keys(), ...now.keys()])].filter((path) => !path.endsWith("/index.jsonl"));
  const isSame = (path: string) => {
    const [before, after] = [state.get(path), now.get(path)];
    return state.has(path) === now.has(path) && (before === after || (before && after?.equals(before)));
  };
  return paths.filter((path) => !isSame(path));
}

/** What comes of it: a value, or an error with a code. */
async function outcome(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenBudgetError) return error.code;
    throw error;
  }
}

/** The states after each act, of runs of their own. */
async function statesOf(subject: Subject, base: string): Promise<readonly DiskState[]> {
  const count = subject.acts(base).length;
  const states: DiskState[] = [];
  for (let acts = 1; acts <= count; acts++) {
    putBack(base, new Map());
    await subject.prepare?.(base);
    for (const act of subject.acts(base).slice(0, acts)) await act.run();
    states.push(stateOf(base));
  }
  return states;
}

test.each(SUBJECTS.map((subject) => [subject.name, subject] as const))(
  "%s",
  { timeout: TEST_MS },
  async (_name, subject) => {
    const base = mkdtempSync(join(tmpdir(), "token-budget-"));
    onTestFinished(() => rmSync(base, { recursive: true, force: true }));
    const states = await statesOf(subject, base);
    let damage = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: states.length - 1 }), damages, async (at, given) => {
        const state = damaged(states[at] as DiskState, states, given);
        putBack(base, state);
        const shown = await outcome(() => subject.see(base));
        expect(JSON.stringify(shown).isWellFormed()).toBe(true);
        expect(changedIn(base, state)).toEqual([]);
        if (subject.isShown && typeof shown !== "string") expect(subject.isShown(shown)).toBe(true);
        // Records that cannot be read are told by what a recovery answers.
        await outcome(() => subject.repair?.(base) ?? subject.start(base));
        for (const act of subject.acts(base).slice(0, 2)) await outcome(act.run);
        await outcome(() => subject.see(base));
        damage++;
      }),
      { numRuns: RUNS },
    );
    figure("damaged files", damage);
  },
);
