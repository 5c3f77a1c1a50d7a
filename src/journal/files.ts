// Where one agent's journal lies, and how it is read from there: quickly from the sidecar, and on from the log. Shared by
// writer and reader; it takes no lock and writes nothing.

import { TokenBudgetError } from "../errors.ts";
import type { LogEntry } from "../host/entries.ts";
import { type ItemText, itemText } from "../log/item.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { parsedLine } from "./facts.ts";
import { AppendLog, type OpenLog } from "./log.ts";
import { commitOf } from "./log-lines.ts";
import { JournalIndex } from "./records.ts";
import { Sidecar } from "./sidecar.ts";
import { JournalState, leafOf } from "./state.ts";

/** Newest format of the log. */
const JOURNAL_VERSION = 1;
/** And of the sidecar: another one of what a record says of an entry, so that an older one is made anew. */
const INDEX_VERSION = 3;
const LOG_NAME = "journal.jsonl";
const SIDECAR_NAME = "journal.index";

/** Lines of entries that are kept parsed; one entry is kept however long it is. */
const CACHE_BYTES_MAX = 8_388_608;

export interface JournalPlace {
  /** The agent's history directory; made with the first write. */
  readonly directory: string;
  /** The agent's address, for messages. */
  readonly agent: string;
  readonly disk?: DiskCalls | undefined;
  /** The sidecar is carried on whenever so many entries and commits are new; the same for all who write. */
  readonly markEvery?: number | undefined;
}

/** The log of the journal in a history directory. */
export function journalFile(directory: string): string {
  return `${directory}${directory.endsWith("/") ? "" : "/"}${LOG_NAME}`;
}

interface CachedEntry {
  readonly entry: LogEntry;
  readonly bytes: number;
}

export class JournalFiles {
  readonly log: AppendLog;
  readonly sidecar: Sidecar;
  readonly shown: string;
  readonly #withoutSidecar: boolean;
  readonly #markEvery: number | undefined;
  /** A record did not fit its line: nothing that came from the sidecar is to be used again. */
  #distrusted = false;
  /** Something is missing where reading has ended. */
  #isDamaged = false;
  readonly #cache = new Map<number, CachedEntry>();
  #cacheOf: JournalIndex | undefined;
  #cachedBytes = 0;
  readonly #texts = new WeakMap<LogEntry, ItemText>();

  constructor({ directory, agent, disk = NODE_DISK, markEvery }: JournalPlace, { withoutSidecar = false } = {}) {
    this.#withoutSidecar = withoutSidecar;
    this.#markEvery = markEvery;
    this.shown = `The journal of ${agent}`;
    const format = "pi-token-budget journal";
    const separator = directory.endsWith("/") ? "" : "/";
    const at = (name: string) => `${directory}${separator}${name}`;
    this.log = new AppendLog(
      { file: journalFile(directory), format, version: JOURNAL_VERSION, shown: this.shown },
      disk,
    );
    const sidecar = { file: at(SIDECAR_NAME), format: `${format} index`, version: INDEX_VERSION };
    this.sidecar = new Sidecar({ ...sidecar, shown: `The index of ${this.shown}` }, disk);
  }

  get distrusted(): boolean {
    return this.#distrusted;
  }

  /** As much as the sidecar knows, or nothing yet. */
  open(log: OpenLog): JournalState {
    const content = this.#withoutSidecar ? undefined : this.sidecar.read(log.id);
    const index = content && JournalIndex.load(log.id, content);
    const mark = index?.lastMark;
    if (index && mark) {
      const line = log.read(mark.commit);
      const commit = line.length === mark.commit.length ? commitOf(line) : undefined;
      const leaf = leafOf(commit?.record);
      const isThere = leaf === null ? mark.leaf === -1 : leaf !== undefined && this.#hasId(index, mark.leaf, leaf);
      if (commit && isThere && leaf !== undefined) {
        const state = this.#state(log, index);
        state.resume(leaf, mark.leaf, { offset: mark.commit.offset + mark.commit.length + 1, sum: commit.sum });
        return state;
      }
    }
    return this.#state(log);
  }

  /** Reads the log on; false when the time is over before its end, or everything is to be read anew without the sidecar. */
  readOn(log: OpenLog, state: JournalState, untilMs: number): boolean {
    this.#isDamaged = false;
    if (log.size <= state.end) return true;
    if (!log.isBehindCommit(state.place)) {
      this.#distrusted = true;
      return false;
    }
    const segments = log.segments(state.place);
    let isTrue = true;
    for (let segment = segments.next(); segment && isTrue; segment = segments.next()) {
      isTrue = state.absorb(segment);
      if (isTrue && performance.now() > untilMs) return false;
    }
    this.#isDamaged = !isTrue || segments.isDamaged;
    // What was known before may be of another log that lay here.
    this.#distrusted ||= this.#isDamaged && !this.#withoutSidecar;
    return !this.#distrusted;
  }

  /** Says so of a journal that is damaged: the branch before the damage is not the one that was committed last. */
  assertWhole(): void {
    if (!this.#isDamaged) return;
    // A session that has its index does not look at what lies before it.
    throw new TokenBudgetError(
      "storage_failed",
      `${this.shown} is damaged: a part of ${this.log.source.file} is missing. Remove ${this.sidecar.file} beside it; then it is made good when its session is opened again.`,
    );
  }

  /** The entry of a record, from the log. */
  entry(index: JournalIndex, at: number): LogEntry {
    if (this.#cacheOf !== index) this.#dropCache(index);
    const cached = this.#cache.get(at);
    if (cached) return cached.entry;
    const line = this.log.reading((log) => log.read(index.line(at)));
    const entry = line && parsedLine(line)?.entry;
    const id = index.id(at);
    if (!line || !entry || (id !== undefined && id !== entry.id)) throw this.#unfit();
    this.#keep(at, { entry, bytes: line.length });
    return entry;
  }

  /** The rendered text of an entry, made once as long as somebody holds the entry. */
  text(entry: LogEntry): ItemText {
    const known = this.#texts.get(entry);
    if (known) return known;
    const text = itemText(entry);
    this.#texts.set(entry, text);
    return text;
  }

  #state(log: OpenLog, index?: JournalIndex): JournalState {
    const load = (of: JournalIndex, at: number) => this.entry(of, at);
    return new JournalState({ logId: log.id, start: log.start, load, index, markEvery: this.#markEvery });
  }

  #hasId(index: JournalIndex, at: number, id: string): boolean {
    return at !== -1 && index.isEntry(at) && (index.id(at) ?? id) === id;
  }

  #keep(at: number, cached: CachedEntry): void {
    this.#cache.set(at, cached);
    this.#cachedBytes += cached.bytes;
    // The oldest goes first: a map keeps the order of insertion.
    for (const [oldest, { bytes }] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES_MAX || this.#cache.size === 1) break;
      this.#cache.delete(oldest);
      this.#cachedBytes -= bytes;
    }
  }

  #dropCache(index: JournalIndex): void {
    this.#cacheOf = index;
    this.#cache.clear();
    this.#cachedBytes = 0;
  }

  #unfit(): TokenBudgetError {
    this.#distrusted = true;
    return new TokenBudgetError(
      "storage_failed",
      `${this.shown} could not be read: its index does not fit it. Nothing was changed. Repeat the call: the index is then left aside.`,
    );
  }
}
