// What is known of a journal after reading its log up to some place: the records, and the branch that was published last.
// It grows with the log and is the same for everyone who read as far; it opens no file itself.
import type { LogEntry } from "../host/entries.ts";
import { callsOf, noBatch, type ToolBatch } from "../log/placing.ts";
import { cutJson, factsOf, type JournalLine, parsedLine, textSpan } from "./facts.ts";
import type { CommitSpan, Span } from "./log-lines.ts";
import type { LogPlace, LogSegment } from "./log-scan.ts";
import { FLAG } from "./record.ts";
import { JournalIndex } from "./records.ts";

/** A sidecar is carried on whenever so many entries and commits are new: so much of the log is read without it. */
const MARK_EVERY = 64;

/** What a commit line says. Without a leaf it only ends a part of a long write and publishes nothing. */
export interface CommitRecord {
  readonly leaf?: string | null;
}

/** The branch that readers see. */
export interface Published {
  /** Number of its leaf's record; -1 when it is empty. */
  readonly leaf: number;
  readonly leafId: string | null;
  /** Records in all by then; what came later is not to be seen yet. */
  readonly records: number;
}

/** Reads the entry of a record. */
export type LoadEntry = (index: JournalIndex, at: number) => LogEntry;

export interface JournalStart {
  readonly logId: string;
  /** Where the log's first segment begins. */
  readonly start: number;
  readonly load: LoadEntry;
  /** Records known already. */
  readonly index?: JournalIndex | undefined;
  readonly markEvery?: number | undefined;
}

export function leafOf(record: unknown): string | null | undefined {
  const { leaf } = (record ?? {}) as { leaf?: unknown };
  return typeof leaf === "string" || leaf === null ? leaf : undefined;
}

export class JournalState {
  readonly logId: string;
  readonly index: JournalIndex;
  readonly #load: LoadEntry;
  readonly #markEvery: number;
  #end: LogPlace;
  #published: Published | undefined;
  /** The newest record and the batch behind it; most entries are children of the one before. */
  #tip = -1;
  #tipId: string | undefined;
  #tipBatch: ToolBatch | undefined;

  constructor({ logId, start, load, index, markEvery }: JournalStart) {
    this.logId = logId;
    this.index = index ?? new JournalIndex(logId);
    this.#load = load;
    this.#end = { offset: start, sum: 0 };
    this.#markEvery = markEvery ?? MARK_EVERY;
  }

  /** Where reading goes on: behind the last valid segment. */
  get place(): LogPlace {
    return this.#end;
  }

  get end(): number {
    return this.#end.offset;
  }

  get published(): Published | undefined {
    return this.#published;
  }

  /** Number of the entry's record; -1 when the journal does not hold it. */
  find(id: string): number {
    return id === this.#tipId ? this.#tip : this.index.find(id, (at) => this.#load(this.index, at).id);
  }

  /** Goes on behind the mark of a loaded index, whose commit was found in the log. */
  resume(leafId: string | null, leaf: number, end: LogPlace): void {
    this.#published = { leaf, leafId, records: this.index.length };
    this.#end = end;
    // Where the leaf is the newest entry what follows is its child as a rule.
    if (leafId === null || leaf !== this.index.length - 2) return;
    this.#tip = leaf;
    this.#tipId = leafId;
  }

  /** False for a segment that cannot be true, and then nothing is taken of it: it publishes a leaf that is nowhere. */
  absorb({ lines, record, commit, end }: LogSegment): boolean {
    const parsed = lines.map(({ bytes }) => parsedLine(bytes));
    const leaf = leafOf(record);
    const isThere = (id: string) => this.find(id) !== -1 || parsed.some((line) => line?.entry.id === id);
    if (typeof leaf === "string" && !isThere(leaf)) return false;
    for (const [number, line] of parsed.entries()) {
      const span = lines[number];
      if (line && span) this.add(line, span, textSpan(cutJson(line.entry), span.length, line.tool));
    }
    this.commit(record, commit, end);
    return true;
  }

  /** The next entry of the log, and where its only text lies in its line; one that is known already stays as it was. */
  add(parsed: JournalLine, line: Span, text: Span | undefined): void {
    const { id, parentId } = parsed.entry;
    // A child of the newest entry is new itself: a parent stands before its children.
    const isNew = parentId !== null && parentId === this.#tipId && id !== this.#tipId;
    if (!isNew && this.find(id) !== -1) return;
    const parent = typeof parentId === "string" ? this.find(parentId) : -1;
    const { record, batch } = factsOf(parsed, { line, text, parent }, this.batchAfter(parent));
    this.#tip = this.index.push(record);
    this.#tipId = id;
    this.#tipBatch = batch;
  }

  commit(record: unknown, { offset, length, sum }: CommitSpan, end: number): void {
    this.#end = { offset: end, sum };
    const leaf = leafOf(record);
    if (leaf === undefined) return;
    this.index.noteCommit();
    this.#publish(leaf);
    if (this.index.unmarked >= this.#markEvery)
      this.index.mark({ commit: { offset, length }, leaf: this.#published?.leaf ?? -1 });
  }

  /** The tool batch as a child of this record finds it. */
  batchAfter(at: number): ToolBatch {
    if (at !== -1 && at === this.#tip && this.#tipBatch) return this.#tipBatch;
    const { index } = this;
    let newestOpener = -1;
    for (let back = at; back !== -1; back = index.parent(back)) {
      if (index.role(back) === "assistant") {
        const calls = callsOf(this.#load(index, back));
        return { calls, closing: newestOpener !== -1 && this.#isResultOf(newestOpener, calls) };
      }
      if (newestOpener === -1 && index.flags(back) & (FLAG.opensBefore | FLAG.opensAfter)) newestOpener = back;
    }
    return noBatch();
  }

  #isResultOf(opener: number, calls: ReadonlyMap<string, string>): boolean {
    if (!(this.index.flags(opener) & FLAG.opensAfter)) return false;
    const toolCallId: unknown = this.#load(this.index, opener).message?.toolCallId;
    return typeof toolCallId === "string" && calls.has(toolCallId);
  }

  #publish(leafId: string | null): void {
    const leaf = leafId === null ? -1 : this.find(leafId);
    this.#published = { leaf, leafId, records: this.index.length };
  }
}
