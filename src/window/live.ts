// The current window of one live session: the index and the machine, kept up with the log. Events go in, effects come
// out; carrying them out is the shell's business.
import type { EntrySource } from "../host/entries.ts";
import { BranchIndex } from "../log/branch.ts";
import { CURSOR_AT_START, type FactCursor, factsSince, type IsOwnNote } from "./facts.ts";
import { type Effect, INITIAL_STATE, type LiveEvent, step, type WindowState } from "./machine.ts";

export class LiveWindow {
  readonly branch = new BranchIndex();
  readonly #source: EntrySource;
  #state: WindowState = INITIAL_STATE;
  readonly #isOwnNote: IsOwnNote | undefined;
  #cursor: FactCursor = CURSOR_AT_START;

  constructor(source: EntrySource, isOwnNote?: IsOwnNote) {
    this.#source = source;
    this.#isOwnNote = isOwnNote;
  }

  /** Reads what the log has gained; another branch is read from its start. */
  refresh(): void {
    const change = this.branch.catchUp(this.#source);
    if (change === "same") return;
    if (change === "rebuilt") {
      this.#state = INITIAL_STATE;
      this.#cursor = CURSOR_AT_START;
    }
    const { facts, cursor } = factsSince(this.branch, this.#cursor, this.#isOwnNote);
    for (const fact of facts) this.#state = step(this.#state, fact).state;
    this.#cursor = cursor;
  }

  /** Where the session stands now. */
  get state(): WindowState {
    this.refresh();
    return this.#state;
  }

  /** Tells the machine what happened; what it asks for comes back, at most one thing. */
  tell(event: LiveEvent): Effect | undefined {
    this.refresh();
    const { state, effects } = step(this.#state, event);
    this.#state = state;
    return effects[0];
  }
}
