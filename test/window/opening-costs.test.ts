// What opening a long session costs, counted: each entry is read once, in slices with the event loop running in between,
// and folding them makes no state for every one of them.
import { describe, expect, test } from "vitest";
import { sessionEntries } from "../../fixtures/story/session-file.ts";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";
import { CURSOR_AT_START, factsSince } from "../../src/window/facts.ts";
import { LiveWindow, STEPS_PER_SLICE } from "../../src/window/live.ts";
import { INITIAL_STATE, replay, step } from "../../src/window/machine.ts";

const LONG = STEPS_PER_SLICE * 5;

class Session implements EntrySource {
  readonly #entries: readonly LogEntry[];
  readonly #byId: ReadonlyMap<string, LogEntry>;
  /** Entries read since the event loop ran. */
  #readNow = 0;
  read = 0;
  mostInOneGo = 0;

  constructor(entries: number) {
    this.#entries = sessionEntries({ entries, windows: 1, seed: 5 }) as unknown as readonly LogEntry[];
    this.#byId = new Map(this.#entries.map((entry) => [entry.id, entry]));
  }

  leafId(): string | null {
    return this.#entries.at(-1)?.id ?? null;
  }

  entry(id: string): LogEntry | undefined {
    if (this.#readNow++ === 0) {
      setImmediate(() => {
        this.#readNow = 0;
      });
    }
    this.mostInOneGo = Math.max(this.mostInOneGo, this.#readNow);
    this.read++;
    return this.#byId.get(id);
  }
}

function branchOf(session: Session): BranchIndex {
  const branch = new BranchIndex();
  branch.catchUp(session);
  return branch;
}

/** How many states a fold of the whole branch goes through. */
function statesOf(branch: BranchIndex): number {
  let state = INITIAL_STATE;
  let states = 1;
  for (const fact of factsSince(branch, CURSOR_AT_START).facts) {
    const next = step(state, fact).state;
    if (next !== state) states++;
    state = next;
  }
  return states;
}

describe("opening a long session", () => {
  test("reads each entry once, no more of them in one go than a slice", async () => {
    const session = new Session(LONG);
    const live = new LiveWindow(session);
    await live.warmUp();
    expect(session.read).toBe(LONG);
    expect(session.mostInOneGo).toBeLessThanOrEqual(STEPS_PER_SLICE + 1);
    expect(live.branch.rows).toHaveLength(branchOf(session).rows.length);
    expect(live.state).toEqual(replay(live.branch));
  });

  test("reads the rest at once when somebody asks meanwhile", async () => {
    const session = new Session(LONG);
    const live = new LiveWindow(session);
    const warm = live.warmUp();
    expect(live.branch.isBehind).toBe(true);
    expect(live.state).toEqual(replay(branchOf(session)));
    await warm;
    expect(live.branch.isBehind).toBe(false);
  });

  test("makes as many states for ten thousand entries of a window as for one thousand", () => {
    expect(statesOf(branchOf(new Session(10_000)))).toBe(statesOf(branchOf(new Session(1_000))));
  });
});
