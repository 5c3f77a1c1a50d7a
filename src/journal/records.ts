// The records of one journal in memory: entries in the order of the log, found by number or by id. Made from the sidecar,
// or grown from the log itself, with the same result. It reads no file and knows no branch.
import { type ItemRole, type ToolRef, toolRef } from "../log/item.ts";
import { JournalIds } from "./ids.ts";
import { crc32 } from "./log-crc.ts";
import type { Span } from "./log-lines.ts";
import {
  type EntryRecord,
  exactIdOf,
  FLAG,
  hashOf,
  highOf,
  idWordOf,
  kindBits,
  kindOf,
  lowOf,
  type Mark,
  NAMES_BYTES,
  RECORD_BYTES,
  RECORD_WORDS,
  readNames,
  roleBits,
  roleOf,
  WORD,
  wideOf,
  writeNames,
} from "./record.ts";
import type { SidecarContent } from "./sidecar.ts";

const ENTRY_BITS = kindBits("entry");
const NAMES_BITS = kindBits("names");
const MARK_BITS = kindBits("mark");
const FLAGS_SHIFT = 16;
const LOW_HALF = 0xffff;

export class JournalIndex {
  #words: Int32Array;
  #length = 0;
  #lastMark = -1;
  /** Of all records up to the last mark. */
  #sum: number;
  #unmarked = 0;
  /** Made when an id is first looked for. */
  #ids: JournalIds | undefined;
  /** Records of lists of names, by the list; made with the first new entry. */
  #namesAt: Map<string, number> | undefined;
  readonly #namesRecords: number[] = [];
  readonly #namesRead = new Map<number, readonly ToolRef[]>();

  constructor(logId: string) {
    this.#sum = hashOf(logId) >>> 0;
    this.#words = new Int32Array(64 * RECORD_WORDS);
  }

  /** The intact records up to the last mark; undefined when there is none. The memory is the index's from then on. */
  static load(logId: string, { memory, length }: SidecarContent): JournalIndex | undefined {
    const index = new JournalIndex(logId);
    index.#words = new Int32Array(memory.buffer, memory.byteOffset, Math.floor(memory.length / 4));
    index.#takeMarked(Math.floor(length / RECORD_BYTES));
    return index.#lastMark === -1 ? undefined : index;
  }

  /** Goes from mark to mark as long as their checksums are right. */
  #takeMarked(records: number): void {
    const words = this.#words;
    for (let at = 0; at < records; at++) {
      const kind = ((words[at * RECORD_WORDS + WORD.offsetHighAndFlags] as number) >>> FLAGS_SHIFT) & FLAG.kind;
      if (kind === NAMES_BITS) this.#namesRecords.push(at);
      if (kind !== MARK_BITS) continue;
      const sum = this.#sumUpTo(at);
      if (sum !== (words[at * RECORD_WORDS + WORD.sum] as number) >>> 0) break;
      this.#sum = sum;
      this.#lastMark = at;
      this.#length = at + 1;
    }
    while ((this.#namesRecords.at(-1) ?? -1) > this.#lastMark) this.#namesRecords.pop();
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

  /** The numbers from an entry back to one of its ancestors, which is left out; undefined when that is none. */
  chain(from: number, to: number): Int32Array | undefined {
    const words = this.#words;
    let length = 0;
    let at = from;
    // A parent stands before its children; anything else would be no chain.
    for (let next = at; at > to; at = next, length++) {
      next = (words[at * RECORD_WORDS + WORD.parent] as number) - 1;
      if (next >= at) return undefined;
    }
    if (at !== to) return undefined;
    const chain = new Int32Array(length);
    at = from;
    for (let place = length - 1; place >= 0; place--) {
      chain[place] = at;
      at = (words[at * RECORD_WORDS + WORD.parent] as number) - 1;
    }
    return chain;
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
    if (this.#length === 0) return -1;
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
    const at = this.#add(flags, record.line);
    const words = this.#words;
    const from = at * RECORD_WORDS;
    words[from + WORD.parent] = record.parent + 1;
    words[from + WORD.id] = word;
    words[from + WORD.timeLow] = lowOf(time);
    words[from + WORD.timeHigh] = highOf(time);
    words[from + WORD.names] = names + 1;
    words[from + WORD.textStart] = record.text?.offset ?? 0;
    words[from + WORD.textLength] = record.text?.length ?? 0;
    this.#ids?.add(word, at);
    this.#unmarked++;
    return at;
  }

  /** Notes a commit; one that is followed by enough entries is to be marked. */
  noteCommit(): void {
    this.#unmarked++;
  }

  mark({ commit, leaf }: Mark): void {
    const at = this.#add(kindBits("mark"), commit);
    this.#words[at * RECORD_WORDS + WORD.parent] = leaf + 1;
    this.#sum = this.#sumUpTo(at);
    this.#words[at * RECORD_WORDS + WORD.sum] = this.#sum | 0;
    this.#lastMark = at;
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

  /** A record with these words and no others yet. */
  #add(flags: number, line: Span): number {
    if ((this.#length + 1) * RECORD_WORDS > this.#words.length) {
      const grown = new Int32Array(Math.max(64, Math.ceil(this.#length * 1.5)) * RECORD_WORDS);
      grown.set(this.#words.subarray(0, this.#length * RECORD_WORDS));
      this.#words = grown;
    }
    const at = this.#length++;
    const from = at * RECORD_WORDS;
    for (let word = 0; word < RECORD_WORDS; word++) this.#words[from + word] = 0;
    this.#words[from + WORD.offsetLow] = lowOf(line.offset);
    this.#words[from + WORD.offsetHighAndFlags] = highOf(line.offset) | (flags << FLAGS_SHIFT);
    this.#words[from + WORD.length] = line.length;
    return at;
  }

  #allIds(): JournalIds {
    const ids = new JournalIds(this.#length, (at) => this.#word(at, WORD.id));
    const words = this.#words;
    for (let at = 0; at < this.#length; at++) {
      const from = at * RECORD_WORDS;
      const flags = (words[from + WORD.offsetHighAndFlags] as number) >>> FLAGS_SHIFT;
      if ((flags & FLAG.kind) === ENTRY_BITS) ids.add(words[from + WORD.id] as number, at);
    }
    return ids;
  }

  #namesRecord(names: readonly string[]): number {
    this.#namesAt ??= this.#allNames();
    const text = JSON.stringify(names);
    const known = this.#namesAt.get(text);
    if (known !== undefined) return known;
    const at = this.#length;
    this.#namesRecords.push(at);
    const bytes = Buffer.from(text, "utf8");
    for (let from = 0; from < bytes.length; from += NAMES_BYTES) {
      const part = this.#add(kindBits(from === 0 ? "names" : "more_names"), { offset: 0, length: 0 });
      writeNames(this.#words, part, bytes.subarray(from, from + NAMES_BYTES));
    }
    this.#namesAt.set(text, at);
    return at;
  }

  #namesText(at: number): string {
    const parts: Buffer[] = [];
    for (let next = at; next === at || (next < this.#length && kindOf(this.flags(next)) === "more_names"); next++) {
      parts.push(readNames(this.#words, next));
    }
    return Buffer.concat(parts).toString("utf8");
  }

  #allNames(): Map<string, number> {
    return new Map(this.#namesRecords.map((at) => [this.#namesText(at), at]));
  }
}
