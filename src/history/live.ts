// The own agent's history: the live branch as an item source. Abandoned branches are read through an index of their own,
// made when one is asked for.
import type { EntrySource } from "../host/entries.ts";
import { BranchIndex, type Row } from "../log/branch.ts";
import { atOnce } from "../storage/slices.ts";
import { ShortTexts, StretchSieve } from "./short-texts.ts";
import type { ItemSource } from "./source.ts";

/** Entries gone through between two pauses. */
const STEPS_PER_PAUSE = 500;

/** Items of abandoned branches. */
class Elsewhere {
  readonly #entries: EntrySource;
  /** The index up to the item that was asked for last, as long as there is room for it: a long item is read in pages. */
  #newest: { readonly id: string; readonly index: WeakRef<BranchIndex> } | undefined;

  constructor(entries: EntrySource) {
    this.#entries = entries;
  }

  /** Its window is counted along its own branch up to it. */
  *finding(id: string): Generator<void, Row | undefined> {
    if (!this.#entries.entry(id)) return undefined;
    const known = this.#newest?.id === id ? this.#newest.index.deref() : undefined;
    if (known) return known.row(id);
    const index = new BranchIndex();
    const upToIt = { leafId: () => id, entry: (other: string) => this.#entries.entry(other) };
    for (index.catchUp(upToIt, STEPS_PER_PAUSE); index.isBehind; index.catchUp(upToIt, STEPS_PER_PAUSE)) yield;
    this.#newest = { id, index: new WeakRef(index) };
    return index.row(id);
  }
}

/** The live branch as of now. `refresh` brings the index up to the log before anything is read. */
export function liveSource(agent: string, branch: BranchIndex, entries: EntrySource): ItemSource {
  let short: ShortTexts | undefined;
  const elsewhere = new Elsewhere(entries);
  return {
    agent,
    get rows() {
      return branch.rows;
    },
    get windows() {
      return branch.windows;
    },
    rowRange: (window) => branch.rowRange(window),
    row: (id) => branch.row(id),
    rowIndex: (id) => branch.rowIndex(id),
    text: (row) => branch.text(row),
    sieve: ({ text, maySplitPair }) => {
      // A branch that was read again has other rows.
      if (short?.rows !== branch.rows) short = new ShortTexts(branch.rows);
      const sieve = new StretchSieve(short, text);
      // Half a pair that is there may be half of a character.
      return maySplitPair ? (at) => sieve.holds(at) && undefined : (at) => sieve.holds(at);
    },
    rowElsewhere: (id) => atOnce(elsewhere.finding(id)),
    findingElsewhere: (id) => elsewhere.finding(id),
  };
}
