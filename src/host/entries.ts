// The shapes of Pi's session log as every supported host writes them. Session files are not validated by Pi,
// so every field beyond the base is optional and unknown until a guard has looked at it.
import { isRecord } from "../shapes.ts";

/** One record of the session tree. Never changed once written. */
export interface LogEntry {
  readonly type: string;
  readonly id: string;
  readonly parentId: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly message?: LogMessage;
  /** custom and custom_message entries. */
  readonly customType?: string;
  readonly content?: unknown;
  readonly data?: unknown;
  /** custom_message and compaction entries. */
  readonly details?: unknown;
  /** compaction and branch_summary entries. */
  readonly summary?: unknown;
  readonly firstKeptEntryId?: unknown;
  /** label entries: the entry that is labelled. */
  readonly targetId?: unknown;
}

/** The message of a `message` entry; also what a `context` callback hands over (there with custom roles). */
export interface LogMessage {
  readonly role: string;
  readonly content?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp?: number;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: boolean;
  readonly details?: unknown;
  readonly usage?: unknown;
  readonly stopReason?: string;
  readonly errorMessage?: string;
  /** The id of the model that answered. */
  readonly model?: string;
  /** custom messages */
  readonly customType?: string;
  readonly display?: boolean;
  /** compactionSummary and branchSummary messages */
  readonly summary?: unknown;
  /** bashExecution messages */
  readonly command?: unknown;
  readonly output?: unknown;
  readonly exitCode?: unknown;
  readonly excludeFromContext?: unknown;
  /** system messages of 1.x: named parts of the prompt (null takes one away), and changes of the tools. */
  readonly sections?: unknown;
  readonly toolsAdded?: unknown;
  readonly toolsRemoved?: unknown;
}

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock {
  readonly type: "image";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

export interface ToolCallBlock {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** 1.x: what the model sent instead of a JSON object; `arguments` is then empty. */
  readonly argumentsError?: unknown;
}

/** Where a branch is read from: Pi's session manager, or a test's list. */
export interface EntrySource {
  leafId(): string | null;
  entry(id: string): LogEntry | undefined;
}

export function isTextBlock(block: unknown): block is TextBlock {
  return isRecord(block) && block.type === "text" && typeof block.text === "string";
}

export function isImageBlock(block: unknown): block is ImageBlock {
  return (
    isRecord(block) && block.type === "image" && typeof block.data === "string" && typeof block.mimeType === "string"
  );
}

export function isToolCallBlock(block: unknown): block is ToolCallBlock {
  return isRecord(block) && block.type === "toolCall" && typeof block.id === "string" && typeof block.name === "string";
}

/** Content as a list of blocks: a string is one text block, anything else unreadable is none. */
export function blocksOf(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

/** A batch of calls has few entries between its message and its last call. */
const CALL_SEARCH_MAX_ENTRIES = 1_000;

/** The arguments of a running call as the model sent them; undefined when its message is not on the log. */
export function sentArguments(entries: EntrySource, toolCallId: string): unknown {
  let id = entries.leafId();
  for (let looked = 0; id !== null && looked < CALL_SEARCH_MAX_ENTRIES; looked++) {
    const entry = entries.entry(id);
    if (entry?.message?.role === "assistant") {
      const call = blocksOf(entry.message.content).find((block) => isToolCallBlock(block) && block.id === toolCallId);
      return isToolCallBlock(call) ? call.arguments : undefined;
    }
    id = entry?.parentId ?? null;
  }
  return undefined;
}
