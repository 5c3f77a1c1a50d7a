// The records of one journal in memory: entries in the order of the log, found by number or by id. Made from the sidecar,
// or grown from the log itself, with the same result. It reads no file and knows no branch.
import { type ItemRole, type ToolRef, toolRef } from "../log/item.ts";
import type { Span } from "../storage/append-log-lines.ts";
import { JournalIds } from "./journal-ids.ts";
import {
  exactIdOf,
  FLAG,
  hashOf,
  highOf,
  idWordOf,
  isIntact,
  kindBits,
  kindOf,
  lowOf,
  RECORD_BYTES,
  RECORD_WORDS,
  roleBits,
  roleOf,
  seal,
  WORD,
  wideOf,
} from "./journal-record.ts";

/** An entry as its record keeps it. */
export interface EntryRecord {
  readonly line: Span;
  /** Number of the parent's record; -1 without one. */
  readonly parent: number;
  readonly id: string;
  /** Milliseconds since 1970; undefined when the timestamp is not just that. */
  readonly time: number | undefined;
  /** Undefined for an entry that is no item. */
  readonly role: ItemRole | undefined;
  readonly internal: boolean;
  readonly fromUser: boolean;
  readonly opens: "before" | "after" | undefined;
  readonly stays: boolean;
  /** Names of the calls it makes, or of the one it answers. */
  readonly names: readonly string[];
  readonly composed: boolean;
  /** Its only text, in bytes from the line's start. */
  readonly text: Span | undefined;
}

/** A commit, from which reading goes on. */
export interface Mark {
  /** The commit's line. */
  readonly commit: Span;
  /** Number of the leaf's record; -1 for an empty branch. */
  readonly leaf: number;
}

const NAMES_WORDS = [0, 2, 3, 4, 5, 6, 7, 8, 9] as const;
const NAMES_BYTES = NAMES_WORDS.length * 4;
const FLAGS_SHIFT = 16;
const LOW_HALF = 0xffff;

export class JournalIndex {
  readonly #seed: number;
  #words: Int32Array;
  #length = 0;
  #lastMark = -1;
  #unmarked = 0;
  /** Made when an id is first looked for. */
  #ids: JournalIds | undefined;
  /** Records of lists of names, by the list; made with the first new entry. */
  #namesAt: Map<string, number> | undefined;
  readonly #namesRead = new Map<number, readonly ToolRef[]>();

  constructor(logId: string) {
    this.#seed = hashOf(logId);
    this.#words = new Int32Array(64 * RECORD_WORDS);
  }

