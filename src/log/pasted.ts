// What a person typed after what Pi pasted before it: a skill, or files named on the command line. A preview shows what was
// typed, and names what was pasted. Pure; offsets are code units of the whole text.
import { headOf, oneLine, shorten } from "../storage/text.ts";

/** `<skill name="…" location="…">` or `<file name="…">`, as every Pi writes them at the beginning of a message. */
const BLOCK_START = /^(?:<skill name="([^"\n]*)" location="[^"\n]*">\n|<file name="([^"\n]*)">)/;
/** A start is no longer than its names. */
const BLOCK_START_MAX = 10_000;

const NAMES_MAX = 2;
const NAME_MAX_CODE_POINTS = 40;

export interface Pasted {
  /** Where what was typed begins; 0 when nothing was pasted, or nothing typed behind it. */
  readonly end: number;
  /** What was pasted, as `skill "x"` or `file "y.md"`. */
  readonly names: readonly string[];
}

const NOTHING: Pasted = { end: 0, names: [] };

/** Where the block that closes with `tag` ends; the tag is at the end of its line. */
function endOfBlock(text: string, from: number, tag: string): number | undefined {
  for (let at = text.indexOf(tag, from); at !== -1; at = text.indexOf(tag, at + 1)) {
    const end = at + tag.length;
    if (end === text.length || text[end] === "\n") return end;
  }
  return undefined;
}

function notBlankFrom(text: string, from: number): number {
  const blanks = text.slice(from).search(/\S/);
  return blanks === -1 ? text.length : from + blanks;
}

function nameOf(kind: string, name: string): string {
  const last = name.split(/[\\/]/).at(-1) || name;
  return `${kind} ${JSON.stringify(shorten(oneLine(last), NAME_MAX_CODE_POINTS))}`;
}

/** The blocks at the beginning of a text that something follows. */
export function pastedBefore(text: string): Pasted {
  const names: string[] = [];
  let at = 0;
  for (;;) {
    const start = BLOCK_START.exec(text.slice(at, at + BLOCK_START_MAX));
    if (!start) break;
    const kind = start[1] === undefined ? "file" : "skill";
    const end = endOfBlock(text, at + start[0].length, `</${kind}>`);
    if (end === undefined) break;
    names.push(nameOf(kind, start[1] ?? start[2] ?? ""));
    at = notBlankFrom(text, end);
  }
  return names.length === 0 || at === text.length ? NOTHING : { end: at, names };
}

/** `skill "x", file "y.md" and 3 more`. */
export function pastedNames({ names }: Pasted): string {
  const more = names.length - NAMES_MAX;
  return `${names.slice(0, NAMES_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** The beginning of what was typed, behind the names of what was pasted: at most `codePoints` code points in all. */
export function typedHead(text: string, codePoints: number): string {
  const pasted = pastedBefore(text);
  if (pasted.end === 0) return headOf(text, codePoints);
  return headOf(`[${pastedNames(pasted)}] ${headOf(text.slice(pasted.end), codePoints)}`, codePoints);
}
