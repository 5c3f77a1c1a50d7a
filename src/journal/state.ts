// What is known of a journal after reading its log up to some place: its records, the branch that was published last, and
// the entries that were read lately. It grows with the log and says the same for everyone who read as far; only which record
// stands for equal calls depends on where reading began. It opens no file itself.
import type { LogEntry } from "../host/entries.ts";
import { type ItemHead, itemHead, type ToolRef } from "../log/item.ts";
import { callsOf, type ItemPlace, noBatch, placeItem, type ToolBatch } from "../log/item-place.ts";
import { consolidationOf } from "../log/marks.ts";
import { cutJson, isComposed, type JournalLine, parsedLine, textSpan } from "./line.ts";
import type { CommitSpan, Span } from "./log-format.ts";
import type { LogPlace, LogSegment } from "./log-scan.ts";
import { JournalRecords } from "./records.ts";

/** The index is carried on whenever so many entries and commits are new: so much of the log is read without it. */
const MARK_EVERY = 64;
/** Lines of entries that are kept parsed; one is kept however long it is. */
const CACHE_BYTES_MAX = 8_388_608;

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

export interface JournalStart {
  readonly logId: string;
  /** Where the log's first segment begins. */
  readonly start: number;
  /** Reads the log again, perhaps into given memory; what it cannot read is shorter. */
  readonly read: (span: Span, into?: Buffer) => Buffer;
  /** The error for a line that is not what its record says. */
  readonly unfit: () => Error;
  /** Records known already. */
  readonly records?: JournalRecords | undefined;
  readonly markEvery?: number | undefined;
}

export function leafOf(record: unknown): string | null | undefined {
  const { leaf } = (record ?? {}) as { leaf?: unknown };
  return typeof leaf === "string" || leaf === null ? leaf : undefined;
}

const NO_PLACE: Omit<ItemPlace, "batch"> = { opener: undefined, opens: undefined, stays: false };

export class JournalState {
  readonly logId: string;
  readonly records: JournalRecords;
  readonly #start: JournalStart;
  #place: LogPlace;
  #published: Published | undefined;
  /** Entries and commits since the last mark. */
  #unmarked = 0;
  /** The newest record and the batch behind it; most entries are children of the one before. */
  #tip = -1;
  #tipId: string | undefined;
  #tipBatch: ToolBatch | undefined;
  /**
   * The record that stands for each list of calls, by the names: the first one met here. What a loaded index knows is not read
   * back, so after it one more record stands for the same list.
   */
  readonly #standsFor = new Map<string, number>();
  /** The calls of records that stand for them. */
  readonly #calls = new Map<number, readonly ToolRef[]>();
  /** Oldest first. */
  readonly #cache = new Map<number, JournalLine & { readonly bytes: number }>();
  #cachedBytes = 0;

  constructor(start: JournalStart) {
    this.logId = start.logId;
    this.records = start.records ?? new JournalRecords(start.logId);
    this.#start = start;
    this.#place = { offset: start.start, sum: 0 };
  }

  /** Where reading continues: after the last valid segment. */
  get place(): LogPlace {
    return this.#place;
  }

  get end(): number {
    return this.#place.offset;
  }

  get published(): Published | undefined {
    return this.#published;
  }

  /** Number of the entry's record; -1 when the journal does not hold it. */
  find(id: string): number {
    return id === this.#tipId ? this.#tip : this.records.find(id, (at) => this.entry(at).id);
  }

  /** Bytes of the log. */
  read(span: Span, into?: Buffer): Buffer {
    return this.#start.read(span, into);
  }

  entry(at: number): LogEntry {
    return this.#line(at).entry;
  }

  /** The entry as an item; it has to be one. */
  head(at: number): ItemHead {
    return itemHead(this.entry(at), () => this.calls(at)[0]?.name) as ItemHead;
  }

  /** The calls an entry makes, or the one it answers; most are known from another entry with the same. */
  calls(at: number): readonly ToolRef[] {
    const same = this.records.sameCalls(at);
    if (same === -1) return [];
    const known = this.#calls.get(same);
    if (known) return known;
    const calls = this.#headIn(this.#line(same), this.batchAfter(this.records.parent(same)))?.calls ?? [];
    this.#calls.set(same, calls);
    return calls;
  }

