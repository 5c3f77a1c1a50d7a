// The bytes that a journal's line must hold when the text of its entry holds a needle. Pure. It may ask for a look too
// many, never for one too few.
import type { Needle } from "../history/search.ts";

/** More patterns than this are not gone through: the entry is looked at. */
const PATTERNS_MAX = 16;

/** What is looked for in lines. Texts are JSON strings there, and a call's arguments are the JSON that is shown of them. */
export interface NeedlePatterns {
  /** In every line. */
  readonly text: Buffer;
  /** Also in lines of entries that make calls; `all` when such a line cannot tell. */
  readonly calls: readonly Buffer[] | "all";
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A match from the end of a call's name on: what of it lies in the call's id. */
function idPattern(rest: string): string {
  const end = rest.search(/\](?:\n|$)/);
  return end === -1 ? `"id":"${escaped(rest)}` : `"id":"${escaped(rest.slice(0, end))}"`;
}

/** Matches that touch the head of a call, which is shown as `[tool_call <name> <id>]` but written otherwise. */
function headPatterns(needle: string, name: string): string[] {
  const before = "[tool_call ";
  const head = `${before}${name} `;
  const patterns: string[] = [];
  for (let at = 0; at < head.length; at++) {
    const rest = head.slice(at);
    const insideName = at >= before.length && at + needle.length < head.length;
    if (rest.startsWith(needle) && !insideName) patterns.push(`"name":"${escaped(name)}"`);
    else if (needle.startsWith(rest)) patterns.push(idPattern(needle.slice(rest.length)));
  }
  return patterns;
}

function callPatterns(needle: string, names: Iterable<string>): readonly string[] | "all" {
  const patterns = new Set<string>();
  // The arguments themselves; a line break is no part of them.
  if (!needle.includes("\n") && escaped(needle) !== needle) patterns.add(needle);
  for (const name of names) {
    for (const pattern of headPatterns(needle, name)) patterns.add(pattern);
    if (patterns.size > PATTERNS_MAX) return "all";
  }
  const idEnd = needle.search(/\](?:\n|$)/);
  if (idEnd !== -1) patterns.add(`${escaped(needle.slice(0, idEnd))}"`);
  if (needle.startsWith("\n")) patterns.add(`"arguments":${needle.slice(1)}`);
  return [...patterns];
}

export function patternsOf({ text }: Needle, names: Iterable<string>): NeedlePatterns {
  const calls = callPatterns(text, names);
  return {
    text: Buffer.from(escaped(text), "utf8"),
    calls: calls === "all" ? calls : calls.map((pattern) => Buffer.from(pattern, "utf8")),
  };
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const ESCAPE_BYTES = 2;
const UNICODE_ESCAPE_BYTES = 6;

/** Whether a place in a JSON string that begins at `from` lies inside an escape, so that nothing begins there. */
export function isInsideEscape(bytes: Buffer, place: number, from: number): boolean {
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
