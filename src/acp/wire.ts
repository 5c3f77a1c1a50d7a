// The formats of the plan socket and of the plan notification: one JSON text per line, validated on reading. Pure.
import { parseObject } from "../json-lines.ts";
import { isId } from "../task/context.ts";
import { isTodoItem } from "../todo/list.ts";
import type { PlanEntry } from "../todo/plan.ts";

/** The socket's path, set by the proxy for the bridge and all processes below it. */
export const ACP_SOCKET_VARIABLE = "PI_TOKEN_BUDGET_ACP_SOCKET";

/** The current list of one session, as the extension pushes it. */
export interface PlanPush {
  readonly sessionId: string;
  readonly entries: readonly PlanEntry[];
}

const ENTRIES_MAX = 1_000;
const PRIORITY: PlanEntry["priority"] = "medium";

function isEntry(value: unknown): value is PlanEntry {
  return isTodoItem(value) && "priority" in value && value.priority === PRIORITY;
}

/** Undefined when the text is no push. */
export function parsePush(text: string | undefined): PlanPush | undefined {
  const { sessionId, entries } = parseObject(text) ?? {};
  if (!isId(sessionId) || !Array.isArray(entries) || entries.length > ENTRIES_MAX) return undefined;
  return entries.every(isEntry) ? { sessionId, entries } : undefined;
}

export function pushLine({ sessionId, entries }: PlanPush): string {
  return `${JSON.stringify({ sessionId, entries })}\n`;
}

/** The notification of protocol version 1 that replaces the client's whole plan. Only these fields of an entry pass. */
export function planLine({ sessionId, entries }: PlanPush): string {
  const plain = entries.map(({ content, priority, status }) => ({ content, priority, status }));
  const params = { sessionId, update: { sessionUpdate: "plan", entries: plain } };
  return `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params })}\n`;
}
