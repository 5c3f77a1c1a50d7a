// Which items a list or search shows, and which parts of them: by role, by tool, and never the call that asks. Pure.
import { blocksOf, isToolCallBlock } from "../host/entries.ts";
import type { Row } from "../log/branch.ts";
import { type ItemRole, isToolNamed, type TextRegion, type ToolRef, toolRef } from "../log/item.ts";
import { isInternalRole } from "./counts.ts";
import type { IsHidden } from "./search.ts";
import type { RowList } from "./source.ts";

/** Which items; every given field must hold. */
export interface ItemFilter {
  readonly windowId?: string | undefined;
  /** The id of the item with which the rows begin, in their order. */
  readonly from?: string | undefined;
  readonly role?: ItemRole | undefined;
  readonly toolNamespace?: string | undefined;
  readonly toolName?: string | undefined;
}

export interface ItemQuery {
  readonly filter: ItemFilter;
  readonly limit: number;
  readonly recentFirst: boolean;
  /** The call that asks: it finds neither itself nor its own arguments. */
  readonly runningCallId: string | undefined;
}

export function hasToolFilter(filter: ItemFilter): boolean {
  return filter.toolNamespace !== undefined || filter.toolName !== undefined;
}

/** Both filters on the same call. */
function meansTool(filter: ItemFilter, tool: ToolRef): boolean {
  return (
    (filter.toolNamespace === undefined || tool.namespace === filter.toolNamespace) &&
    (filter.toolName === undefined || isToolNamed(tool, filter.toolName))
  );
}

/** Ids of some providers come again in later turns, so only a history call can be the running one. */
function isRunning(query: ItemQuery, id: string | undefined, tool: ToolRef): boolean {
  return query.runningCallId !== undefined && id === query.runningCallId && tool.namespace === "history";
}

/** Whether a tool filter means a call of this item, other than the running one. */
function hasCall(calls: readonly ToolRef[], row: () => Row | undefined, query: ItemQuery): boolean {
  const meant = calls.filter((tool) => meansTool(query.filter, tool));
  if (query.runningCallId === undefined || meant.some((tool) => tool.namespace !== "history")) return meant.length > 0;
  const { head, entry } = (meant.length > 0 && row()) || {};
  if (head?.role === "tool") return meant.some((tool) => !isRunning(query, head.toolCallId, tool));
  return blocksOf(entry?.message?.content).some((block) => {
    if (!isToolCallBlock(block)) return false;
    const tool = toolRef(block.name);
    return meansTool(query.filter, tool) && !isRunning(query, block.id, tool);
  });
}

/** Whether a list or search shows an item at all. */
export function listedAt(rows: RowList, query: ItemQuery): (at: number, row: Row | undefined) => boolean {
  const { role } = query.filter;
  const filtered = hasToolFilter(query.filter);
  const internalToo = isInternalRole(role);
  return (at, row) => {
    const brief = rows.brief?.(at) ?? row?.head;
    if (!brief || (role !== undefined && brief.role !== role)) return false;
    if (!filtered) return internalToo || !brief.internal;
    return hasCall(rows.calls?.(at) ?? row?.head.calls ?? [], () => row ?? rows.at(at), query);
  };
}

export function hiddenRegions(query: ItemQuery): IsHidden {
  const filtered = hasToolFilter(query.filter);
  return ({ call, internal }: TextRegion) => {
    if (!call || !internal) return false;
    const tool = toolRef(call.name);
    return isRunning(query, call.id, tool) || !(filtered && meansTool(query.filter, tool));
  };
}
