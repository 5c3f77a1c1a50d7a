// One session entry as one readable item: head (cheap, made once) and text (made when read). Pure.
import {
  blocksOf,
  type ImageBlock,
  isImageBlock,
  isTextBlock,
  isToolCallBlock,
  type LogEntry,
  type LogMessage,
  type ToolCallBlock,
} from "../host/entries.ts";
import { CodePointText } from "../storage/text.ts";
import { isInternalTool, isOwnCustomType, openerOf } from "./marks.ts";

/** The role of an item; `tool` is the result of a tool. */
export type ItemRole = "user" | "assistant" | "tool" | "system" | "developer";

/** A tool as the filters of the history tools name it. */
export interface ToolRef {
  /** `history`, `notes`, or `functions` for every other tool. */
  readonly namespace: string;
  /** The flat name the model calls. */
  readonly name: string;
}

/** What is known of an item without rendering it. */
export interface ItemHead {
  readonly id: string;
  readonly role: ItemRole;
  /** ISO 8601. */
  readonly timestamp: string;
  /** The calls an assistant item makes, or the one call a tool item answers. */
  readonly calls: readonly ToolRef[];
  /** The call an item belongs to: the id a tool item answers. */
  readonly toolCallId: string | undefined;
  /** Part of this package's own machinery, so left out of ordinary lists and searches. */
  readonly internal: boolean;
  /** A message a person sent, and not a control message that shares the user role. */
  readonly fromUser: boolean;
}

/** A stretch of an item's text that is contiguous in the entry; a search match never spans two. */
export interface TextRegion {
  /** Code-unit offsets into the item's text. */
  readonly start: number;
  readonly end: number;
  /** An internal tool call: neither previewed nor searched, but read. */
  readonly internal: boolean;
  /** The call whose rendering this is: the entry's own block. */
  readonly call: ToolCallBlock | undefined;
}

/** The text of an item, with its code-point coordinates. */
export interface ItemText {
  readonly points: CodePointText;
  readonly regions: readonly TextRegion[];
}

/** What is known of a tool by its name; for many items it is made once. */
export interface KnownTool {
  readonly internal: boolean;
  /** The calls of an item that calls this tool alone. */
  readonly alone: readonly ToolRef[];
}

export type ToolByName = (name: string) => KnownTool;

export const knownTool: ToolByName = (name) => ({ internal: isInternalTool(name), alone: [toolRef(name)] });

export function toolRef(name: string): ToolRef {
  if (name.startsWith("history_")) return { namespace: "history", name };
  if (name.startsWith("notes_")) return { namespace: "notes", name };
  return { namespace: "functions", name };
}

/** Whether a filter's tool name means this tool: with or without the namespace as its prefix. */
export function isToolNamed(tool: ToolRef, wanted: string): boolean {
  return tool.name === wanted || (tool.namespace !== "functions" && tool.name === `${tool.namespace}_${wanted}`);
}

interface Rendered {
  readonly text: string;
  readonly call?: ToolCallBlock;
}

function toolCallText({ name, id, arguments: args, argumentsError }: ToolCallBlock): string {
  const text = `[tool_call ${name} ${id}]\n${JSON.stringify(args) ?? "null"}`;
  return typeof argumentsError === "string" ? `${text}\n[arguments not understood]\n${argumentsError}` : text;
}

/** What 1.x writes of prompt and tools beside a system message's content. */
function systemParts({ sections, toolsAdded, toolsRemoved }: LogMessage): readonly Rendered[] {
  const parts: Rendered[] = [];
  const named = typeof sections === "object" && sections !== null ? Object.entries(sections) : [];
  for (const [name, text] of named)
    parts.push({ text: typeof text === "string" ? `[section ${name}]\n${text}` : `[section ${name} removed]` });
  if (Array.isArray(toolsAdded)) parts.push({ text: `[tools added]\n${JSON.stringify(toolsAdded)}` });
  if (Array.isArray(toolsRemoved)) parts.push({ text: `[tools removed]\n${JSON.stringify(toolsRemoved)}` });
  return parts;
}

/** Whether a message's text has such parts. */
export function hasSystemParts(message: LogMessage | undefined): boolean {
  return message !== undefined && systemParts(message).length > 0;
}

function bashText(message: LogMessage): string {
  const command = typeof message.command === "string" ? message.command : "";
  const output = typeof message.output === "string" ? message.output : "";
  return `$ ${command}\n${output}\n[exit ${typeof message.exitCode === "number" ? message.exitCode : "unknown"}]`;
}

function renderedBlocks(content: unknown): readonly Rendered[] {
  const rendered: Rendered[] = [];
  for (const block of blocksOf(content)) {
    if (isTextBlock(block)) rendered.push({ text: block.text });
    else if (isToolCallBlock(block)) rendered.push({ text: toolCallText(block), call: block });
  }
  return rendered;
}

function summaryText(summary: unknown): string {
  return typeof summary === "string" ? summary : "";
}

function renderedMessage(message: LogMessage): readonly Rendered[] {
  switch (message.role) {
    case "bashExecution":
      return [{ text: bashText(message) }];
    case "branchSummary":
    case "compactionSummary":
      return [{ text: summaryText(message.summary) }];
    default: {
      const blocks = renderedBlocks(message.content);
      const parts = systemParts(message);
      // An empty content is nothing before the sections.
      return parts.length === 0 ? blocks : [...blocks.filter(({ text }) => text !== ""), ...parts];
    }
  }
}

