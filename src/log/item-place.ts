// Which window of its branch an item belongs to, from the item and the tool batch before it. Pure; the index
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

export interface ItemPlace {
  readonly opener: Opener | undefined;
  /** A window starts with the item itself, or right after it. */
  readonly opens: "before" | "after" | undefined;
  /** One more result of the batch whose window is closed: the current window starts after it. */
  readonly stays: boolean;
  /** The batch as the next item finds it. */
  readonly batch: ToolBatch;
}

const FEW_BLOCKS = 8;
const NO_CALLS: ReadonlyMap<string, string> = new Map();

export function noBatch(): ToolBatch {
  return { calls: NO_CALLS, closing: false };
}

/** The batch of an assistant entry; few are ever asked for their calls. */
class BatchOf implements ToolBatch {
  readonly closing = false;
  /** Undefined when they are too many to be looked through for each result. */
  readonly few: readonly unknown[] | undefined;
  readonly #entry: LogEntry;
  #calls: ReadonlyMap<string, string> | undefined;

  constructor(entry: LogEntry) {
    this.#entry = entry;
    const blocks = blocksOf(entry.message?.content);
    this.few = blocks.length <= FEW_BLOCKS ? blocks : undefined;
  }

  get calls(): ReadonlyMap<string, string> {
    this.#calls ??= callsOf(this.#entry);
    return this.#calls;
  }
}

/** The name of a call of the batch. Of a few blocks no map is made. */
export function nameIn(batch: ToolBatch, toolCallId: string): string | undefined {
  const few = batch instanceof BatchOf ? batch.few : undefined;
  if (!few) return batch.calls.get(toolCallId);
  for (let at = few.length - 1; at >= 0; at--) {
    const block = few[at];
    if (isToolCallBlock(block) && block.id === toolCallId) return block.name;
  }
  return undefined;
}

/** The tool names of an assistant entry by call id. */
export function callsOf(entry: LogEntry): ReadonlyMap<string, string> {
  const calls = new Map<string, string>();
  for (const block of blocksOf(entry.message?.content)) if (isToolCallBlock(block)) calls.set(block.id, block.name);
  return calls;
}

export function placeItem(entry: LogEntry, head: ItemHead, batch: ToolBatch): ItemPlace {
  if (head.role === "assistant") {
    return { opener: undefined, opens: undefined, stays: false, batch: new BatchOf(entry) };
  }
  const opener = openerOf(entry);
  if (opener && opener.type !== "tool_result") {
    return { opener, opens: "before", stays: false, batch: { calls: batch.calls, closing: false } };
  }
  if (!opener && !batch.closing) return { opener: undefined, opens: undefined, stays: false, batch };
  const inBatch = head.toolCallId !== undefined && batch.calls.has(head.toolCallId);
  // Results of the opener's own batch stay in the window that it closes; everything after is the new window's.
  if (batch.closing && inBatch) return { opener: undefined, opens: undefined, stays: true, batch };
  // A host may write results onto a branch that does not hold their calls, where a person has walked to meanwhile.
  if (!opener || !inBatch) return { opener: undefined, opens: undefined, stays: false, batch };
  return { opener, opens: "after", stays: false, batch: { calls: batch.calls, closing: true } };
}
