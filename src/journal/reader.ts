// Another agent's history: the branch its journal has committed, as an item source. It takes no lock and writes nothing;
// between two refreshes its branch stays as it is, whatever is appended meanwhile.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ItemSource } from "../history/source.ts";
import type { LogEntry } from "../host/entries.ts";
import type { Row } from "../log/branch.ts";
import { type ItemText, itemText } from "../log/item.ts";
import { JournalBranch } from "./branch.ts";
import { Journal, type JournalPlace } from "./journal.ts";
import { JournalSieve } from "./sieve.ts";
import type { JournalState } from "./state.ts";

/** Reading a long log lets the event loop run after so long. */
const SLICE_MS = 20;
/** Journals that are kept open: each holds its records in memory. */
const OPEN_MAX = 4;

export class JournalReader {
  readonly source: ItemSource;
  readonly #agent: string;
  readonly #journal: Journal;
  #branch: JournalBranch;
  /** Records that may be seen. */
  #visible = 0;
  #refreshing: Promise<ItemSource> | undefined;
  /** Rendered texts, for as long as their entries are in use. */
  readonly #texts = new WeakMap<LogEntry, ItemText>();

  constructor(place: JournalPlace) {
    this.#agent = place.agent;
    this.#journal = new Journal(place);
    this.#branch = new JournalBranch(this.#journal.nothing(), -1);
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
    const journal = this.#journal;
    let isDone: boolean | undefined;
    do {
      // A session of this process that has just answered is heard out first.
      await nextTurn();
      isDone = journal.catchUp(SLICE_MS);
    } while (isDone === false);
    if (isDone === undefined) journal.forget();
    journal.assertWhole();
    this.#show(journal.known ?? journal.nothing());
    return this.source;
  }

  #show(state: JournalState): void {
    const { leaf, records } = state.published ?? { leaf: -1, records: 0 };
    this.#visible = records;
    if (state !== this.#branch.state || !this.#branch.growTo(leaf)) this.#branch = new JournalBranch(state, leaf);
  }

  /** Number of a visible entry's record. */
  #find(id: string): number | undefined {
    const at = this.#branch.state.find(id);
    return at === -1 || at >= this.#visible ? undefined : at;
  }

  #text({ entry }: Row): ItemText {
    const text = this.#texts.get(entry) ?? itemText(entry);
    this.#texts.set(entry, text);
    return text;
  }

  #makeSource(): ItemSource {
    const branch = () => this.#branch;
    const placeIn = (rows: JournalBranch, id: string) => {
      const at = this.#find(id);
      return at === undefined ? undefined : rows.placeOf(at);
    };
    const rowIn = (rows: JournalBranch, id: string) => {
      const place = placeIn(rows, id);
      return place === undefined ? undefined : rows.at(place);
    };
    return {
      agent: this.#agent,
      get rows() {
        return branch();
      },
      get windows() {
        return branch().windows;
      },
      rowRange: (window) => branch().rowRange(window),
      row: (id) => rowIn(branch(), id),
      rowIndex: (id) => placeIn(branch(), id),
      text: (row) => this.#text(row),
      // Its window is counted along its own branch up to it.
      rowElsewhere: (id) => rowIn(new JournalBranch(branch().state, this.#find(id) ?? -1), id),
      sieve: (needle) => {
        const rows = branch();
        const sieve = new JournalSieve(rows.state, needle);
        return (row) => sieve.holds(rows.record(row));
      },
    };
  }
}

/** The journals of other agents that are kept open. */
export class OpenJournals {
  /** Most recently used last. */
  readonly #readers = new Map<string, JournalReader>();

  /** What an agent's journal has committed by now. */
  read(agent: { readonly address: string; readonly historyDir: string }): Promise<ItemSource> {
    const { address, historyDir: directory } = agent;
    const reader = this.#readers.get(address) ?? new JournalReader({ directory, agent: address });
    this.#readers.delete(address);
    this.#readers.set(address, reader);
    for (const oldest of this.#readers.keys()) {
      if (this.#readers.size <= OPEN_MAX) break;
      this.#readers.delete(oldest);
    }
    return reader.refresh();
  }
}
