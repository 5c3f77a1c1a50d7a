// A long session in memory, for the hot paths: the shapes and sizes of a coding session (4 KB an item on average, one in
// ten long, most of them plain ASCII), as fresh strings. The same every time.
import { type Chance, chance } from "../fixtures/story/random.ts";
import type { EntrySource, LogEntry } from "../src/host/entries.ts";
import type { TodoItem } from "../src/todo/list.ts";
import { TODO_ENTRY } from "../src/todo/replay.ts";

const SEED = 2_024;
const START_MS = Date.UTC(2024, 0, 8);
const POOL_CHARS = 1 << 20;
const WIDE = ["税率を追加してください。", "翻译成中文。", "Größe und Preis – geprüft"];
const ASTRAL = ["🧾 paid", "👩‍💻 wrote this", "done ✅ 🎉"];
/** In the text of every kind of item, about once in 2.5 KB. */
export const COMMON_WORD = "function";
export const ABSENT_WORD = "NO_SUCH_NEEDLE";
/** Its first character is the most frequent of all. */
export const ABSENT_COMMON_START = "e_absent_needle";

function pool(luck: Chance): Buffer {
  const names = ["invoice", "ledger", "rounding", "customer", "reminder", "quarter", "currency", "discount"];
  const lines: string[] = [];
  for (let length = 0; length < POOL_CHARS; ) {
    const name = `${luck.pick(names)}${luck.between(1, 999)}`;
    const line = luck.onceIn(50)
      ? `export ${COMMON_WORD} ${name}(cents, percent) {`
      : luck.pick([
          `  const ${name} = Math.round((cents * ${luck.between(1, 30)}) / 100);`,
          `  assert.equal(${name}(${luck.between(1, 9_999)}), ${luck.between(1, 9_999)});`,
          `src/${name}.js:${luck.between(1, 400)}: the ${luck.pick(names)} is due`,
          `  // NOTE: no ${luck.pick(names)} of ${name.toUpperCase()} is Net of tax; see NO_ROUNDING`,
          "  }",
        ]);
    lines.push(line);
    length += line.length + 1;
  }
  return Buffer.from(lines.join("\n"), "latin1");
}

/** A fresh string of its own memory. */
function textOf(luck: Chance, source: Buffer): string {
  const length = luck.onceIn(5) ? luck.between(12_000, 48_000) : luck.between(100, 4_000);
  const from = luck.between(0, source.length - length - 1);
  const plain = source.toString("latin1", from, from + length);
  if (luck.onceIn(16)) return `${plain}\n${luck.pick(ASTRAL)}`;
  return luck.onceIn(30) ? `${plain}\n${luck.pick(WIDE)}` : plain;
}

/** What a host writes on every answer besides its content. */
function answered(stopReason: "stop" | "toolUse") {
  const cost = { input: 0.012, output: 0.003, cacheRead: 0.001, cacheWrite: 0, total: 0.016 };
  const usage = { input: 1_204, output: 96, cacheRead: 48_200, cacheWrite: 0, totalTokens: 49_500, cost };
  return { api: "generated-api", provider: "generated", model: "generated-model", usage, stopReason };
}

export class GeneratedLog implements EntrySource {
  readonly entries: LogEntry[] = [];
  readonly #byId = new Map<string, LogEntry>();
  readonly #luck = chance(SEED);
  readonly #pool = pool(this.#luck);
  #leaf: string | null = null;

  constructor(items: number) {
    while (this.entries.length < items) this.grow();
  }

  leafId(): string | null {
    return this.#leaf;
  }

  entry(id: string): LogEntry | undefined {
    return this.#byId.get(id);
  }

  /** One more item: a request, or a call and its result in turns. */
  grow(): void {
    const number = this.entries.length;
    const text = [{ type: "text", text: textOf(this.#luck, this.#pool) }];
    const timestamp = START_MS + number * 1_000;
    if (number % 41 === 0) return this.#add({ role: "user", content: text, timestamp });
    if (number % 2 === 1) {
      const call = { type: "toolCall", id: `call_${number}`, name: "bash", arguments: { command: `run ${number}` } };
      return this.#add({ role: "assistant", content: [call], ...answered("toolUse"), timestamp });
    }
    const toolCallId = `call_${number - 1}`;
    this.#add({
      role: "toolResult",
      toolCallId,
      toolName: "bash",
      content: text,
      isError: false,
      details: {},
      timestamp,
    });
  }

  say(role: "user" | "assistant", text: string): void {
    const timestamp = START_MS + this.entries.length * 1_000;
    this.#add({
      role,
      content: [{ type: "text", text }],
      ...(role === "assistant" ? answered("stop") : {}),
      timestamp,
    });
  }

  /** A call that edits a file, with its result. */
  edit(path: string): void {
    const number = this.entries.length;
    const timestamp = START_MS + number * 1_000;
    const call = { type: "toolCall", id: `call_${number}`, name: "edit", arguments: { path } };
    this.#add({ role: "assistant", content: [call], ...answered("toolUse"), timestamp });
    const content = [{ type: "text", text: "edited" }];
    this.#add({ role: "toolResult", toolCallId: call.id, toolName: "edit", content, timestamp });
  }

  /** A write of the todo list, as its entry. */
  todos(todos: readonly TodoItem[]): void {
    this.#append({ type: "custom", customType: TODO_ENTRY, data: { todos } }, START_MS + this.entries.length * 1_000);
  }

  #add(message: Readonly<Record<string, unknown>> & { readonly timestamp: number }): void {
    this.#append({ type: "message", message }, message.timestamp);
  }

  #append(fields: Readonly<Record<string, unknown>>, time: number): void {
    // As random as Pi's own, and no two alike.
    const id = Math.imul(this.entries.length + 1, 0x9e3779b1)
      .toString(16)
      .replace("-", "f")
      .padStart(8, "0")
      .slice(-8);
    const timestamp = new Date(time).toISOString();
    // In the order of Pi's own.
    const { type, ...rest } = fields;
    const entry = { type, id, parentId: this.#leaf, timestamp, ...rest } as unknown as LogEntry;
    this.entries.push(entry);
    this.#byId.set(id, entry);
    this.#leaf = id;
  }
}

/** A text of so many characters in several scripts, emoji among them. */
export function mixedText(codePoints: number): string {
  const piece = `The invoice 請求書 was paid on time 🧾, said the ledger. ${"x".repeat(40)}\n`;
  const points = [...piece];
  const whole = piece.repeat(Math.floor(codePoints / points.length));
  return whole + points.slice(0, codePoints % points.length).join("");
}
