// What a journal's record says of an entry, told from the entry, its line, and the tool batch before it. Pure, and a
// function of the log alone, so that a rebuilt sidecar is the one that was lost.
import { blocksOf, isImageBlock, isTextBlock, isToolCallBlock, type LogEntry } from "../host/entries.ts";
import { hasSystemParts, itemHead } from "../log/item.ts";
import { consolidationOf } from "../log/marks.ts";
import { type Placing, placeItem, type ToolBatch } from "../log/placing.ts";
import type { Span } from "../storage/append-log-lines.ts";
import type { EntryRecord } from "./journal-record.ts";

const LINE_START = '{"entry":';

/** A line of the journal in pieces. `tool` names the tool of a result whose call is before the newest batch. */
export function lineOf({ entry, tool }: JournalLine): readonly string[] {
  const end = tool === undefined ? "}" : `,"tool":${JSON.stringify(tool)}}`;
  return [LINE_START, JSON.stringify(entry), end];
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

/** The entry with its only text left out; undefined when it has more or other parts than that one text. */
function withoutText(entry: LogEntry): LogEntry | undefined {
  if (entry.type === "message") {
    if (!entry.message || RENDERED_ROLES.has(entry.message.role)) return undefined;
    const content = contentWithoutText(entry.message.content);
    return content === undefined ? undefined : { ...entry, message: { ...entry.message, content } };
  }
  if (entry.type === "custom_message") {
    const content = contentWithoutText(entry.content);
    return content === undefined ? undefined : { ...entry, content };
  }
  return typeof entry.summary === "string" ? { ...entry, summary: "" } : undefined;
}

function contentWithoutText(content: unknown): unknown {
  if (typeof content === "string") return "";
  const blocks = blocksOf(content);
  const texts = blocks.filter(isTextBlock).length;
  if (texts !== 1 || blocks.some((block) => isToolCallBlock(block) || isImageBlock(block))) return undefined;
  return blocks.map((block) => (isTextBlock(block) ? { ...block, text: "" } : block));
}

/** Where the only text of an entry lies in its line; the line without the text ends and begins like the line with it. */
function textSpan(entry: LogEntry, line: Buffer, tool: string | undefined): Span | undefined {
  const bare = withoutText(entry);
  if (!bare) return undefined;
  const around = Buffer.from(lineOf({ entry: bare, tool }).join(""), "utf8");
  const length = line.length - around.length;
  if (length <= 0) return undefined;
  let offset = 0;
  while (around[offset] === line[offset]) offset++;
  return { offset, length };
}

const ENDS_CALL_HEAD = /[\]\n]/;

function isComposed(entry: LogEntry): boolean {
  if (entry.message?.role === "bashExecution" || hasSystemParts(entry.message)) return true;
  return blocksOf(entry.message?.content).some((block) => {
    if (!isToolCallBlock(block)) return false;
    // A call without arguments is shown with `null`, which its line does not hold; one not understood has words of ours.
    if (block.arguments === undefined || block.argumentsError !== undefined) return true;
    return ENDS_CALL_HEAD.test(block.id) || ENDS_CALL_HEAD.test(block.name);
  });
}

function timeOf(timestamp: unknown): number | undefined {
  if (typeof timestamp !== "string") return undefined;
  const time = Date.parse(timestamp);
  return Number.isNaN(time) || new Date(time).toISOString() !== timestamp ? undefined : time;
}

export interface EntryFacts {
  readonly record: Omit<EntryRecord, "line" | "parent">;
  /** The batch as the next entry finds it. */
  readonly batch: ToolBatch;
}

const NO_PLACE: Omit<Placing, "batch"> = { opener: undefined, opens: undefined, stays: false };

export function factsOf({ entry, tool }: JournalLine, line: Buffer, batch: ToolBatch): EntryFacts {
  const head = consolidationOf(entry) ? undefined : itemHead(entry, (id) => batch.calls.get(id) ?? tool);
  const placing = head ? placeItem(entry, head, batch) : { ...NO_PLACE, batch };
  return {
    record: {
      id: entry.id,
      time: timeOf(entry.timestamp),
      role: head?.role,
      internal: head?.internal ?? false,
      fromUser: head?.fromUser ?? false,
      opens: placing.opens,
      stays: placing.stays,
      names: head?.calls.map(({ name }) => name) ?? [],
      composed: head !== undefined && isComposed(entry),
      text: head && textSpan(entry, line, tool),
    },
    batch: placing.batch,
  };
}
