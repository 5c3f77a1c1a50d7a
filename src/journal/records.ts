// The packed index of a journal: a record of 32 bytes for each entry says where its line is and what lists and searches ask
// of it; a mark, now and then, says up to which commit all of this is right. It is made from `journal.index`, or grown from
// the log itself, and then says the same. It reads no file.
//
// Kept for the row "another agent, newest 50 of a journal of 100k entries" and for the memory of readers: without it, every
// entry is parsed and held before the first one is shown.
import type { ItemHead, ItemRole } from "../log/item.ts";
import type { ItemPlace } from "../log/item-place.ts";
import { JournalIds } from "./ids.ts";
import { crc32, type Span } from "./log-format.ts";

/** 32-bit words of a record. The layout is the file's: another one is another `INDEX_VERSION`. */
const WORDS = 8;
export const RECORD_BYTES = WORDS * 4;

/** Meaning of the words of an entry's record; all are little-endian. */
const WORD = {
  offsetLow: 0,
  /** Low half: bits 32 to 47 of the offset. High half: flags. */
  offsetHighAndFlags: 1,
  length: 2,
  /** Number of the parent's record plus one; 0 without a parent. Of a mark: of the leaf's. */
  parent: 3,
  /** The id itself when it is eight hex digits, else a hash of it. */
  id: 4,
  /** Number plus one of an earlier record whose entry has the same calls, or its own; 0 without calls. */
  calls: 5,
  /** Where its one text lies in the line, in bytes from the line's start; length 0 when it has not just one. */
  textStart: 6,
  textLength: 7,
  /** Of a mark: CRC-32 of everything before it, from the journal's own start value on. */
  sum: 7,
} as const;

const FLAG = {
  /** A record is a mark or an entry's. */
  mark: 1,
  role: 0b111 << 1,
  internal: 1 << 4,
  /** Role and internal. */
  brief: 0b1111 << 1,
  opensBefore: 1 << 5,
  opensAfter: 1 << 6,
  stays: 1 << 7,
  /** The id word is the id. */
  exactId: 1 << 8,
  /** Its text has parts that its line does not spell: a search has to render it. */
  composed: 1 << 9,
} as const;

const ROLES: readonly (ItemRole | undefined)[] = [undefined, "user", "assistant", "tool", "system", "developer"];
const BRIEF_SHIFT = 1;

export type Brief = Pick<ItemHead, "role" | "internal">;

/** There are few, by the bits of a record: made once. */
const BRIEFS: readonly (Brief | undefined)[] = [false, true].flatMap((internal) =>
  Array.from({ length: 8 }, (_, bits) => ROLES[bits] && { role: ROLES[bits], internal }),
);

const FLAGS_SHIFT = 16;
const LOW_HALF = 0xffff;
const HIGH = 2 ** 32;

const FNV_PRIME = 0x01000193;
const FNV_START = 0x811c9dc5 | 0;
const EXACT_ID = /^[0-9a-f]{8}$/;

function hashOf(text: string): number {
  let hash = FNV_START;
  for (let unit = 0; unit < text.length; unit++) hash = Math.imul(hash ^ text.charCodeAt(unit), FNV_PRIME);
  return hash;
}

function idWordOf(id: string): { readonly word: number; readonly exact: boolean } {
  return EXACT_ID.test(id) ? { word: Number.parseInt(id, 16) | 0, exact: true } : { word: hashOf(id), exact: false };
}

/** An entry as its record keeps it. */
export interface EntryRecord extends Pick<ItemPlace, "opens" | "stays"> {
  readonly line: Span;
  /** Number of the parent's record; -1 without one. */
  readonly parent: number;
  readonly id: string;
  /** Undefined for an entry that is no item. */
  readonly role: ItemRole | undefined;
  readonly internal: boolean;
  /** Number of an earlier record whose entry has the same calls; -1 without calls, undefined when none is known. */
  readonly sameCalls: number | undefined;
  readonly isComposed: boolean;
  /** Its only text, in bytes from the line's start. */
  readonly text: Span | undefined;
}

