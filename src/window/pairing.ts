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

/** Where the messages that can still answer an assistant message end: at the next one. */
function endOfAnswers(messages: readonly LogMessage[], from: number): number {
  let end = from;
  while (end < messages.length && messages[end]?.role !== "assistant") end++;
  return end;
}

/** The results of these calls, one each, in the order in which they came; a call without one is answered. */
function resultsOf(calls: readonly ToolCallBlock[], answers: readonly LogMessage[], timestamp: number | undefined) {
  const open = [...calls];
  const results = answers.filter((message) => {
    const at = message.role === "toolResult" ? open.findIndex(({ id }) => id === message.toolCallId) : -1;
    if (at >= 0) open.splice(at, 1);
    return at >= 0;
  });
  return { results, invented: open.map((call) => interruptedResult(call, timestamp)) };
}

function sameMessages(left: readonly LogMessage[], right: readonly LogMessage[]): boolean {
  return left.length === right.length && left.every((message, at) => message === right[at]);
}

/**
 * Answers calls that an abort or a tree navigation left without results, takes calls out of responses that never
 * finished, drops results whose call is not there, and puts results directly behind their calls. A list in which all
 * is paired comes back as it is.
 */
export function pairCalls(messages: readonly LogMessage[]): readonly LogMessage[] {
  const paired: LogMessage[] = [];
  for (let i = 0; i < messages.length; ) {
    const message = messages[i] as LogMessage;
    if (message.role !== "assistant") {
      if (message.role !== "toolResult") paired.push(message);
      i++;
      continue;
    }
    const end = endOfAnswers(messages, i + 1);
    const answers = messages.slice(i + 1, end);
    const blocks = blocksOf(message.content);
    const calls = blocks.filter(isToolCallBlock);
    const isCutOff = calls.length > 0 && isUnfinished(message);
    paired.push(isCutOff ? { ...message, content: blocks.filter((block) => !isToolCallBlock(block)) } : message);
    const { results, invented } = resultsOf(isCutOff ? [] : calls, answers, message.timestamp);
    paired.push(...results, ...invented, ...answers.filter(({ role }) => role !== "toolResult"));
    i = end;
  }
  return sameMessages(paired, messages) ? messages : paired;
}