function renderedEntry(entry: LogEntry): readonly Rendered[] {
  switch (entry.type) {
    case "message":
      return entry.message ? renderedMessage(entry.message) : [];
    case "custom_message":
      return renderedBlocks(entry.content);
    case "custom": {
      const opener = openerOf(entry);
      return [{ text: opener && "details" in opener ? opener.details.bootstrap : "" }];
    }
    default:
      return [{ text: summaryText(entry.summary) }];
  }
}

/** The text of an item that is one text block: the entry's own string. Undefined for any other. */
export function ownText(entry: LogEntry): string | undefined {
  const content = ownContent(entry);
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  let own: string | undefined;
  for (const block of content) {
    if (isToolCallBlock(block) || (isTextBlock(block) && own !== undefined)) return undefined;
    if (isTextBlock(block)) own = block.text;
  }
  return own ?? "";
}

/** The content of an item whose text is that of its blocks alone. */
function ownContent({ type, message, content }: LogEntry): unknown {
  if (type === "custom_message") return content;
  if (type !== "message" || !message || message.sections || message.toolsAdded || message.toolsRemoved)
    return undefined;
  const { role } = message;
  const isOther = role === "bashExecution" || role === "branchSummary" || role === "compactionSummary";
  return isOther ? undefined : message.content;
}

/** The whole text of an item. A single block is the entry's own string, not a copy. */
export function itemText(entry: LogEntry): ItemText {
  const rendered = renderedEntry(entry);
  const regions: TextRegion[] = [];
  let start = 0;
  for (const { text, call } of rendered) {
    regions.push({ start, end: start + text.length, internal: call !== undefined && isInternalTool(call.name), call });
    start += text.length + 1;
  }
  const only = rendered.length === 1 ? rendered[0] : undefined;
  const text = only ? only.text : rendered.map((block) => block.text).join("\n");
  return { points: new CodePointText(text), regions };
}

/** The images of an item, in the order of its blocks. */
export function itemImages(entry: LogEntry): readonly ImageBlock[] {
  const content = entry.type === "message" ? entry.message?.content : entry.content;
  return Array.isArray(content) ? content.filter(isImageBlock) : [];
}

/** Size of an image's decoded bytes. */
export function imageBytes(image: ImageBlock): number {
  return Buffer.byteLength(image.data, "base64");
}

/** Session files are not validated, so a name may be anything. */
function stringOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const NO_CALLS: readonly ToolRef[] = [];

/** Made for every entry of a long branch when it is opened: always the same object shape, and no temporaries. */
function head(
  { id, timestamp }: LogEntry,
  role: ItemRole,
  internal: boolean,
  calls: readonly ToolRef[] = NO_CALLS,
  toolCallId: string | undefined = undefined,
  fromUser = false,
): ItemHead {
  return { id, role, timestamp, calls, toolCallId, internal, fromUser };
}

function answerHead(entry: LogEntry, { content }: LogMessage, toolNamed: ToolByName): ItemHead {
  let calls = NO_CALLS;
  let several: ToolRef[] | undefined;
  let internal = true;
  for (const block of blocksOf(content)) {
    if (isToolCallBlock(block)) {
      const tool = toolNamed(block.name);
      if (calls.length > 0) {
        several ??= [...calls];
        several.push(...tool.alone);
      }
      calls = several ?? tool.alone;
      internal &&= tool.internal;
    } else if (isTextBlock(block) && block.text !== "") internal = false;
  }
  return head(entry, "assistant", internal && calls.length > 0, calls);
}

function resultHead(entry: LogEntry, message: LogMessage, nameOfCall: NameOfCall, toolNamed: ToolByName): ItemHead {
  const toolCallId = stringOrNone(message.toolCallId);
  const linked = toolCallId === undefined ? undefined : nameOfCall(toolCallId);
  const name = linked ?? stringOrNone(message.toolName);
  if (name === undefined) return head(entry, "tool", false, NO_CALLS, toolCallId);
  const { internal, alone } = toolNamed(name);
  return head(entry, "tool", internal, alone, toolCallId);
}

function messageHead(
  entry: LogEntry,
  message: LogMessage,
  nameOfCall: NameOfCall,
  toolNamed: ToolByName,
): ItemHead | undefined {
  switch (message.role) {
    case "toolResult":
      return resultHead(entry, message, nameOfCall, toolNamed);
    case "assistant":
      return answerHead(entry, message, toolNamed);
    case "user":
      return head(entry, "user", isOwnCustomType(message.customType), NO_CALLS, undefined, true);
    case "bashExecution":
    case "custom":
    case "branchSummary":
    case "compactionSummary":
      return head(entry, "user", isOwnCustomType(message.customType));
    case "system":
    case "developer":
      return head(entry, message.role, true);
    default:
      return undefined;
  }
}

/** The name of a call that was made before, by its id. */
type NameOfCall = (toolCallId: string) => string | undefined;

/** The head of the item an entry is; undefined for entries that carry no content. */
export function itemHead(entry: LogEntry, nameOfCall: NameOfCall, toolNamed = knownTool): ItemHead | undefined {
  switch (entry.type) {
    case "message":
      return entry.message ? messageHead(entry, entry.message, nameOfCall, toolNamed) : undefined;
    case "custom_message":
      return head(entry, "user", isOwnCustomType(entry.customType));
    case "compaction":
      return head(entry, "user", typeof (entry.details as { opens?: unknown } | undefined)?.opens === "string");
    case "custom":
      // As an item it is what its window starts from; no other data entry is one.
      return openerOf(entry) && head(entry, "user", true);
    case "branch_summary":
      return head(entry, "user", false);
    default:
      return undefined;
  }
}