/** A commit, from which reading continues. */
export interface Mark {
  /** The commit's line. */
  readonly commit: Span;
  /** Number of the leaf's record; -1 for an empty branch. */
  readonly leaf: number;
}

export class JournalRecords {
  #words: Int32Array = new Int32Array(64 * WORDS);
  #length = 0;
  #lastMark = -1;
  /** Of all records up to the last mark. */
  #sum: number;
  /** Made when an id is first looked for. */
  #ids: JournalIds | undefined;

  constructor(logId: string) {
    this.#sum = hashOf(logId) >>> 0;
  }

  /** The intact records up to the last mark; undefined when there is none. The memory is theirs from then on. */
  static load(logId: string, { memory, length }: { memory: Buffer; length: number }): JournalRecords | undefined {
    const records = new JournalRecords(logId);
    records.#words = new Int32Array(memory.buffer, memory.byteOffset, Math.floor(memory.length / 4));
    // From mark to mark as long as their checksums are right.
    for (let at = 0; at < Math.floor(length / RECORD_BYTES); at++) {
      if (records.isEntry(at)) continue;
      const sum = records.#sumUpTo(at);
      if (sum !== records.#word(at, WORD.sum) >>> 0) break;
      records.#sum = sum;
      records.#lastMark = at;
      records.#length = at + 1;
    }
    return records.#lastMark === -1 ? undefined : records;
  }

  /** The checksum of everything before a mark, its own words included but the sum. */
  #sumUpTo(mark: number): number {
    return crc32(this.bytes(this.#lastMark + 1, mark + 1).subarray(0, -4), this.#sum);
  }

  /** Number of records, of whatever kind. */
  get length(): number {
    return this.#length;
  }

  get lastMark(): Mark | undefined {
    return this.#lastMark === -1 ? undefined : { commit: this.line(this.#lastMark), leaf: this.parent(this.#lastMark) };
  }

  /** Records up to the last mark and with it. */
  get marked(): number {
    return this.#lastMark + 1;
  }

  /** Whether an entry with this id may be there; for no id, whether there is no entry. */
  isAt(at: number, id: string | null): boolean {
    return id === null ? at === -1 : at !== -1 && this.isEntry(at) && (this.id(at) ?? id) === id;
  }

  isEntry(at: number): boolean {
    return (this.#flags(at) & FLAG.mark) === 0;
  }

  /** Undefined for an entry that is no item. */
  brief(at: number): Brief | undefined {
    return BRIEFS[(this.#flags(at) & FLAG.brief) >> BRIEF_SHIFT];
  }

  /** Whether a window starts with the entry itself, or right behind it. */
  opens(at: number): ItemPlace["opens"] {
    const flags = this.#flags(at);
    if (flags & FLAG.opensBefore) return "before";
    return flags & FLAG.opensAfter ? "after" : undefined;
  }

  stays(at: number): boolean {
    return (this.#flags(at) & FLAG.stays) !== 0;
  }

  isComposed(at: number): boolean {
    return (this.#flags(at) & FLAG.composed) !== 0;
  }

  line(at: number): Span {
    return { offset: this.lineStart(at), length: this.#word(at, WORD.length) };
  }

  lineStart(at: number): number {
    return (this.#word(at, WORD.offsetHighAndFlags) & LOW_HALF) * HIGH + (this.#word(at, WORD.offsetLow) >>> 0);
  }

  lineEnd(at: number): number {
    return this.lineStart(at) + this.#word(at, WORD.length);
  }

  /** -1 without one. */
  parent(at: number): number {
    return this.#word(at, WORD.parent) - 1;
  }

  /** Undefined when the entry has to be asked. */
  id(at: number): string | undefined {
    if (!(this.#flags(at) & FLAG.exactId)) return undefined;
    return (this.#word(at, WORD.id) >>> 0).toString(16).padStart(8, "0");
  }

  textSpan(at: number): Span | undefined {
    const length = this.#word(at, WORD.textLength);
    return length === 0 ? undefined : { offset: this.lineStart(at) + this.#word(at, WORD.textStart), length };
  }

  /** Number of an earlier record whose entry has the same calls, or its own; -1 without calls. */
  sameCalls(at: number): number {
    return this.#word(at, WORD.calls) - 1;
  }

  /** The number of the first entry with this id; -1 when there is none. `idAt` is asked for ids that records do not hold. */
  find(id: string, idAt: (at: number) => string): number {
    if (this.#length === 0) return -1;
    this.#ids ??= this.#allIds();
    const { word, exact } = idWordOf(id);
    return this.#ids.find(word, (at) => {
      if (this.#word(at, WORD.id) !== word || exact !== (this.id(at) !== undefined)) return false;
      return exact || idAt(at) === id;
    });
  }

  #allIds(): JournalIds {
    const ids = new JournalIds(this.#length, (at) => this.#word(at, WORD.id));
    for (let at = 0; at < this.#length; at++) if (this.isEntry(at)) ids.add(this.#word(at, WORD.id), at);
    return ids;
  }

  push({ line, parent, id, role, internal, sameCalls, opens, stays, isComposed, text }: EntryRecord): number {
    const { word, exact } = idWordOf(id);
    const flags =
      (ROLES.indexOf(role) << BRIEF_SHIFT) |
      (internal ? FLAG.internal : 0) |
      (opens === "before" ? FLAG.opensBefore : 0) |
      (opens === "after" ? FLAG.opensAfter : 0) |
      (stays ? FLAG.stays : 0) |
      (exact ? FLAG.exactId : 0) |
      (isComposed ? FLAG.composed : 0);
    const at = this.#add(flags, line);
    this.#set(at, WORD.parent, parent + 1);
    this.#set(at, WORD.id, word);
    this.#set(at, WORD.calls, (sameCalls ?? at) + 1);
    this.#set(at, WORD.textStart, text?.offset ?? 0);
    this.#set(at, WORD.textLength, text?.length ?? 0);
    this.#ids?.add(word, at);
    return at;
  }

  mark({ commit, leaf }: Mark): void {
    const at = this.#add(FLAG.mark, commit);
    this.#set(at, WORD.parent, leaf + 1);
    this.#sum = this.#sumUpTo(at);
    this.#set(at, WORD.sum, this.#sum);
    this.#lastMark = at;
  }

  /** The records from one number to another as bytes of the file. */
  bytes(from: number, to: number): Uint8Array {
    const { buffer, byteOffset } = this.#words;
    return new Uint8Array(buffer, byteOffset + from * RECORD_BYTES, (to - from) * RECORD_BYTES);
  }

  #word(at: number, word: number): number {
    return this.#words[at * WORDS + word] as number;
  }

  #set(at: number, word: number, value: number): void {
    this.#words[at * WORDS + word] = value;
  }

  #flags(at: number): number {
    return this.#word(at, WORD.offsetHighAndFlags) >>> FLAGS_SHIFT;
  }

  /** A record with these words and no others yet. */
  #add(flags: number, { offset, length }: Span): number {
    if ((this.#length + 1) * WORDS > this.#words.length) {
      const grown = new Int32Array(Math.max(64, Math.ceil(this.#length * 1.5)) * WORDS);
      grown.set(this.#words.subarray(0, this.#length * WORDS));
      this.#words = grown;
    }
    const at = this.#length++;
    this.#words.fill(0, at * WORDS, (at + 1) * WORDS);
    this.#set(at, WORD.offsetLow, offset | 0);
    this.#set(at, WORD.offsetHighAndFlags, Math.floor(offset / HIGH) | (flags << FLAGS_SHIFT));
    this.#set(at, WORD.length, length);
    return at;
  }
}
