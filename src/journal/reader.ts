// Another agent's history: the branch its journal has committed, as an item source. It takes no lock and writes nothing;
// between two refreshes its branch stays as it is, whatever is appended meanwhile.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ItemSource } from "../history/source.ts";
import type { LogEntry } from "../host/entries.ts";
import { JournalBranch } from "./branch.ts";
import { JournalFiles, type JournalPlace } from "./files.ts";
import { JournalIndex } from "./records.ts";
import { JournalSieve } from "./sieve.ts";
import type { JournalState } from "./state.ts";

/** Reading a long log lets the event loop run after so long. */
const SLICE_MS = 20;

export class JournalReader {
  readonly source: ItemSource;
  readonly #place: JournalPlace;
  #files: JournalFiles;
  #state: JournalState | undefined;
  #branch: JournalBranch;
  /** Records that may be seen. */
  #visible = 0;
  #index: JournalIndex;
  #refreshing: Promise<ItemSource> | undefined;

  constructor(place: JournalPlace) {
    this.#place = place;
    this.#files = new JournalFiles(place);
    this.#index = new JournalIndex("");
    this.#branch = this.#newBranch();
    this.source = this.#makeSource();
  }

  /** Brings the source up to the newest commit; without a journal its branch is empty. */
  async refresh(): Promise<ItemSource> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<ItemSource> {
    // A session of this process that has just answered is heard out first.
    await nextTurn();
    for (;;) {
      if (this.#files.distrusted) {
        this.#files = new JournalFiles(this.#place, { withoutSidecar: true });
        this.#state = undefined;
      }
      if (this.#readSlice()) break;
      await nextTurn();
    }
    if (this.#state) this.#files.assertWhole();
    this.#show();
    return this.source;
  }

  /** False when there is more to read. */
  #readSlice(): boolean {
    const until = performance.now() + SLICE_MS;
    const done = this.#files.log.reading((log) => {
      const known = this.#state;
      // Another log in the same place, or one that was cut: begun again.
      const state = known && known.logId === log.id && log.size >= known.end ? known : this.#files.open(log);
      this.#state = state;
      return this.#files.readOn(log, state, until);
    });
    if (done === undefined) this.#state = undefined;
    return done ?? true;
  }

  #show(): void {
    const published = this.#state?.published;
    const index = this.#state?.index ?? new JournalIndex("");
    this.#visible = published?.records ?? 0;
    const leaf = published?.leaf ?? -1;
    if (index === this.#index && this.#branch.growTo(leaf)) return;
    this.#index = index;
    this.#branch = this.#newBranch();
    this.#branch.growTo(leaf);
  }

  #newBranch(): JournalBranch {
    return new JournalBranch(this.#index, (index, at) => this.#entry(index, at));
  }

  #entry(index: JournalIndex, at: number): LogEntry {
    return this.#files.entry(index, at);
  }

  /** Number of a visible entry's record; -1 when there is none. */
  #find(id: string): number {
    const at = this.#index.find(id, (other) => this.#entry(this.#index, other).id);
    return at < this.#visible ? at : -1;
  }

  #makeSource(): ItemSource {
    const branch = () => this.#branch;
    return {
      agent: this.#place.agent,
      get rows() {
        return branch();
      },
      get windows() {
        return branch().windows;
      },
      rowRange: (window) => branch().rowRange(window),
      row: (id) => {
        const at = this.#find(id);
        return at === -1 ? undefined : branch().rowOf(at);
      },
      rowIndex: (id) => {
        const at = this.#find(id);
        return at === -1 ? undefined : branch().placeOf(at);
      },
      text: (entry) => this.#files.text(entry),
      rowElsewhere: (id) => {
        const at = this.#find(id);
        if (at === -1) return undefined;
        // Its window is counted along its own branch up to it.
        const own = this.#newBranch();
        own.growTo(at);
        return own.rowOf(at);
      },
      sieve: (needle) => {
        const sieve = new JournalSieve(this.#files, this.#index, needle);
        const rows = branch();
        return (row) => sieve.holds(rows.record(row));
      },
    };
  }
}