  /** The intact records up to the last mark; undefined when there is none. */
  static load(logId: string, content: Buffer): JournalIndex | undefined {
    const index = new JournalIndex(logId);
    const records = Math.floor(content.length / RECORD_BYTES);
    const aligned = content.byteOffset % 4 === 0 ? content : Buffer.from(Uint8Array.from(content).buffer);
    const words = new Int32Array(aligned.buffer, aligned.byteOffset, records * RECORD_WORDS);
    let last = -1;
    for (let at = 0; at < records; at++) {
      const from = at * RECORD_WORDS;
      if (!isIntact(words, at, index.#seed)) break;
      const kind = kindOf((words[from + WORD.offsetHighAndFlags] as number) >>> FLAGS_SHIFT);
      // A parent stands before its children, so every walk along parents ends.
      if ((kind === "entry" || kind === "mark") && (words[from + WORD.parent] as number) > at) break;
      if (kind === "mark") last = at;
    }
    if (last === -1) return undefined;
    index.#words = words;
    index.#length = last + 1;
    index.#lastMark = last;
    return index;
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

  /** Entries and commits since the last mark. */
  get unmarked(): number {
    return this.#unmarked;
  }

  flags(at: number): number {
    return this.#word(at, WORD.offsetHighAndFlags) >>> FLAGS_SHIFT;
  }

  isEntry(at: number): boolean {
    return kindOf(this.flags(at)) === "entry";
  }

  role(at: number): ItemRole | undefined {
    return roleOf(this.flags(at));
  }

  line(at: number): Span {
    return { offset: this.lineStart(at), length: this.#word(at, WORD.length) };
  }

  lineStart(at: number): number {
    const high = this.#word(at, WORD.offsetHighAndFlags) & LOW_HALF;
    return wideOf(this.#word(at, WORD.offsetLow), high);
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
    return this.flags(at) & FLAG.exactId ? exactIdOf(this.#word(at, WORD.id)) : undefined;
  }

  /** ISO 8601; undefined when the entry has to be asked. */
  timestamp(at: number): string | undefined {
    if (!(this.flags(at) & FLAG.exactTime)) return undefined;
    return new Date(wideOf(this.#word(at, WORD.timeLow), this.#word(at, WORD.timeHigh))).toISOString();
  }

  textSpan(at: number): Span | undefined {
    const length = this.#word(at, WORD.textLength);
    return length === 0 ? undefined : { offset: this.lineStart(at) + this.#word(at, WORD.textStart), length };
  }

  calls(at: number): readonly ToolRef[] {
    const names = this.#word(at, WORD.names) - 1;
    if (names === -1) return [];
    const known = this.#namesRead.get(names);
    if (known) return known;
    const read = (JSON.parse(this.#namesText(names)) as string[]).map(toolRef);
    this.#namesRead.set(names, read);
    return read;
  }

  /** Every name of a called tool there is. */
  toolNames(): ReadonlySet<string> {
    this.#namesAt ??= this.#allNames();
    return new Set([...this.#namesAt.keys()].flatMap((list) => JSON.parse(list) as string[]));
  }

  /** The number of the first entry with this id; `idAt` is asked for ids that the record does not hold. */
  find(id: string, idAt: (at: number) => string): number {
    this.#ids ??= this.#allIds();
    const { word, exact } = idWordOf(id);
    return this.#ids.find(word, (at) => {
      if (this.#word(at, WORD.id) !== word || exact !== Boolean(this.flags(at) & FLAG.exactId)) return false;
      return exact || idAt(at) === id;
    });
  }

  push(record: EntryRecord): number {
    const names = record.names.length === 0 ? -1 : this.#namesRecord(record.names);
    const { word, exact } = idWordOf(record.id);
    const flags =
      kindBits("entry") |
      roleBits(record.role) |
      (record.internal ? FLAG.internal : 0) |
      (record.fromUser ? FLAG.fromUser : 0) |
      (record.opens === "before" ? FLAG.opensBefore : 0) |
      (record.opens === "after" ? FLAG.opensAfter : 0) |
      (record.stays ? FLAG.stays : 0) |
      (exact ? FLAG.exactId : 0) |
      (record.time === undefined ? 0 : FLAG.exactTime) |
      (record.role === "assistant" && record.names.length > 0 ? FLAG.hasCalls : 0) |
      (record.composed ? FLAG.composed : 0);
    const time = record.time ?? 0;
    const at = this.#add(flags, record.line, {
      [WORD.parent]: record.parent + 1,
      [WORD.id]: word,
      [WORD.timeLow]: lowOf(time),
      [WORD.timeHigh]: highOf(time),
      [WORD.names]: names + 1,
      [WORD.textStart]: record.text?.offset ?? 0,
      [WORD.textLength]: record.text?.length ?? 0,
    });
    this.#ids?.add(word, at);
    this.#unmarked++;
    return at;
  }

  /** Notes a commit; one that is followed by enough entries is to be marked. */
  noteCommit(): void {
    this.#unmarked++;
  }

  mark({ commit, leaf }: Mark): void {
    this.#lastMark = this.#add(kindBits("mark"), commit, { [WORD.parent]: leaf + 1 });
    this.#unmarked = 0;
  }

  /** The records from one number to another as bytes of the sidecar. */
  bytes(from: number, to: number): Uint8Array {
    const { buffer, byteOffset } = this.#words;
    return new Uint8Array(buffer, byteOffset + from * RECORD_BYTES, (to - from) * RECORD_BYTES);
  }

  #word(at: number, word: number): number {
    return this.#words[at * RECORD_WORDS + word] as number;
  }

  #add(flags: number, line: Span, words: Readonly<Record<number, number>>): number {
    if ((this.#length + 1) * RECORD_WORDS > this.#words.length) {
      const grown = new Int32Array(Math.max(64, Math.ceil(this.#length * 1.5)) * RECORD_WORDS);
      grown.set(this.#words.subarray(0, this.#length * RECORD_WORDS));
      this.#words = grown;
    }
    const at = this.#length++;
    const from = at * RECORD_WORDS;
    this.#words.fill(0, from, from + RECORD_WORDS);
    this.#words[from + WORD.offsetLow] = lowOf(line.offset);
    this.#words[from + WORD.offsetHighAndFlags] = highOf(line.offset) | (flags << FLAGS_SHIFT);
    this.#words[from + WORD.length] = line.length;
    for (const word in words) this.#words[from + Number(word)] = words[word] as number;
    seal(this.#words, at, this.#seed);
    return at;
  }

  #allIds(): JournalIds {
    const ids = new JournalIds(this.#length);
    for (let at = 0; at < this.#length; at++) if (this.isEntry(at)) ids.add(this.#word(at, WORD.id), at);
    return ids;
  }

  #namesRecord(names: readonly string[]): number {
    this.#namesAt ??= this.#allNames();
    const text = JSON.stringify(names);
    const known = this.#namesAt.get(text);
    if (known !== undefined) return known;
    const at = this.#length;
    const bytes = Buffer.from(text, "utf8");
    for (let from = 0; from < bytes.length; from += NAMES_BYTES) {
      const part = Buffer.alloc(NAMES_BYTES);
      bytes.copy(part, 0, from);
      const words: Record<number, number> = {};
      for (const [place, word] of NAMES_WORDS.entries()) words[word] = part.readInt32LE(place * 4);
      this.#addNames(from === 0 ? "names" : "more_names", Math.min(NAMES_BYTES, bytes.length - from), words);
    }
    this.#namesAt.set(text, at);
    return at;
  }

  /** The text takes every word but that of the flags, whose low half is the number of its bytes here. */
  #addNames(kind: "names" | "more_names", bytes: number, words: Record<number, number>): void {
    const line = { offset: wideOf(words[WORD.offsetLow] ?? 0, bytes), length: words[WORD.length] ?? 0 };
    this.#add(kindBits(kind), line, words);
  }

  #namesText(at: number): string {
    const parts: Buffer[] = [];
    for (let next = at; next === at || (next < this.#length && kindOf(this.flags(next)) === "more_names"); next++) {
      const part = Buffer.alloc(NAMES_BYTES);
      for (const [place, word] of NAMES_WORDS.entries()) part.writeInt32LE(this.#word(next, word), place * 4);
      parts.push(part.subarray(0, this.#word(next, WORD.offsetHighAndFlags) & LOW_HALF));
    }
    return Buffer.concat(parts).toString("utf8");
  }

  #allNames(): Map<string, number> {
    const names = new Map<string, number>();
    for (let at = 0; at < this.#length; at++) {
      if (kindOf(this.flags(at)) === "names") names.set(this.#namesText(at), at);
    }
    return names;
  }
}
