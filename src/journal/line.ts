// A line of the journal, and where in it the entry's text lies. Pure.
//
//   {"entry":{"type":"message","id":"1a2b3c4d","parentId":null,…}}
//   {"entry":{…},"tool":"read"}      a result whose call is before the newest tool batch names its tool
import { blocksOf, isImageBlock, isTextBlock, isToolCallBlock, type LogEntry } from "../host/entries.ts";
import { hasSystemParts } from "../log/item.ts";
import type { Span } from "./log-format.ts";

const LINE_START = '{"entry":';

/** A line of the journal in pieces. */
export function lineAround(json: string, tool: string | undefined): readonly string[] {
  return [LINE_START, json, lineEnd(tool)];
}

/** `tool` names the tool of a result whose call is before the newest batch. */
function lineEnd(tool: string | undefined): string {
  return tool === undefined ? "}" : `,"tool":${JSON.stringify(tool)}}`;
}

export interface JournalLine {
  readonly entry: LogEntry;
  readonly tool: string | undefined;
}

/** Undefined for a line that holds no entry. */
export function parsedLine(bytes: Buffer): JournalLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  const { entry, tool } = (value ?? {}) as { entry?: unknown; tool?: unknown };
  if (typeof entry !== "object" || entry === null || typeof (entry as LogEntry).id !== "string") return undefined;
  return { entry: entry as LogEntry, tool: typeof tool === "string" ? tool : undefined };
}

/** Messages whose text is not that of their content. */
const RENDERED_ROLES: ReadonlySet<string> = new Set(["bashExecution", "branchSummary", "compactionSummary"]);

/** The JSON of an entry, cut open at its only text. */
export interface CutJson {
  readonly before: string;
  /** The text itself. */
  readonly text: string;
  readonly after: string;
}

/** Placeholder of the text; no other string is exactly this. */
const PLACEHOLDER = "\u0001";
const PLACEHOLDER_JSON = JSON.stringify(PLACEHOLDER);

/** Undefined for an entry that has more or other parts than one text. */
export function cutJson(entry: LogEntry): CutJson | undefined {
  const opened = withPlaceholder(entry);
  if (!opened) return undefined;
  const json = JSON.stringify(opened.entry);
  const at = json.indexOf(PLACEHOLDER_JSON);
  if (at !== json.lastIndexOf(PLACEHOLDER_JSON)) return undefined;
  const end = at + PLACEHOLDER_JSON.length;
  return { before: json.slice(0, at + 1), text: opened.text, after: json.slice(end - 1) };
}

interface Opened<T> {
  readonly entry: T;
  readonly text: string;
}

function withPlaceholder(entry: LogEntry): Opened<LogEntry> | undefined {
  const { type, message, summary } = entry;
  if (type === "message") {
    if (!message || RENDERED_ROLES.has(message.role)) return undefined;
    const opened = contentWithPlaceholder(message.content);
    return opened && { entry: { ...entry, message: { ...message, content: opened.entry } }, text: opened.text };
  }
  if (type === "custom_message") {
    const opened = contentWithPlaceholder(entry.content);
    return opened && { entry: { ...entry, content: opened.entry }, text: opened.text };
  }
  return typeof summary === "string" ? { entry: { ...entry, summary: PLACEHOLDER }, text: summary } : undefined;
}

function contentWithPlaceholder(content: unknown): Opened<unknown> | undefined {
  if (typeof content === "string") return { entry: PLACEHOLDER, text: content };
  const blocks = blocksOf(content);
  if (blocks.some((block) => isToolCallBlock(block) || isImageBlock(block))) return undefined;
  const texts = blocks.filter(isTextBlock);
  const [only] = texts;
  if (!only || texts.length > 1) return undefined;
  const entry = blocks.map((block) => (block === only ? { ...only, text: PLACEHOLDER } : block));
  return { entry, text: only.text };
}

/** Where the only text of an entry lies in its line. */
export function textSpan(cut: CutJson | undefined, length: number, tool: string | undefined): Span | undefined {
  if (!cut || cut.text === "") return undefined;
  const offset = LINE_START.length + Buffer.byteLength(cut.before);
  return { offset, length: length - offset - Buffer.byteLength(cut.after) - Buffer.byteLength(lineEnd(tool)) };
}

const ENDS_CALL_HEAD = /[\]\n]/;

/** Whether an entry's text has parts that its line does not spell: a search has to render it. */
export function isComposed(entry: LogEntry): boolean {
  if (entry.message?.role === "bashExecution" || hasSystemParts(entry.message)) return true;
  return blocksOf(entry.message?.content).some((block) => {
    if (!isToolCallBlock(block)) return false;
    // A call without arguments is shown with `null`, which its line does not hold; one not understood has words of ours.
    if (block.arguments === undefined || block.argumentsError !== undefined) return true;
    return ENDS_CALL_HEAD.test(block.id) || ENDS_CALL_HEAD.test(block.name);
  });
}
