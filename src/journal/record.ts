// The fixed-size records of a journal's sidecar: what lists need to know of an entry without reading it. Pure; the layout
// is part of the file format. A mark carries the checksum of all records up to it, and no record is used that no valid
// mark follows.
import type { ItemRole } from "../log/item.ts";
import type { Span } from "./log-lines.ts";

/** 32-bit words of one record. */
export const RECORD_WORDS = 10;
export const RECORD_BYTES = RECORD_WORDS * 4;

/** Meaning of the words of an entry's record; all are little-endian. */
export const WORD = {
  offsetLow: 0,
  /** Low half: bits 32 to 47 of the offset. High half: flags. */
  offsetHighAndFlags: 1,
  length: 2,
  /** Number of the parent's record plus one; 0 without a parent. */
  parent: 3,
  /** The id itself when it is eight hex digits, else a hash of it. */
  id: 4,
  timeLow: 5,
  timeHigh: 6,
  /** Number plus one of the record that holds the names of its calls; 0 for none. */
  names: 7,
  /** Where its one text lies in the line, in bytes from the line's start; length 0 when it has not just one. */
  textStart: 8,
  textLength: 9,
  /** Of a mark: CRC-32 of everything before it, from the journal's own start value on. */
  sum: 9,
} as const;

export const FLAG = {
  kind: 0b11,
  role: 0b111 << 2,
  internal: 1 << 5,
  fromUser: 1 << 6,
  opensBefore: 1 << 7,
  opensAfter: 1 << 8,
  stays: 1 << 9,
  /** The id word is the id. */
  exactId: 1 << 10,
  /** The time words are the timestamp, in milliseconds since 1970. */
  exactTime: 1 << 11,
  /** It makes tool calls. */
  hasCalls: 1 << 12,
  /** Its text has parts that its line does not spell: a search has to render it. */
  composed: 1 << 13,
} as const;

export type RecordKind = "entry" | "names" | "more_names" | "mark";
const KINDS: readonly RecordKind[] = ["entry", "names", "more_names", "mark"];

const ROLES: readonly (ItemRole | undefined)[] = [undefined, "user", "assistant", "tool", "system", "developer"];
const ROLE_SHIFT = 2;

export function kindBits(kind: RecordKind): number {
  return KINDS.indexOf(kind);
}

export function kindOf(flags: number): RecordKind {
  return KINDS[flags & FLAG.kind] as RecordKind;
}

export function roleBits(role: ItemRole | undefined): number {
  return ROLES.indexOf(role) << ROLE_SHIFT;
}

/** Undefined for an entry that is no item. */
export function roleOf(flags: number): ItemRole | undefined {
  return ROLES[(flags & FLAG.role) >> ROLE_SHIFT];
}

const FNV_PRIME = 0x01000193;
const FNV_START = 0x811c9dc5 | 0;

export function hashOf(text: string): number {
  let hash = FNV_START;
  for (let unit = 0; unit < text.length; unit++) hash = Math.imul(hash ^ text.charCodeAt(unit), FNV_PRIME);
  return hash;
}

const EXACT_ID = /^[0-9a-f]{8}$/;

export interface IdWord {
  readonly word: number;
  readonly exact: boolean;
}

export function idWordOf(id: string): IdWord {
  return EXACT_ID.test(id) ? { word: Number.parseInt(id, 16) | 0, exact: true } : { word: hashOf(id), exact: false };
}

export function exactIdOf(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}

const HIGH = 2 ** 32;

/** The two words of a whole number below 2^48 (times may be negative, and then have no high half to share). */
export function lowOf(value: number): number {
  return value | 0;
}

export function highOf(value: number): number {
  return Math.floor(value / HIGH);
}

export function wideOf(low: number, high: number): number {
  return high * HIGH + (low >>> 0);
}

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

/** The words of a record of names that hold its text: all but that of the flags. */
const NAMES_WORDS = [0, 2, 3, 4, 5, 6, 7, 8, 9] as const;
/** A longer text goes on in the next records. */
export const NAMES_BYTES = NAMES_WORDS.length * 4;
const LOW_HALF = 0xffff;

/** Puts a text into a record whose flags are there; beside them goes the number of its bytes. */
export function writeNames(words: Int32Array, at: number, text: Buffer): void {
  const from = at * RECORD_WORDS;
  const part = Buffer.alloc(NAMES_BYTES);
  text.copy(part);
  for (const [place, word] of NAMES_WORDS.entries()) words[from + word] = part.readInt32LE(place * 4);
  words[from + WORD.offsetHighAndFlags] = (words[from + WORD.offsetHighAndFlags] as number) | text.length;
}

export function readNames(words: Int32Array, at: number): Buffer {
  const from = at * RECORD_WORDS;
  const part = Buffer.alloc(NAMES_BYTES);
  for (const [place, word] of NAMES_WORDS.entries()) part.writeInt32LE(words[from + word] as number, place * 4);
  return part.subarray(0, (words[from + WORD.offsetHighAndFlags] as number) & LOW_HALF);
}
