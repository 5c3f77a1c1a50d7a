// Pi's own events as events of a run. They are the same in a session and in JSON mode. Pure.
import { blocksOf, isTextBlock, isToolCallBlock } from "../../host/entries.ts";
import { isRecord } from "../../shapes.ts";
import { oneLine, shorten } from "../../storage/text.ts";
import type { RunEvent } from "../runner.ts";
import type { RunUsage } from "../task-view.ts";

type Fields = Readonly<Record<string, unknown>>;

const SUMMARY_MAX_CHARS = 200;
/** Tools that only read: their calls are progress, not steps. */
const READING_TOOLS = ["read", "ls", "grep", "find"];

const ALIVE: RunEvent = { type: "alive" };

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}

function summary(text: string): string {
  return shorten(oneLine(text), SUMMARY_MAX_CHARS);
}

/** The first of these fields that is a string; empty when there is none. */
function textField(value: unknown, ...names: readonly string[]): string {
  const fields = isRecord(value) ? names.map((name) => value[name]) : [];
  return fields.find((field) => typeof field === "string") ?? "";
}

function callStep(name: string, args: unknown): string | undefined {
  if (READING_TOOLS.includes(name)) return undefined;
  const path = textField(args, "path", "file_path");
  switch (name) {
    case "bash":
      return `Ran: ${summary(textField(args, "command"))}`;
    case "write":
      return `Wrote ${summary(path)}`;
    case "edit":
      return `Edited ${summary(path)}`;
    default:
      return `Called ${summary(name)}`;
  }
}

function callEvents(name: string, args: unknown): readonly RunEvent[] {
  const step = callStep(name, args);
  if (step !== undefined)
    return [
      { type: "progress", text: step },
      { type: "step", text: step },
    ];
  return [{ type: "progress", text: `${name} ${summary(textField(args, "path", "pattern"))}`.trim() }];
}

function usageOf(message: Fields): RunUsage | undefined {
  const { usage } = message;
  if (!isRecord(usage)) return undefined;
  const cost = isRecord(usage.cost) ? usage.cost.total : undefined;
  const model = [message.provider, message.model].filter((part) => typeof part === "string").join("/");
  // What was written to the cache had to be read.
  const input = count(usage.input) + count(usage.cacheWrite);
  const output = count(usage.output);
  const cached = count(usage.cacheRead);
  if (input + output + cached === 0) return undefined;
  const amount = typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? cost : null;
  return { kind: "chat", model: model || "unknown", input, output, cached, amount };
}

function messageEvents(message: Fields): readonly RunEvent[] {
  const events: RunEvent[] = [];
  const blocks = blocksOf(message.content);
  for (const block of blocks) {
    const thinking = isRecord(block) && block.type === "thinking" ? textField(block, "thinking") : "";
    if (thinking.trim() !== "") events.push({ type: "step", text: `Thought: ${summary(thinking)}` });
  }
  const usage = usageOf(message);
  if (usage) events.push({ type: "usage", usage });
  const texts = blocks.flatMap((block) => (isTextBlock(block) ? [block.text] : []));
  const text = texts.join("\n").trim();
  if (message.stopReason === "error" || message.stopReason === "aborted") {
    const error = textField(message, "errorMessage") || `the model's answer was ${message.stopReason}`;
    events.push({ type: "answer", text, error });
  } else if (blocks.some(isToolCallBlock)) {
    if (text !== "") events.push({ type: "step", text: summary(text) });
    events.push({ type: "answer", text: "", error: "the run ended between two steps" });
  } else {
    events.push({ type: "answer", text });
  }
  return events;
}

/** A run that fails before its first message reports the error only here. */
function endEvent({ messages }: Fields): RunEvent {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isRecord(last) || last.role !== "assistant" || last.stopReason !== "error") return ALIVE;
  return { type: "answer", text: "", error: textField(last, "errorMessage") || "the model's answer was error" };
}

export function eventsOf(event: unknown): readonly RunEvent[] {
  if (!isRecord(event)) return [];
  const { type, message } = event;
  if (type === "message_end" && isRecord(message) && message.role === "assistant") return messageEvents(message);
  if (type === "tool_execution_start") return callEvents(textField(event, "toolName"), event.args);
  return [type === "agent_end" ? endEvent(event) : ALIVE];
}
