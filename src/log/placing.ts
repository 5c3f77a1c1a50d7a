// Where an item stands among the windows of its branch, told from the item and the tool batch before it. Pure; the index
// of a live branch and the journal both fold with this one rule.
import { blocksOf, isToolCallBlock, type LogEntry } from "../host/entries.ts";
import type { ItemHead } from "./item.ts";
import { type Opener, openerOf } from "./marks.ts";

/** The calls of the newest assistant item. */
export interface ToolBatch {
  /** Tool names by call id. */
  readonly calls: ReadonlyMap<string, string>;
  /** Whether one of their results opened the current window. */
  readonly closing: boolean;
}

export interface Placing {
  readonly opener: Opener | undefined;
  /** A window starts with the item itself, or right behind it. */
  readonly opens: "before" | "after" | undefined;
  /** One more result of the batch whose window is closed: the current window starts behind it. */
  readonly stays: boolean;
  /** The batch as the next item finds it. */
  readonly batch: ToolBatch;
}

export function noBatch(): ToolBatch {
  return { calls: new Map(), closing: false };
}

/** The tool names of an assistant entry by call id. */
export function callsOf(entry: LogEntry): ReadonlyMap<string, string> {
  const calls = new Map<string, string>();
  for (const block of blocksOf(entry.message?.content)) if (isToolCallBlock(block)) calls.set(block.id, block.name);
  return calls;
}

export function placeItem(entry: LogEntry, head: ItemHead, batch: ToolBatch): Placing {
  if (head.role === "assistant") {
    return { opener: undefined, opens: undefined, stays: false, batch: { calls: callsOf(entry), closing: false } };
  }
  const opener = openerOf(entry);
  if (opener && opener.type !== "tool_result") {
    return { opener, opens: "before", stays: false, batch: { calls: batch.calls, closing: false } };
  }
  const inBatch = head.toolCallId !== undefined && batch.calls.has(head.toolCallId);
  // Results of the opener's own batch stay in the window that it closes; everything after is the new window's.
  if (batch.closing && inBatch) return { opener: undefined, opens: undefined, stays: true, batch };
  // A host may write results onto a branch that does not hold their calls, where a person has walked to meanwhile.
  if (!opener || !inBatch) return { opener: undefined, opens: undefined, stays: false, batch };
  return { opener, opens: "after", stays: false, batch: { calls: batch.calls, closing: true } };
}
