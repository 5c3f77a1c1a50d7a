// The current window of one live session: the index of its branch and the machine, kept up with the log. Events go in,
// effects come out; loop.ts and compactions.ts carry them out.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { EntrySource } from "../host/entries.ts";
import { BranchIndex } from "../log/branch.ts";
import { CURSOR_AT_START, type FactCursor, type IsOwnNote, NO_ABSOLUTE_PATH, readFacts } from "./facts.ts";
import { type Effect, INITIAL_STATE, type LiveEvent, step, type WindowState } from "./machine.ts";

/**
 * Entries gone through between two turns of the event loop: 10 to 20 milliseconds. The host has work of its own for each of
 * those turns, which an opening session then waits for.
 */
export const STEPS_PER_SLICE = 3_000;

export class LiveWindow {
  readonly branch = new BranchIndex();
  readonly #source: EntrySource;
  #state: WindowState = INITIAL_STATE;
  readonly #isOwnNote: IsOwnNote;
  #cursor: FactCursor = CURSOR_AT_START;

  constructor(source: EntrySource, isOwnNote: IsOwnNote = NO_ABSOLUTE_PATH) {
    this.#source = source;
    this.#isOwnNote = isOwnNote;
  }

  /** Reads what the log has gained; another branch is read from its start. */
  refresh(): void {
    this.#read(Number.POSITIVE_INFINITY);
  }

  /** The same in slices, with the event loop running in between: a session that is opened may be long. */
  async warmUp(): Promise<void> {
    for (this.#read(STEPS_PER_SLICE); this.branch.isBehind; this.#read(STEPS_PER_SLICE)) await nextTurn();
  }

  #read(steps: number): void {
    const change = this.branch.catchUp(this.#source, steps);
    if (change === "same") return;
    if (change === "rebuilt") {
      this.#state = INITIAL_STATE;
      this.#cursor = CURSOR_AT_START;
    }
    this.#cursor = readFacts(this.branch, this.#cursor, this.#isOwnNote, (fact) => {
      this.#state = step(this.#state, fact).state;
    });
  }

  /** The index, brought up to the log. */
  upToDate(): BranchIndex {
    this.refresh();
    return this.branch;
  }

  /** The machine's state, by the log as it is now. */
  get state(): WindowState {
    this.refresh();
    return this.#state;
  }

  /** Steps the machine: what happened goes in, what is to be done comes out. */
  step(event: LiveEvent): Effect | undefined {
    this.refresh();
    const { state, effect } = step(this.#state, event);
    this.#state = state;
    return effect;
  }
}
