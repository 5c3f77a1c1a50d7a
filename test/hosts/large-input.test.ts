// Input of absurd sizes and shapes in real sessions: an item of 50 MB, a line of ten million characters, a hundred thousand
// tiny items, a branch that forks every ten entries, nothing but emoji, nothing but images. Every tool that reads answers
// within its bound and lets the event loop run, keeps nothing large, and ends soon when the call is aborted. Pi itself takes
// 15 s of processor time for an item of 50 MB, so `npm test` makes all of it at a fifth of the size.
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { call, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { rounds } from "../rounds.ts";
import { heldLongest, LONG_HOLD_MS } from "./holds.ts";
import { closeAfterEach, first, pi, using } from "./support.ts";

closeAfterEach();

const TIMESTAMP = new Date(0).toISOString();
const OUTPUT_MAX = 12_000;

interface Message {
  readonly role: string;
  readonly [field: string]: unknown;
}

/** Writes a session file, entry by entry; `parent` is the one before unless it is named. */
class SessionFile {
  readonly path = join(scratchFolder(), "large.jsonl");
  readonly #file: number;
  #lines: string[] = [];
  #count = 0;
  leaf: string | null = null;

  constructor() {
    mkdirSync(dirname(this.path), { recursive: true });
    this.#file = openSync(this.path, "w");
    const header = { type: "session", version: 3, id: "large", timestamp: TIMESTAMP, cwd: dirname(this.path) };
    this.#lines.push(JSON.stringify(header));
  }

  add(message: Message, parent = this.leaf): string {
    const id = (0x10000000 + this.#count++).toString(16);
    const entry = {
      type: "message",
      id,
      parentId: parent,
      timestamp: TIMESTAMP,
      message: { timestamp: 0, ...message },
    };
    this.#lines.push(JSON.stringify(entry));
    if (this.#lines.length >= 1_000) this.#write();
    this.leaf = id;
    return id;
  }

  user(content: string | readonly unknown[], parent = this.leaf): string {
    return this.add({ role: "user", content: typeof content === "string" ? [text(content)] : content }, parent);
  }

  answer(content: string, parent = this.leaf): string {
    const usage = { input: 1_000, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 1_001, cost: {} };
    const model = { api: "scripted-api", provider: "scripted", model: "m", usage, stopReason: "stop" };
    return this.add({ role: "assistant", content: [text(content)], ...model }, parent);
  }

  close(): string {
    this.#write();
    closeSync(this.#file);
    return this.path;
  }

  #write(): void {
    writeSync(this.#file, `${this.#lines.join("\n")}\n`);
    this.#lines = [];
  }
}

async function opened(path: string): Promise<PiSession> {
  const s = await pi({
    session: { path },
    ui: true,
    contextWindow: 1_000_000_000,
    next: (_request, n) => (n === 0 ? using(2_000, call("new_context")) : using(1_000, text("done"))),
  });
  // What the journal has to write when a session is opened is no part of a tool's answer.
  await s.settled();
  return s;
}

const ABSENT = "nothing holds this";

/** What a tool answers, as lines; the event loop must run meanwhile. */
async function answered(s: PiSession, name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
  const { answer, heldMs } = await heldLongest(() => s.callTool(name, args));
  expect(heldMs, `${name} ${JSON.stringify(args).slice(0, 100)}`).toBeLessThan(LONG_HOLD_MS);
  const shown = textOf({ content: answer.content });
  expect(shown.length).toBeLessThan(2 * OUTPUT_MAX);
  expect(shown.isWellFormed()).toBe(true);
  return shown;
}

const firstLine = (shown: string) => JSON.parse(shown.split("\n")[0] ?? "{}") as Readonly<Record<string, unknown>>;

/** Goes through every tool that reads, and changes the window. */
async function useEverything(s: PiSession, item: { readonly id: string; readonly chars: number }, word: string) {
  await answered(s, "history_list_windows", {});
  await answered(s, "history_list_items", { recent_first: true });
  await answered(s, "history_list_items", { role: "user" });
  expect(firstLine(await answered(s, "history_search_contents", { query: ABSENT }))).toMatchObject({ total: 0 });
  const found = firstLine(await answered(s, "history_search_contents", { query: word, recent_first: true }));
  expect(found.total).toBeGreaterThan(0);
  await answered(s, "history_search_contents", { query: "\ude00", recent_first: true });
  const where = { item_id: item.id, window_id: "w1" };
  const start = Math.max(0, item.chars - 500);
  const read = await answered(s, "history_read_item", { ...where, offset_chars: start });
  expect(firstLine(read)).toMatchObject({ total_chars: item.chars, end_chars: item.chars });
  await answered(s, "notes_search_contents", { query: word });
  await s.prompt("and now a new window");
  expect(s.requests).toHaveLength(2);
  expect(first(s.requests[1])).toContain("window, w2");
  expect(first(s.requests[1]).length).toBeLessThan(16_000);
}

/** A call that is aborted in its first moments, by a clock on which each of its steps takes a slice: it pauses at any size. */
async function aborted(s: PiSession, name: string, args: Readonly<Record<string, unknown>>): Promise<boolean> {
  const nowMs = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    aheadMs += 20;
    return nowMs() + aheadMs;
  });
  const tool = s.session.getToolDefinition(name);
  const abort = new AbortController();
  setImmediate(() => abort.abort());
  const context = s.session.extensionRunner.createContext();
  const running = tool?.execute("aborted", args as never, abort.signal, undefined, context);
  return Promise.resolve(running)
    .then(
      () => false,
      (error: unknown) => (error as { name?: string }).name === "AbortError",
    )
    .finally(() => clock.mockRestore());
}

const MEGABYTE = 1_000_000;
/** What is large is so many times a fifth. */
const FIFTHS = rounds(1, 5);

/** Pi itself takes a while for it, and more beside other tests. */
const LONG_TEST_MS = 600_000;

test(`an item of ${10 * FIFTHS} MB`, { timeout: LONG_TEST_MS }, async () => {
  const file = new SessionFile();
  file.user("look at the ledger");
  const line = "ledger 税率 and invoice, paid on time 🧾\n";
  const lines = Math.ceil((10 * FIFTHS * MEGABYTE) / Buffer.byteLength(line));
  const id = file.user(`${line.repeat(lines)}the needle`);
  file.answer("That is long.");
  const s = await opened(file.close());
  await useEverything(s, { id, chars: lines * Array.from(line).length + 10 }, "the needle");
  expect(await aborted(s, "history_search_contents", { query: ABSENT })).toBe(true);
});

test(`a line of ${2 * FIFTHS} million characters in an item, and of a million in a note`, async () => {
  const file = new SessionFile();
  file.user("look at the data");
  const line = (chars: number) => `${"0123456789".repeat(chars / 10)}the needle`;
  const id = file.user(`before\n${line(2 * FIFTHS * MEGABYTE)}\nafter`);
  file.answer("That is long.");
  const s = await opened(file.close());
  await s.callTool("notes_write_file", { path: "small.md", text: "the needle" });
  // As much as a note may hold.
  await s.callTool("notes_write_file", { path: "long.md", text: `first\n${line(MEGABYTE - 100)}\nlast\n` });
  const found = await answered(s, "notes_search_contents", { query: "the needle" });
  expect(firstLine(found)).toMatchObject({ total: 2, files: 2 });
  const page = await answered(s, "notes_read_file", { path: "long.md", start_line: 2, stop_line: 2 });
  expect(firstLine(page)).toMatchObject({ total_lines: 3, total_chars: MEGABYTE - 89 });
  await useEverything(s, { id, chars: 2 * FIFTHS * MEGABYTE + 23 }, "the needle");
});

const MANY = 20_000 * FIFTHS;

test(`${MANY} tiny items`, async () => {
  const file = new SessionFile();
  for (let at = 0; at < MANY / 2; at++) {
    file.user(`q${at}`);
    file.answer(at === MANY / 2 - 2 ? "the needle" : `a${at}`);
  }
  const id = file.user("the last one");
  file.answer("done");
  const s = await opened(file.close());
  await useEverything(s, { id, chars: 12 }, "the needle");
  expect(await aborted(s, "history_search_contents", { query: ABSENT })).toBe(true);
});

test("a branch that forks every ten entries", async () => {
  const file = new SessionFile();
  const left: string[] = [];
  let trunk: string | null = null;
  for (let at = 0; at < 1_000 * FIFTHS; at++) {
    for (let more = 0; more < 5; more++) {
      file.user(`q${at}`, trunk);
      trunk = file.answer(`a${at}.${more}`);
    }
    for (let more = 0; more < 5; more++) {
      file.user(`dead end ${at}.${more}`, more === 0 ? trunk : file.leaf);
      left.push(file.answer("left"));
    }
  }
  const id = file.user("the needle", trunk);
  file.answer("done");
  const s = await opened(file.close());
  for (const item_id of [left.at(-1), left[left.length >> 1], left[0]]) {
    const read = await answered(s, "history_read_item", { item_id, window_id: "w1" });
    expect(firstLine(read)).toMatchObject({ branch: "other", total_chars: 4 });
  }
  const [total] = [firstLine(await answered(s, "history_search_contents", { query: "dead end" }))];
  expect(total).toMatchObject({ total: 0 });
  await useEverything(s, { id, chars: 10 }, "the needle");
});

test("nothing but emoji", async () => {
  const file = new SessionFile();
  for (let at = 0; at < 400 * FIFTHS; at++) {
    file.user("🧾".repeat(50));
    file.answer("👩‍💻🎉");
  }
  const id = file.user("😀".repeat(FIFTHS * MEGABYTE));
  file.answer("🎉");
  const s = await opened(file.close());
  await useEverything(s, { id, chars: FIFTHS * MEGABYTE }, "😀");
});

test("nothing but images", async () => {
  const file = new SessionFile();
  const image = (bytes: number) => ({ type: "image", data: "iVBORw0KGgo".padEnd(bytes, "A"), mimeType: "image/png" });
  for (let at = 0; at < 400 * FIFTHS; at++) {
    file.user([image(400)]);
    file.answer("");
  }
  const id = file.user(Array.from({ length: 100 * FIFTHS }, () => image(20_000)));
  file.answer("the needle");
  const s = await opened(file.close());
  await useEverything(s, { id, chars: 0 }, "the needle");
});