  /** Continues after the last mark of loaded records, whose commit was found in the log. */
  resume(leafId: string | null, leaf: number, place: LogPlace): void {
    this.#published = { leaf, leafId, records: this.records.length };
    this.#place = place;
    // Where the leaf is the newest entry what follows is its child as a rule.
    if (leafId === null || leaf !== this.records.length - 2) return;
    this.#tip = leaf;
    this.#tipId = leafId;
  }

  /** False for a segment that cannot be true, and then nothing is taken of it: it publishes a leaf that is nowhere. */
  absorb({ lines, record, commit, end }: LogSegment): boolean {
    const parsed = lines.map(({ bytes }) => parsedLine(bytes));
    const leaf = leafOf(record);
    // As a rule it is the last of them.
    const isThere = (id: string) => parsed.findLast((line) => line?.entry.id === id) || this.find(id) !== -1;
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
    // A child of the newest entry is new itself: a parent comes before its children.
    const isNew = parentId !== null && parentId === this.#tipId && id !== this.#tipId;
    if (!isNew && this.find(id) !== -1) return;
    const parent = typeof parentId === "string" ? this.find(parentId) : -1;
    const before = this.batchAfter(parent);
    const head = this.#headIn(parsed, before);
    const { opens, stays, batch } = head ? placeItem(parsed.entry, head, before) : { ...NO_PLACE, batch: before };
    this.#tip = this.records.push({
      line,
      parent,
      id,
      role: head?.role,
      internal: head?.internal ?? false,
      sameCalls: this.#sameCalls(head?.calls ?? []),
      opens,
      stays,
      isComposed: head !== undefined && isComposed(parsed.entry),
      text: head && text,
    });
    this.#tipId = id;
    this.#tipBatch = batch;
    this.#unmarked++;
  }

  commit(record: unknown, { offset, length, sum }: CommitSpan, end: number): void {
    this.#place = { offset: end, sum };
    const leafId = leafOf(record);
    if (leafId === undefined) return;
    const leaf = leafId === null ? -1 : this.find(leafId);
    this.#published = { leaf, leafId, records: this.records.length };
    if (++this.#unmarked < (this.#start.markEvery ?? MARK_EVERY)) return;
    this.records.mark({ commit: { offset, length }, leaf });
    this.#unmarked = 0;
  }

  /** The tool batch as a child of this record finds it. */
  batchAfter(at: number): ToolBatch {
    if (at !== -1 && at === this.#tip && this.#tipBatch) return this.#tipBatch;
    const { records } = this;
    let newestOpener = -1;
    for (let back = at; back !== -1; back = records.parent(back)) {
      if (records.brief(back)?.role === "assistant") {
        const calls = callsOf(this.entry(back));
        return { calls, closing: newestOpener !== -1 && this.#isResultOf(newestOpener, calls) };
      }
      if (newestOpener === -1 && records.opens(back)) newestOpener = back;
    }
    return noBatch();
  }

  #isResultOf(opener: number, calls: ReadonlyMap<string, string>): boolean {
    if (this.records.opens(opener) !== "after") return false;
    const toolCallId: unknown = this.entry(opener).message?.toolCallId;
    return typeof toolCallId === "string" && calls.has(toolCallId);
  }

  #headIn({ entry, tool }: JournalLine, batch: ToolBatch): ItemHead | undefined {
    return consolidationOf(entry) ? undefined : itemHead(entry, (id) => batch.calls.get(id) ?? tool);
  }

  /** Number of the record that stands for these calls; undefined when the one to come will. */
  #sameCalls(calls: readonly ToolRef[]): number | undefined {
    if (calls.length === 0) return -1;
    const names = namesOf(calls);
    const same = this.#standsFor.get(names);
    if (same === undefined) this.#standsFor.set(names, this.records.length);
    return same;
  }

  #line(at: number): JournalLine {
    const cached = this.#cache.get(at);
    if (cached) return cached;
    const bytes = this.read(this.records.line(at));
    const line = parsedLine(bytes);
    if (!line || (this.records.id(at) ?? line.entry.id) !== line.entry.id) throw this.#start.unfit();
    this.#cache.set(at, { ...line, bytes: bytes.length });
    this.#cachedBytes += bytes.length;
    for (const [oldest, { bytes: freed }] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES_MAX || this.#cache.size === 1) break;
      this.#cache.delete(oldest);
      this.#cachedBytes -= freed;
    }
    return line;
  }
}

function namesOf(calls: readonly ToolRef[]): string {
  return JSON.stringify(calls.map(({ name }) => name));
}
