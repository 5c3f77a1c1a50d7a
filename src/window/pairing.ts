// Calls and results in a request: every call has its result behind it, every result its call before it. Pure.
import { blocksOf, isToolCallBlock, type LogMessage, type ToolCallBlock } from "../host/entries.ts";
import { INTERRUPTED_RESULT } from "../prompts.ts";

function isUnfinished(message: LogMessage): boolean {
  return message.stopReason === "error" || message.stopReason === "aborted";
}

function interruptedResult(call: ToolCallBlock, timestamp: number | undefined): LogMessage {
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: "text", text: INTERRUPTED_RESULT }],
    isError: true,
    ...(timestamp === undefined ? {} : { timestamp }),
  };
}

/** Where the results behind an assistant message end. */
function endOfResults(messages: readonly LogMessage[], from: number): number {
  let end = from;
  while (messages[end]?.role === "toolResult") end++;
  return end;
}

/**
 * Answers calls that an abort or a tree navigation left without results, takes calls out of responses that never
 * finished, and drops results whose call is not there. A list in which all is paired comes back as it is.
 */
export function pairCalls(messages: readonly LogMessage[]): readonly LogMessage[] {
  const paired: LogMessage[] = [];
  let changed = false;
  for (let i = 0; i < messages.length; ) {
    const message = messages[i] as LogMessage;
    i++;
    if (message.role === "toolResult") {
      changed = true;
      continue;
    }
    const calls = message.role === "assistant" ? blocksOf(message.content).filter(isToolCallBlock) : [];
    if (calls.length > 0 && isUnfinished(message)) {
      changed = true;
      paired.push({ ...message, content: blocksOf(message.content).filter((block) => !isToolCallBlock(block)) });
      continue;
    }
    paired.push(message);
    if (calls.length === 0) continue;
    const end = endOfResults(messages, i);
    const open = new Map(calls.map((call) => [call.id, call]));
    for (; i < end; i++) {
      const result = messages[i] as LogMessage;
      if (open.delete(result.toolCallId ?? "")) paired.push(result);
      else changed = true;
    }
    changed ||= open.size > 0;
    for (const call of open.values()) paired.push(interruptedResult(call, message.timestamp));
  }
  return changed ? paired : messages;
}
