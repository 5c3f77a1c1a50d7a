// What is kept of a run while its events pass by: short steps, the newest hint, the newest answer, and what the provider
// says was used. Never the raw events. Pure but for what it accumulates.
import { blocksOf, isTextBlock, isToolCallBlock } from "../../host/entries.ts";
import { oneLine, shorten } from "../../storage/text.ts";
import { newId } from "../files/names.ts";
import { progressLine, type UsageRow, withStep } from "../record/rules.ts";

/** What a runner tells while it runs; each is a sign of life too. */
export type RunEvent =
  | {
      readonly type: "step";
      /** What was done, for the record: made one line, cut at 500 characters; the newest 200 are kept. */
      readonly text: string;
    }
  | {
      readonly type: "progress";
      /** What is being done now: made one line, cut at 500 characters. */
      readonly text: string;
    }
  | {
      readonly type: "answer";
      /** The newest answer; the last one is the result, at most 200,000 characters of it. */
      readonly text: string;
      /** Why it is none; the run has failed when the last answer has it. Left out for an answer. */
      readonly error?: string;
    }
  | {
      readonly type: "usage";
      /** What a model did since the last such event. */
      readonly usage: RunUsage;
    }
  | { readonly type: "alive" };

/** What a model did for a run: a row of the record, or a part of one. */
export interface RunUsage {
  /** What was made: `chat` for answers. Rows are summed by kind and model. */
  readonly kind: UsageRow["kind"];
  /** `provider/id`. */
  readonly model: string;
  /** Tokens that the provider read anew. */
  readonly input: number;
  /** Tokens that the model wrote. */
  readonly output: number;
  /** Tokens that the provider had in its cache. */
  readonly cached: number;
  /** The provider's own cost figure, in its currency; null when it gives none. */
  readonly amount: number | null;
}

const SUMMARY_MAX_CHARS = 200;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}

function summary(text: string): string {
  return shorten(oneLine(text), SUMMARY_MAX_CHARS);
}

function textField(value: unknown, ...names: readonly string[]): string {
  const found = isRecord(value)
    ? names.map((name) => value[name]).find((field) => typeof field === "string")
    : undefined;
  return typeof found === "string" ? found : "";
}

/** A tool call in a few words; undefined for what only reads. */
function callStep(name: string, args: unknown): string | undefined {
  const path = textField(args, "path", "file_path");
  switch (name) {
    case "bash":
      return `Ran: ${summary(textField(args, "command"))}`;
    case "write":
      return `Wrote ${summary(path)}`;
    case "edit":
      return `Edited ${summary(path)}`;
    case "read":
    case "ls":
    case "grep":
    case "find":
      return undefined;
    default:
      return `Called ${summary(name)}`;
  }
}

function usageOf(message: Record<string, unknown>): RunUsage | undefined {
  const { usage } = message;
  if (!isRecord(usage)) return undefined;
  const cost = isRecord(usage.cost) ? usage.cost.total : undefined;
  const model = [message.provider, message.model].filter((part) => typeof part === "string").join("/");
  // Writing to the cache is reading anew.
  const input = count(usage.input) + count(usage.cacheWrite);
  const output = count(usage.output);
  const cached = count(usage.cacheRead);
  if (input + output + cached === 0) return undefined;
  const amount = typeof cost === "number" && Number.isFinite(cost) && cost >= 0 ? cost : null;
  return { kind: "chat", model: model || "unknown", input, output, cached, amount };
}

function answerEvents(message: Record<string, unknown>): RunEvent[] {
  const events: RunEvent[] = [];
  const blocks = blocksOf(message.content);
  for (const block of blocks) {
    const thinking = isRecord(block) && block.type === "thinking" ? textField(block, "thinking") : "";
    if (thinking.trim() !== "") events.push({ type: "step", text: `Thought: ${summary(thinking)}` });
  }
  const text = blocks
    .flatMap((block) => (isTextBlock(block) ? [block.text] : []))
    .join("\n")
    .trim();
  const usage = usageOf(message);
  if (usage) events.push({ type: "usage", usage });
  const isFailed = message.stopReason === "error" || message.stopReason === "aborted";
  const error = isFailed
    ? textField(message, "errorMessage") || `the model's answer was ${message.stopReason}`
    : undefined;
  if (blocks.some(isToolCallBlock) && !isFailed) {
    if (text !== "") events.push({ type: "step", text: summary(text) });
    events.push({ type: "answer", text: "", error: "the run ended between two steps" });
  } else {
    events.push({ type: "answer", text, ...(error === undefined ? {} : { error }) });
  }
  return events;
}

