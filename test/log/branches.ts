// Session logs for tests, with entries as Pi writes them. A log is an entry source, and a tree: `goTo` moves the leaf.
import type { EntrySource, LogEntry, LogMessage } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";
import { OPENED_ENTRY, type OpenerCause, type OpenerDetails, WINDOW_MESSAGE } from "../../src/log/marks.ts";

const STARTED_AT = Date.parse("2026-03-01T09:00:00.000Z");
const SECOND_MS = 1_000;

export function text(value: string) {
  return { type: "text", text: value } as const;
}

export function call(id: string, name: string, args: unknown = {}) {
  return { type: "toolCall", id, name, arguments: args } as const;
}

/** A one-pixel PNG, or any bytes under any type. */
export function image(bytes = "pixel", mimeType = "image/png") {
  return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType } as const;
}

export function openerDetails(number: number, cause: OpenerCause = "new_context"): OpenerDetails {
  return {
    opens: `w${number}`,
    number,
    previous: `w${number - 1}`,
    cause,
    bootstrap: `You are in a fresh window, w${number}.`,
    bootstrapTimestamp: STARTED_AT,
  };
}

export class TestLog implements EntrySource {
  readonly entries: LogEntry[] = [];
  readonly #byId = new Map<string, LogEntry>();
  #leaf: string | null = null;

  leafId(): string | null {
    return this.#leaf;
  }

  entry(id: string): LogEntry | undefined {
    return this.#byId.get(id);
  }

  goTo(id: string | null): void {
    this.#leaf = id;
  }

  /** Appends whatever fields an entry has, well formed or not; answers its id. */
  add(fields: Readonly<Record<string, unknown>>): string {
    const number = this.entries.length + 1;
    const entry = {
      id: number.toString(16).padStart(8, "0"),
      parentId: this.#leaf,
      timestamp: new Date(STARTED_AT + number * SECOND_MS).toISOString(),
      ...fields,
    } as unknown as LogEntry;
    this.entries.push(entry);
    this.#byId.set(entry.id, entry);
    this.#leaf = entry.id;
    return entry.id;
  }

  message(message: Partial<LogMessage> & Readonly<Record<string, unknown>>): string {
    const timestamp = STARTED_AT + this.entries.length * SECOND_MS;
    return this.add({ type: "message", message: { timestamp, ...message } });
  }

  user(content: unknown): string {
    return this.message({ role: "user", content });
  }

  assistant(...content: readonly unknown[]): string {
    const stopReason = content.some((block) => (block as { type?: string }).type === "toolCall") ? "toolUse" : "stop";
    return this.message({ role: "assistant", content, api: "test", provider: "test", model: "test", stopReason });
  }

  result(toolCallId: string, toolName: string, content: unknown, details?: unknown): string {
    const blocks = typeof content === "string" ? [text(content)] : content;
    return this.message({ role: "toolResult", toolCallId, toolName, content: blocks, details, isError: false });
  }

  bash(command: string, output: string, exitCode: number | undefined = 0): string {
    return this.message({ role: "bashExecution", command, output, exitCode, cancelled: false, truncated: false });
  }

  customMessage(customType: string, content: unknown, details?: unknown): string {
    return this.add({ type: "custom_message", customType, content, details, display: true });
  }

  custom(customType: string, data?: unknown): string {
    return this.add({ type: "custom", customType, data });
  }

  compaction(summary: string, details?: unknown): string {
    return this.add({ type: "compaction", summary, details, firstKeptEntryId: "none", tokensBefore: 100 });
  }

  branchSummary(summary: string): string {
    return this.add({ type: "branch_summary", summary, fromId: "root" });
  }

  /** A whole tool turn that opens a window. */
  newContext(number: number, toolCallId = `open-${number}`): string {
    this.assistant(call(toolCallId, "new_context"));
    return this.result(toolCallId, "new_context", `{"opened":true,"window_id":"w${number}"}`, openerDetails(number));
  }

  openingEntry(number: number): string {
    return this.custom(OPENED_ENTRY, openerDetails(number, "without_note"));
  }

  openingMessage(number: number, cause: OpenerCause = "context_new"): string {
    return this.customMessage(WINDOW_MESSAGE, "You are in a fresh window.", openerDetails(number, cause));
  }
}

/** The index of a log's branch, read in one go. */
export function indexOf(source: EntrySource): BranchIndex {
  const index = new BranchIndex();
  index.catchUp(source);
  return index;
}
