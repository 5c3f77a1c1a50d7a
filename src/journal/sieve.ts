// Searches a journal without parsing it: the bytes of its log are gone through once, in blocks, and only entries that may
// hold a match are read. It must never say that an item holds a match, or none, when a look at its text says otherwise.
//
// Kept for the rows "another agent, search for … in 100k entries": without it every entry is parsed.
import type { Needle } from "../history/search.ts";
import type { Span } from "./log-format.ts";
import type { JournalRecords } from "./records.ts";
import type { JournalState } from "./state.ts";

const BLOCK_BYTES = 1_048_576;

export class JournalSieve {
  readonly #state: JournalState;
  readonly #records: JournalRecords;
  /** As a JSON string has it. */
  readonly #text: Buffer;
  readonly #inCalls: readonly Buffer[] | "all";
  /** The block gone through last: the entries whose lines begin in it, and whether each holds the needle. */
  #first = 0;
  #verdicts: (boolean | undefined)[] = [];
  #buffer = Buffer.allocUnsafe(BLOCK_BYTES + BLOCK_BYTES / 4);
  #bytes: Buffer = Buffer.alloc(0);
  /** Where the block begins in the log. */
  #offset = 0;
  /** The next place of the text in the block; -1 when there is none. */
  #hit = -1;

  constructor(state: JournalState, { text }: Needle) {
    this.#state = state;
    this.#records = state.records;
    this.#text = Buffer.from(escaped(text), "utf8");
    const inCalls = callPatterns(text);
    this.#inCalls = inCalls === "all" ? inCalls : inCalls.map((pattern) => Buffer.from(pattern, "utf8"));
  }

  /** Whether the entry of a record holds a match; undefined when its text has to be looked at. */
  holds(at: number): boolean | undefined {
    if (at < this.#first || at >= this.#first + this.#verdicts.length) this.#goThroughBlockOf(at);
    return this.#verdicts[at - this.#first];
  }

  #goThroughBlockOf(at: number): void {
    const records = this.#records;
    const block = Math.floor(records.lineStart(at) / BLOCK_BYTES);
    const isIn = (other: number) =>
      !records.isEntry(other) || Math.floor(records.lineStart(other) / BLOCK_BYTES) === block;
    let first = at;
    while (first > 0 && isIn(first - 1)) first--;
    let last = at;
    while (last + 1 < records.length && isIn(last + 1)) last++;
    while (!records.isEntry(first)) first++;
    while (!records.isEntry(last)) last--;
    this.#first = first;
    this.#offset = records.lineStart(first);
    const length = records.lineEnd(last) - this.#offset;
    if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(length);
    this.#bytes = this.#state.read({ offset: this.#offset, length }, this.#buffer);
    this.#hit = this.#bytes.indexOf(this.#text);
    this.#verdicts = [];
    for (let record = first; record <= last; record++) this.#verdicts.push(this.#verdictOn(record));
  }

  #verdictOn(at: number): boolean | undefined {
    const records = this.#records;
    if (!records.isEntry(at)) return false;
    if (records.isComposed(at)) return undefined;
    const span = records.textSpan(at);
    if (span) return this.#isIn(span);
    const start = records.lineStart(at) - this.#offset;
    const end = records.lineEnd(at) - this.#offset;
    this.#hitFrom(start);
    if (this.#hit !== -1 && this.#hit < end) return undefined;
    const hasCalls = records.brief(at)?.role === "assistant" && records.sameCalls(at) !== -1;
    return hasCalls && this.#mayBeInCalls(start, end) ? undefined : false;
  }

  /** Whether the needle is in a text: not across its end, and not beginning inside an escape. */
  #isIn({ offset, length }: Span): boolean {
    const from = offset - this.#offset;
    const lastPlace = from + length - this.#text.length;
    this.#hitFrom(from);
    while (this.#hit !== -1 && this.#hit <= lastPlace) {
      if (!isInsideEscape(this.#bytes, this.#hit, from)) return true;
      this.#hitFrom(this.#hit + 1);
    }
    return false;
  }

  /** Every byte is gone through once: the next hit is only looked for when the last one is passed. */
  #hitFrom(place: number): void {
    if (this.#hit !== -1 && this.#hit < place) this.#hit = this.#bytes.indexOf(this.#text, place);
  }

  #mayBeInCalls(start: number, end: number): boolean {
    if (this.#inCalls === "all") return true;
    if (this.#inCalls.length === 0) return false;
    const line = this.#bytes.subarray(start, end);
    return this.#inCalls.some((pattern) => line.includes(pattern));
  }
}

/** More patterns than this are not gone through: the entry is looked at. */
const PATTERNS_MAX = 16;
/** A call is shown as `[tool_call <name> <id>]`, a line break, and its arguments as JSON. */
const CALL_START = "[tool_call ";

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * What a line that makes calls must hold, one or another, when their text holds the needle and the line does not hold it as
 * it is; `all` when no line can be left out.
 */
function callPatterns(needle: string): readonly string[] | "all" {
  if (CALL_START.includes(needle)) return "all";
  const patterns = new Set<string>();
  // The arguments themselves; a line break is no part of them.
  if (!needle.includes("\n") && escaped(needle) !== needle) patterns.add(needle);
  // From the start of a call into its name.
  for (let length = 1; length <= CALL_START.length; length++)
    if (needle.startsWith(CALL_START.slice(-length))) patterns.add(`"name":"${escaped(needle.slice(length))}`);
  // From the name on: behind one of its spaces begins the id, which ends before the arguments.
  for (let space = needle.indexOf(" "); space !== -1; space = needle.indexOf(" ", space + 1))
    patterns.add(`"id":"${escaped(needle.slice(space + 1).split(/\](?:\n|$)/, 1)[0] ?? "")}`);
  // From the id's end on.
  const idEnd = needle.search(/\](?:\n|$)/);
  if (idEnd !== -1) patterns.add(`${escaped(needle.slice(0, idEnd))}"`);
  if (needle.startsWith("\n")) patterns.add(`"arguments":${needle.slice(1)}`);
  return patterns.size > PATTERNS_MAX ? "all" : [...patterns];
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const ESCAPE_BYTES = 2;
const UNICODE_ESCAPE_BYTES = 6;

/** Whether a place in a JSON string that begins at `from` lies inside an escape, so that nothing begins there. */
function isInsideEscape(bytes: Buffer, place: number, from: number): boolean {
  for (let back = 1; back < UNICODE_ESCAPE_BYTES && place - back >= from; back++) {
    if (bytes[place - back] !== BACKSLASH) continue;
    let run = 1;
    while (place - back - run >= from && bytes[place - back - run] === BACKSLASH) run++;
    // Of an even run every second one is escaped itself.
    if (run % 2 === 0) return false;
    return back < (bytes[place - back + 1] === LETTER_U ? UNICODE_ESCAPE_BYTES : ESCAPE_BYTES);
  }
  return false;
}
