// Nothing is lost: every item of a real session manager's branch is listed and read back, byte for byte.
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SessionManager } from "@mariozechner/pi-coding-agent";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { openerDetails } from "../log/branches.ts";
import { longText } from "../log/texts.ts";
import { historyCaller } from "../tools/calls.ts";
import { liveSourceOf, sourceOf } from "./sources.ts";

/** A real session of about a thousand entries, where the checkout has one beside it. */
const RECORDED = fileURLToPath(new URL("../../../shared/data/session-coding-1k.jsonl", import.meta.url));
const SEED = 20_260_301;

type Message = Parameters<SessionManager["appendMessage"]>[0];

function entriesOf(manager: SessionManager): EntrySource {
  return { leafId: () => manager.getLeafId(), entry: (id) => manager.getEntry(id) as LogEntry | undefined };
}

const USAGE = {
  input: 1,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 2,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

function assistant(content: Extract<Message, { role: "assistant" }>["content"], timestamp: number): Message {
  const model = { api: "openai-responses", provider: "openai", model: "gpt-test" } as const;
  return { role: "assistant", content, ...model, usage: USAGE, stopReason: "stop", timestamp };
}

/** A session in three windows with texts of every kind. */
function generated(): SessionManager {
  const manager = SessionManager.inMemory();
  const texts = fc.sample(longText, { numRuns: 330, seed: SEED });
  for (const [at, text] of texts.entries()) {
    const id = `call-${at}`;
    manager.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: at });
    const arguments_ = { command: text.slice(0, 200) };
    const content = [
      { type: "text" as const, text: `I run ${at}.` },
      { type: "toolCall" as const, id, name: "bash", arguments: arguments_ },
    ];
    manager.appendMessage(assistant(content, at));
    const toolName = at % 110 === 109 ? "new_context" : "bash";
    const details = toolName === "bash" ? undefined : openerDetails(2 + (at - 109) / 110);
    manager.appendMessage({
      role: "toolResult",
      toolCallId: id,
      toolName,
      content: [{ type: "text", text: `${text}${text}` }],
      details,
      isError: false,
      timestamp: at,
    });
  }
  return manager;
}

/** What an entry says, written down independently of the code under test. */
function textOf(entry: LogEntry): string {
  const { message } = entry;
  if (message?.role === "bashExecution") return `$ ${message.command}\n${message.output}\n[exit ${message.exitCode}]`;
  const content = message ? message.content : (entry.content ?? entry.summary);
  if (typeof content === "string") return content;
  const said = (content as readonly Record<string, unknown>[]).flatMap((block) => {
    if (block.type === "text") return [String(block.text)];
    return block.type === "toolCall"
      ? [`[tool_call ${block.name} ${block.id}]\n${JSON.stringify(block.arguments)}`]
      : [];
  });
  return said.join("\n");
}

async function readsBack(manager: SessionManager): Promise<{ items: number; windows: number }> {
  const source = sourceOf(entriesOf(manager));
  const run = historyCaller(source);
  const sizes = fc.sample(fc.integer({ min: 1, max: 12_000 }), { numRuns: 997, seed: SEED });
  let page = 0;
  for (const { entry, head, window } of source.rows) {
    let rebuilt = "";
    let offset: unknown = 0;
    while (offset !== undefined) {
      const limit_chars = sizes[page++ % sizes.length];
      const place = { item_id: head.id, window_id: `w${window}` };
      const answer = await run("history_read_item", { ...place, offset_chars: offset, limit_chars });
      rebuilt += answer.body();
      offset = answer.header().next_offset_chars;
    }
    expect(rebuilt, `item ${head.id}`).toBe(textOf(entry));
  }
  return { items: source.rows.length, windows: source.windows.length };
}

describe("every item is read back in pages of random sizes, byte for byte", () => {
  const directories: string[] = [];
  afterEach(() => {
    for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  });

  test("of a generated session in three windows and a fourth that is empty", async () => {
    expect(await readsBack(generated())).toEqual({ items: 990, windows: 4 });
  });

  test.skipIf(!existsSync(RECORDED))("of a recorded session", async () => {
    const directory = mkdtempSync(join(tmpdir(), "read-back-"));
    directories.push(directory);
    const copy = join(directory, "session.jsonl");
    // Pi migrates an old session file where it lies.
    copyFileSync(RECORDED, copy);
    const { items, windows } = await readsBack(SessionManager.open(copy));
    expect(items).toBeGreaterThan(900);
    expect(windows).toBeGreaterThanOrEqual(1);
  });
});

describe("the live branch of a real session manager", () => {
  test("is followed as it grows, forks and is navigated", async () => {
    const manager = SessionManager.inMemory();
    const live = liveSourceOf(entriesOf(manager));
    const listed = async () => {
      const answer = await historyCaller(live())("history_list_items");
      return answer
        .lines()
        .slice(1)
        .map(({ preview }) => preview);
    };
    expect(await listed()).toEqual([]);
    const first = manager.appendMessage({ role: "user", content: "one", timestamp: 1 });
    manager.appendMessage(assistant([{ type: "text", text: "two" }], 2));
    manager.appendCustomMessageEntry("pi-token-budget:reminder", "ours", false);
    manager.appendCustomMessageEntry("other:note", "theirs", true);
    const abandoned = manager.appendCompaction("Pi's summary", first, 100);
    expect(await listed()).toEqual(["one", "two", "theirs", "Pi's summary"]);
    expect(live().windows).toHaveLength(2);
    manager.branchWithSummary(first, "what was there");
    manager.appendMessage({ role: "user", content: "three", timestamp: 3 });
    expect(await listed()).toEqual(["one", "what was there", "three"]);
    expect(live().windows).toHaveLength(1);
    const run = historyCaller(live());
    const elsewhere = await run("history_read_item", { item_id: abandoned, window_id: "w2" });
    expect(elsewhere.header()).toMatchObject({ branch: "other", role: "user" });
    expect(elsewhere.body()).toBe("Pi's summary");
  });
});