/** A run that ends with an error before any message of its own says so only here. */
function endEvents({ messages }: Record<string, unknown>): RunEvent[] {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!isRecord(last) || last.role !== "assistant" || last.stopReason !== "error") return [{ type: "alive" }];
  return [{ type: "answer", text: "", error: textField(last, "errorMessage") || "the model's answer was error" }];
}

/** What one of Pi's own events says of a run; they are the same in a session and in JSON mode. */
export function eventsOf(event: unknown): readonly RunEvent[] {
  if (!isRecord(event)) return [];
  switch (event.type) {
    case "message_end":
      return isRecord(event.message) && event.message.role === "assistant"
        ? answerEvents(event.message)
        : [{ type: "alive" }];
    case "tool_execution_start": {
      const name = textField(event, "toolName");
      const step = callStep(name, event.args);
      const hint = step ?? `${name} ${summary(textField(event.args, "path", "pattern"))}`.trim();
      return [{ type: "progress", text: hint }, ...(step === undefined ? [] : [{ type: "step", text: step } as const])];
    }
    case "agent_end":
      return endEvents(event);
    default:
      return [{ type: "alive" }];
  }
}

export class RunLog {
  #steps: readonly string[] = [];
  #progress = "";
  #answer: { readonly text: string; readonly error?: string } | undefined;
  readonly #usage = new Map<string, RunUsage>();

  get steps(): readonly string[] {
    return this.#steps;
  }

  get progress(): string {
    return this.#progress;
  }

  /** The newest answer; undefined when there was none. */
  get answer(): { readonly text: string; readonly error?: string } | undefined {
    return this.#answer;
  }

  /** Whether something that is shown has changed. */
  add(event: RunEvent): boolean {
    switch (event.type) {
      case "step":
        return this.addStep(event.text);
      case "progress":
        this.#progress = progressLine(event.text);
        return true;
      case "answer":
        this.#answer = { text: event.text, ...(event.error === undefined ? {} : { error: event.error }) };
        return false;
      case "usage":
        this.#addUsage(event.usage);
        return false;
      case "alive":
        return false;
    }
  }

  addStep(text: string): boolean {
    this.#steps = withStep(this.#steps, text);
    return true;
  }

  #addUsage(usage: RunUsage): void {
    const key = `${usage.kind} ${usage.model}`;
    const known = this.#usage.get(key);
    if (known === undefined) {
      this.#usage.set(key, usage);
      return;
    }
    const amount = known.amount === null && usage.amount === null ? null : (known.amount ?? 0) + (usage.amount ?? 0);
    this.#usage.set(key, {
      ...known,
      input: known.input + usage.input,
      output: known.output + usage.output,
      cached: known.cached + usage.cached,
      amount,
    });
  }

  /** One row for each model. */
  usageRows(task: string, created: string): readonly UsageRow[] {
    return [...this.#usage.values()].map((usage) => ({ id: newId(), ...usage, quantity: 1, task, created }));
  }
}

export interface InternalPaths {
  /** Absolute directories, the longer first. */
  readonly directories: readonly string[];
  /** The place of the task's folders as seen from the working directory. */
  readonly prefix: string;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** A final message without the paths of our storage: files are named by their names. */
export function withoutInternalPaths(text: string, { directories, prefix }: InternalPaths): string {
  let clean = text;
  for (const directory of directories)
    clean = clean.replaceAll(`${directory}/`, "").replaceAll(directory, "the working directory");
  const start = prefix === "" ? "" : `(?:${escaped(prefix)})?`;
  return clean
    .replace(new RegExp(`(^|[\\s("'\`\\[<])(?:\\./)?${start}attachments/[a-z0-9]{8}/\\d{2}-`, "gm"), "$1")
    .replace(new RegExp(`(^|[\\s("'\`\\[<])(?:\\./)?${start}(?:output|work)/(?=[^\\s/])`, "gm"), "$1");
}
