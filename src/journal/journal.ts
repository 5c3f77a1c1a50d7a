// One agent's journal on the disk, as the session that writes it and the agents that read it know it: quickly from its
// index, and on from the log. One catch-up serves both. It takes no lock, and writes nothing but the index.
import { TokenBudgetError } from "../errors.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { IndexFile } from "./index-file.ts";
import { AppendLog } from "./log.ts";
import { commitOf } from "./log-format.ts";
import type { OpenLog } from "./log-open.ts";
import { JournalRecords } from "./records.ts";
import { JournalState, leafOf } from "./state.ts";

const FORMAT = "pi-token-budget journal";
/** Newest format of the log. */
const JOURNAL_VERSION = 1;

export interface JournalPlace {
  /** The agent's history directory; made with the first write. */
  readonly directory: string;
  /** The agent's address, for messages. */
  readonly agent: string;
  readonly disk?: DiskCalls | undefined;
  /** The index is carried on whenever so many entries and commits are new; the same for all who write. */
  readonly markEvery?: number | undefined;
}

function fileIn(directory: string, name: string): string {
  return `${directory}${directory.endsWith("/") ? "" : "/"}${name}`;
}

/** The log of the journal in a history directory. */
export function journalFile(directory: string): string {
  return fileIn(directory, "journal.jsonl");
}

export class Journal {
  readonly log: AppendLog;
  /** The journal as the subject of a sentence. */
  readonly shown: string;
  readonly #index: IndexFile;
  readonly #markEvery: number | undefined;
  #known: JournalState | undefined;
  /** Records in the index on the disk; undefined when it has to be written again. */
  #indexed: number | undefined;
  /** Unfit: something of it did not fit the log, so nothing that came from it is used again. */
  #trust: "trusted" | "unfit" | "left aside" = "trusted";
  /** Something is missing where reading has ended. */
  #isDamaged = false;

  constructor({ directory, agent, disk = NODE_DISK, markEvery }: JournalPlace) {
    this.#markEvery = markEvery;
    this.shown = `The journal of ${agent}`;
    const file = journalFile(directory);
    this.log = new AppendLog({ file, format: FORMAT, version: JOURNAL_VERSION, shown: this.shown }, disk);
    this.#index = new IndexFile(fileIn(directory, "journal.index"), FORMAT, disk);
  }

  /** Undefined before it was read, and after what was read has turned out to be wrong. */
  get known(): JournalState | undefined {
    return this.#trust === "unfit" ? undefined : this.#known;
  }

  /** Reads on for so long; false when there is more to read, undefined when there is no journal. */
  catchUp(sliceMs: number): boolean | undefined {
    const untilMs = performance.now() + sliceMs;
    return this.log.reading((log) => this.readOn(log, untilMs));
  }

  /** As `catchUp`, in a log that is open. */
  readOn(log: OpenLog, untilMs: number): boolean {
    const state = this.#stateOf(log);
    const { marked } = state.records;
    const isDone = this.#readFrom(log, state, untilMs);
    // A writer that appended also extended the index; if not, its size or its last mark shows it.
    if (state.records.marked > marked && this.#indexed !== undefined) this.#indexed = state.records.marked;
    return isDone;
  }

  /** What is known where there is no journal. */
  nothing(): JournalState {
    return new JournalState({ logId: "", start: 0, read: () => Buffer.alloc(0), unfit: () => this.#unfit() });
  }

  /** What was read is of a journal that is gone. */
  forget(): void {
    this.#known = undefined;
    this.#isDamaged = false;
  }

  /** Says so of a journal that is damaged: the branch before the damage is not the one that was committed last. */
  assertWhole(): void {
    if (!this.#isDamaged) return;
    // A session that has its index does not look at what lies before it.
    throw new TokenBudgetError(
      "storage_failed",
      `${this.shown} is damaged: a part of ${this.log.source.file} is missing. Remove ${this.#index.file} beside it; then it is made good when its session is opened again.`,
    );
  }

  /** Adds to the index what was marked since; it never says more than the disk has of the log. */
  carryIndexOn({ records, logId }: JournalState): void {
    const { marked } = records;
    if (marked === 0 || marked === this.#indexed) return;
    const before = this.#indexed;
    this.#indexed = undefined;
    try {
      const carriedOn =
        before !== undefined &&
        this.#index.append(before, records.bytes(before - 1, before), records.bytes(before, marked));
      if (!carriedOn) this.#index.replace(logId, records.bytes(0, marked));
      this.#indexed = marked;
    } catch {
      // The branch is committed; an index that is behind only makes readers read more, and the next sync rewrites it.
    }
  }

  /** The state to continue from: that of this log, or as much as the index knows. */
  #stateOf(log: OpenLog): JournalState {
    const { known } = this;
    // Another log in the same place, or one that was cut, is begun again.
    if (known?.logId === log.id && log.size >= known.end) return known;
    if (this.#trust === "unfit") this.#trust = "left aside";
    const opened = (this.#trust === "trusted" && this.#fromIndex(log)) || this.#newState(log);
    this.#known = opened;
    this.#indexed = opened.records.marked || undefined;
    return opened;
  }

  #fromIndex(log: OpenLog): JournalState | undefined {
    const content = this.#index.read(log.id);
    const records = content && JournalRecords.load(log.id, content);
    const mark = records?.lastMark;
    if (!records || !mark) return undefined;
    const { offset, length } = mark.commit;
    const line = log.read(mark.commit);
    const commit = line.length === length ? commitOf(line) : undefined;
    const leaf = leafOf(commit?.record);
    if (!commit || leaf === undefined || !records.isAt(mark.leaf, leaf)) return undefined;
    const state = this.#newState(log, records);
    state.resume(leaf, mark.leaf, { offset: offset + length + 1, sum: commit.sum });
    return state;
  }

  #newState(log: OpenLog, records?: JournalRecords): JournalState {
    return new JournalState({
      logId: log.id,
      start: log.start,
      read: (span, into) => this.log.reading((again) => again.read(span, into)) ?? Buffer.alloc(0),
      unfit: () => this.#unfit(),
      records,
      markEvery: this.#markEvery,
    });
  }

  /** False when the time is over before the end, or everything has to be read again without the index. */
  #readFrom(log: OpenLog, state: JournalState, untilMs: number): boolean {
    this.#isDamaged = false;
    if (log.size <= state.end) return true;
    if (!log.isBehindCommit(state.place)) {
      this.#trust = "unfit";
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
    if (this.#isDamaged && this.#trust === "trusted") this.#trust = "unfit";
    return this.#trust !== "unfit";
  }

  #unfit(): TokenBudgetError {
    this.#trust = "unfit";
    return new TokenBudgetError(
      "storage_failed",
      `${this.shown} could not be read: its index does not fit it. Nothing was changed. Repeat the call: the index is then left aside.`,
    );
  }
}
