// Note addresses: a path of one's own, or `/root/…/notes/<path>`. Pure: it judges names and never looks at a disk.
// Whether the named agent exists is for the registry to say.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { hasLoneSurrogate, utf8Bytes } from "../storage/text.ts";
import { agentName, isAddress } from "../task/addresses.ts";

export const NOTE_SEGMENT_MAX_BYTES = 255;
export const NOTE_PATH_MAX_BYTES = 1024;

/** The segment that ends the agent's address and starts the note's path. */
const NOTES_SEGMENT = "notes";
const FORM = "Use a path of your own such as checkpoint.md, or /root/<agent>/notes/<path> for another agent's note";
const PREFIX_FORM =
  "Use the beginning of a path of your own such as check, or /root/<agent>/notes/<beginning> for another agent's notes; " +
  "leave it out for all of your own";

const CONTROL_CHARACTER = /\p{Cc}/u;
const DRIVE_LETTER = /^[a-z]:/i;
/** Names that Windows keeps for devices, with any extension; ¹²³ count as digits there. */
const RESERVED_NAME = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i;

export interface NoteAddress {
  /** Whose note it is. */
  readonly agent: string;
  /** Path below that agent's notes. */
  readonly path: string;
}

export interface NotePrefix {
  readonly agent: string;
  /** A string prefix of paths, not a directory; may be empty. */
  readonly prefix: string;
}

/** The path as every agent can use it. */
export function fullPath(agent: string, path: string): string {
  return `${agent}/${NOTES_SEGMENT}/${path}`;
}

/** A note's name for people, from any path that names one: `plan.md`, `reviewer: plan.md`. */
export function noteName(path: string): string {
  const at = path.startsWith("/") ? path.indexOf(`/${NOTES_SEGMENT}/`) : -1;
  if (at < 0 || !isAddress(path.slice(0, at))) return path;
  return `${agentName(path.slice(0, at))}: ${path.slice(at + NOTES_SEGMENT.length + 2)}`;
}

/** Why no note can have this text in its path; undefined when one can. */
function textProblem(text: string): string | undefined {
  if (hasLoneSurrogate(text)) return "it holds half of a surrogate pair, which cannot be stored";
  if (CONTROL_CHARACTER.test(text)) return "it holds a control character";
  if (text.includes("\\")) return "it holds a backslash; segments are separated by /";
  if (utf8Bytes(text) > NOTE_PATH_MAX_BYTES) return `it is over ${NOTE_PATH_MAX_BYTES} bytes long`;
  return undefined;
}

/** Why no segment can begin like this; undefined when one can. */
function beginningProblem(segment: string): string | undefined {
  if (DRIVE_LETTER.test(segment)) return `its segment ${shownValue(segment)} starts with a drive letter`;
  if (utf8Bytes(segment) > NOTE_SEGMENT_MAX_BYTES) {
    return `its segment ${shownValue(segment)} is over ${NOTE_SEGMENT_MAX_BYTES} bytes long`;
  }
  return undefined;
}

function segmentProblem(segment: string): string | undefined {
  if (segment === "") return "it has an empty segment";
  if (segment === "." || segment === "..") return `its segment ${shownValue(segment)} is not a name`;
  if (RESERVED_NAME.test(segment)) return `its segment ${shownValue(segment)} is a reserved device name on Windows`;
  return beginningProblem(segment);
}

function firstProblem(segments: readonly string[]): string | undefined {
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** What is wrong with this as a path below an agent's notes; undefined when it is one. */
export function notePathProblem(path: string): string | undefined {
  return textProblem(path) ?? firstProblem(path.split("/"));
}

/** Why no path below an agent's notes begins with this; undefined when one can. */
export function prefixProblem(prefix: string): string | undefined {
  const segments = prefix.split("/");
  const last = segments.pop() ?? "";
  return textProblem(prefix) ?? firstProblem(segments) ?? beginningProblem(last);
}

function rejected(field: string, input: string, problem: string, form: string): TokenBudgetError {
  return new TokenBudgetError("invalid_path", `${field} is ${shownValue(input)}: ${problem}. ${form}.`);
}

/** What may follow in a prefix: no path has an empty segment. */
const FROM_MARK = "//from ";

/** A prefix and the place with which its rows begin, as hints give it. */
export function prefixFrom(prefix: string | undefined, place: string): string {
  return `${prefix ?? ""}${FROM_MARK}${place}`;
}

/** A prefix as it was before a place was added, and that place. */
export function splitFrom(given: string | undefined): { readonly prefix: string | undefined; readonly from?: string } {
  const at = given?.indexOf(FROM_MARK) ?? -1;
  if (given === undefined || at < 0) return { prefix: given };
  return { prefix: at === 0 ? undefined : given.slice(0, at), from: given.slice(at + FROM_MARK.length) };
}

interface Split {
  readonly agent: string;
  /** What follows `<address>/notes/`; undefined when nothing does, not even the slash. */
  readonly rest: string | undefined;
}

/** Splits an absolute path at its first segment `notes`. */
function splitAbsolute(field: string, input: string, form: string): Split {
  const segments = input.split("/");
  const at = segments.indexOf(NOTES_SEGMENT);
  if (at < 0) throw rejected(field, input, "it starts with / but not with <agent address>/notes", form);
  const agent = segments.slice(0, at).join("/");
  if (!isAddress(agent)) {
    const problem = `${shownValue(agent)} is not an agent address such as /root or /root/reviewer`;
    throw new TokenBudgetError("invalid_address", `${field} is ${shownValue(input)}: ${problem}. ${form}.`);
  }
  return { agent, rest: at + 1 < segments.length ? segments.slice(at + 1).join("/") : undefined };
}

/** The note that `input` names for the current agent; throws with the rule it breaks. */
export function parseNotePath(input: string, currentAgent: string, field = "path"): NoteAddress {
  if (input === "") throw rejected(field, input, "it is empty", FORM);
  if (!input.startsWith("/")) {
    const problem = notePathProblem(input);
    if (problem !== undefined) throw rejected(field, input, problem, FORM);
    return { agent: currentAgent, path: input };
  }
  const { agent, rest } = splitAbsolute(field, input, FORM);
  if (!rest) throw rejected(field, input, "it names an agent's notes but no note", FORM);
  const problem = notePathProblem(rest);
  if (problem !== undefined) throw rejected(field, input, problem, FORM);
  return { agent, path: rest };
}

/** Whose notes, and which beginning of their paths, `input` names; left out it is all of the current agent's. */
export function parseNotePrefix(input: string | null | undefined, currentAgent: string, field = "prefix"): NotePrefix {
  if (input === undefined || input === null) return { agent: currentAgent, prefix: "" };
  const absolute = input.startsWith("/");
  const { agent, rest = "" } = absolute
    ? splitAbsolute(field, input, PREFIX_FORM)
    : { agent: currentAgent, rest: input };
  const problem = prefixProblem(rest);
  if (problem !== undefined) throw rejected(field, input, problem, PREFIX_FORM);
  return { agent, prefix: rest };
}
