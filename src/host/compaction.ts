// Why the host compacts. Newer hosts say it in the event; 0.73.1 does not, and its call stack is the only exact sign.

import type { RawCompactionEvent } from "./api.ts";
import type { LogEntry, LogMessage } from "./entries.ts";

export type CompactionReason = "manual" | "threshold" | "overflow";

/** Deep enough for the frames between a hook and the host's compaction method. */
const STACK_FRAMES = 60;

function callStack(): string {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = STACK_FRAMES;
  const stack = new Error("stack").stack ?? "";
  Error.stackTraceLimit = before;
  return stack;
}

function lastAssistantOverflowed(branch: readonly LogEntry[], isOverflow: (message: LogMessage) => boolean): boolean {
  for (let i = branch.length - 1; i >= 0; i--) {
    const message = branch[i]?.message;
    if (message?.role === "assistant") return isOverflow(message);
  }
  return false;
}

/** Must be called synchronously in the hook: after an await the stack says nothing on 0.73.1. */
export function compactionReason(
  event: RawCompactionEvent,
  isOverflow: (message: LogMessage) => boolean,
): CompactionReason {
  if (event.reason !== undefined) return event.reason;
  const stack = callStack();
  const automatic = stack.includes("_runAutoCompaction");
  if (!automatic && stack.includes("AgentSession.compact")) return "manual";
  if (automatic) return lastAssistantOverflowed(event.branchEntries, isOverflow) ? "overflow" : "threshold";
  // The stack could not be read: a failed response before it means overflow, instructions mean a person.
  if (lastAssistantOverflowed(event.branchEntries, isOverflow)) return "overflow";
  return event.customInstructions === undefined ? "threshold" : "manual";
}
