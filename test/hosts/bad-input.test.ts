// Bad input of every kind in real sessions: settings, disks, session files and what models report. Pi never stops because
// of it, one message says what is wrong, and nothing is lost. Hostile tool arguments are in bad-arguments.test.ts.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, scratchFolder } from "../../fixtures/pi/environment.ts";
import { call, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, controls, first, last, pi, roles, unpaired, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const slow = () => call("slow", { ms: 1 });
const note = (path = "checkpoint.md") => call("notes_write_file", { path, text: "the state" });
const warnings = (s: PiSession) => s.ui.notices.filter(({ message }) => message.includes("settings:"));

describe("settings", () => {
  it("that are not JSON are named once on standard error, and the session works", async () => {
    const environment = makeEnvironment();
    writeFileSync(join(environment.agentDir, "settings.json"), '{ "tokenBudget": { "enabled": tru');
    const ran = await runPi({ environment, model: [[text("OLD"), call("new_context")], "done"], prompt: "go" });
    environment.remove();
    expect(ran).toMatchObject({ code: 0, stdout: "done\n" });
    expect(ran.requests).toHaveLength(2);
    expect(first(ran.requests[1])).toContain("window, w2");
    expect(ran.stderr.match(/pi-token-budget settings: /g)).toHaveLength(1);
    expect(ran.stderr).toContain("is not JSON");
    expect(ran.stderr).toContain("it is passed over");
  });

  it("with wrong values are named in one warning, each with its rule, and the defaults are used", async () => {
    const tokenBudget = { reminderRemainingPercent: 25, hardRolloverUsedTokens: "many", nosuch: 1, enabled: "yes" };
    const s = await pi({
      ui: true,
      settings: { tokenBudget },
      factories: [slowTool],
      next: (_request, n) => (n === 0 ? using(150_000, slow()) : using(151_000, text("done"))),
    });
    expect(warnings(s)).toHaveLength(1);
    const [{ message, type } = { message: "", type: "info" }] = warnings(s);
    expect(type).toBe("warning");
    expect(message).toContain("reminderRemainingPercent is 25, not a number from 0 to 1; 0.25 is used");
    expect(message).toContain('hardRolloverUsedTokens is "many", not a whole number of at least 0; 0 is used');
    expect(message).toContain("nosuch is no setting");
    expect(message).toContain('enabled is "yes", not true or false; true is used');
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    expect(controls(s, "reminder")).toHaveLength(1);
    expect(warnings(s)).toHaveLength(1);
  });

  it("with a hard trigger of 500 warn once, and fence once: no window after window", async () => {
    const s = await pi({
      ui: true,
      settings: { tokenBudget: { hardRolloverUsedTokens: 500 } },
      factories: [slowTool],
      next: (_request, n) => using(5_000, n === 1 ? note() : n < 5 ? slow() : text("done")),
    });
    expect(warnings(s)).toHaveLength(1);
    expect(warnings(s)[0]?.message).toContain("hardRolloverUsedTokens is 500, less than a new window starts with");
    await s.prompt("go");
    expect(s.requests).toHaveLength(6);
    expect(controls(s, "fallback")).toHaveLength(1);
    expect(first(s.requests[5])).toContain("window, w2");
  });

  it("with a reminder at nothing warn once, remind never, and enforce the checkpoint all the same", async () => {
    const s = await pi({
      ui: true,
      settings: {
        compaction: { enabled: false },
        tokenBudget: { reminderRemainingPercent: 0, reminderRemainingFloorTokens: 0 },
      },
      factories: [slowTool],
      next: (_request, n) => {
        if (n < 2) return using(n === 0 ? 150_000 : 185_000, slow());
        return n === 2 ? using(186_000, note()) : using(1_000, text("done"));
      },
    });
    expect(warnings(s)).toHaveLength(1);
    await s.prompt("go");
    expect(s.requests).toHaveLength(4);
    expect([controls(s, "reminder").length, controls(s, "fallback").length]).toEqual([0, 1]);
    expect(first(s.requests[3])).toContain("window, w2");
  });
});

describe("switched off", () => {
  afterEach(() => {
    delete process.env.PI_TOKEN_BUDGET_DISABLED;
  });

  it("by PI_TOKEN_BUDGET_DISABLED=1 the package is not there at all", async () => {
    process.env.PI_TOKEN_BUDGET_DISABLED = "1";
    const s = await pi({ factories: [slowTool], next: (_request, n) => (n === 0 ? using(185_000, slow()) : "done") });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    expect(s.requests[0]?.systemPrompt).not.toContain("pi_token_budget_guidance");
    expect(
      s.requests[0]?.tools.map(({ name }) => name).filter((name) => /^(history|notes)_|context/.test(name)),
    ).toEqual([]);
    expect(s.requests[0]?.messages.map((message) => textOf(message))).toEqual(["go"]);
    expect(s.branch().filter((entry) => JSON.stringify(entry).includes('"pi-token-budget:'))).toEqual([]);
  });

  it("by tokenBudget.enabled=false nothing is added or fenced, new_context says so, notes and history still work", async () => {
    const s = await pi({
      settings: { compaction: { enabled: false }, tokenBudget: { enabled: false } },
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n === 1) return using(186_000, call("new_context"));
        return n === 2 ? using(187_000, note(), call("history_list_items")) : using(188_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(4);
    expect(s.requests[0]?.systemPrompt).not.toContain("pi_token_budget_guidance");
    expect(s.requests[0]?.messages.map((message) => textOf(message))).toEqual(["go"]);
    expect([controls(s, "reminder").length, controls(s, "fallback").length]).toEqual([0, 0]);
    expect(s.toolResults().map(({ name, isError }) => [name, isError])).toEqual([
      ["slow", false],
      ["new_context", true],
      ["notes_write_file", false],
      ["history_list_items", false],
    ]);
    expect(s.toolResults()[1]?.text).toContain("windows are off in this session");
  });
});

/** The folder of this session's notes, as `/context` shows it. */
async function notesFolder(s: PiSession): Promise<string> {
  await s.session.prompt("/context");
  return /Notes in (.+)/.exec(s.ui.notices.at(-1)?.message ?? "")?.[1] ?? "";
}

/** Puts a file in a folder's place, so that nothing can be written there; answers how to mend it. */
function block(folder: string): () => void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  writeFileSync(folder, "in the way");
  return () => rmSync(folder);
}

describe("notes that cannot be written", () => {
  it("make the tool say so, and new_context is refused until that note is saved", async () => {
    let mend = () => undefined as unknown;
    const s = await pi({
      ui: true,
      next: (_request, n) => {
        if (n === 0) return [note()];
        if (n === 1) return [call("new_context")];
        if (n === 2) mend();
        return n === 2 ? [note()] : n === 3 ? [call("new_context")] : "done";
      },
    });
    mend = block(await notesFolder(s));
    await s.prompt("go");
    expect(s.requests).toHaveLength(5);
    expect(s.toolResults().map(({ name, isError }) => [name, isError])).toEqual([
      ["notes_write_file", true],
      ["new_context", true],
      ["notes_write_file", false],
      ["new_context", false],
    ]);
    expect(s.toolResults()[0]?.text).toMatch(/checkpoint\.md|notes/);
    expect(s.toolResults()[1]?.text).toContain("your latest note write (checkpoint.md) failed");
    expect(first(s.requests[4])).toContain("window, w2");
  });

  it("under a fence give the claim back each time, and the fence lifts when the disk is mended", async () => {
    let mend = () => undefined as unknown;
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n === 3) mend();
        return n < 4 ? using(186_000, note()) : using(1_000, text("done"));
      },
    });
    mend = block(await notesFolder(s));
    await s.prompt("go");
    expect(s.requests).toHaveLength(5);
    expect(s.toolResults().map(({ isError }) => isError)).toEqual([false, true, true, false]);
    // The disk's own word, not "another write has the claim".
    for (const result of s.toolResults().slice(1, 3)) expect(result.text).not.toContain("only one may pass");
    expect(first(s.requests[4])).toContain("window, w2");
    expect(first(s.requests[4])).toContain("/root/notes/checkpoint.md");
  });

  it("and cannot be listed do not stop a change: the bootstrap says so", async () => {
    const s = await pi({ ui: true, next: (_request, n) => (n === 0 ? [call("new_context")] : "done") });
    block(await notesFolder(s));
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    expect(first(s.requests[1])).toContain("window, w2");
    expect(first(s.requests[1])).toMatch(
      /could not be read just now; try notes_list_files_by_prefix|No note files exist/,
    );
  });
});

const AT = new Date(1_700_000_000_000).toISOString();

/** Writes a session file line by line; each good entry is a child of the one before it. */
class DamagedFile {
  readonly path = join(scratchFolder(), "damaged.jsonl");
  readonly #lines: string[] = [];
  #parent: string | null = null;

  constructor() {
    const id = "01933a00-0000-7000-8000-00000000000b";
    this.line(JSON.stringify({ type: "session", version: 3, id, timestamp: AT, cwd: dirname(this.path) }));
  }

  line(line: string): void {
    this.#lines.push(line);
  }

  entry(id: string, body: Readonly<Record<string, unknown>>): void {
    this.line(JSON.stringify({ id, parentId: this.#parent, timestamp: AT, ...body }));
    this.#parent = id;
  }

  message(id: string, role: string, content: unknown, more: Readonly<Record<string, unknown>> = {}): void {
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0 } };
    const answer = role === "assistant" ? { api: "a", provider: "p", model: "m", usage, stopReason: "stop" } : {};
    this.entry(id, { type: "message", message: { role, content, timestamp: 1, ...answer, ...more } });
  }

  write(): string {
    writeFileSync(this.path, `${this.#lines.join("\n")}\n`);
    return this.path;
  }
}

describe("a session file with malformed lines and null contents", () => {
  it("is opened as far as Pi opens it: the good entries can be listed, searched and read, and windows change", async () => {
    const file = new DamagedFile();
    file.message("aaaa0001", "user", [text("GOOD ONE")]);
    file.line('{"type":"message","id":"broken');
    file.message("aaaa0002", "assistant", [text("GOOD TWO")]);
    file.entry("aaaa0003", { type: "custom", customType: null, data: null });
    file.entry("aaaa0004", { type: "custom", customType: "pi-token-budget:cancelled", data: null });
    const custom = { type: "custom_message", content: "x", display: false };
    file.entry("aaaa0005", { ...custom, customType: "pi-token-budget:fallback", details: null });
    file.entry("aaaa0006", { ...custom, customType: "pi-token-budget:window", details: { opens: 7 } });
    file.entry("aaaa0007", { type: "nosuch", content: null });
    file.line("not json at all");
    file.message("aaaa0008", "user", "GOOD THREE");
    file.message("aaaa0009", "assistant", [text("GOOD FOUR")]);
    const s = await pi({
      session: { path: file.write() },
      next: (_request, n) => (n === 0 ? [call("new_context")] : `answer ${n}`),
    });
    await s.prompt("go on");
    expect(s.requests).toHaveLength(2);
    expect(whole(s.requests[0])).toContain("GOOD THREE");
    expect(unpaired(s.requests[0]?.messages ?? [])).toEqual([]);
    expect(roles(s.requests[1])).toEqual(["user"]);
    expect(first(s.requests[1])).toContain("window, w2");
    const listed = await s.callTool("history_list_items", { window_id: "w1", limit: 200 });
    for (const word of ["GOOD ONE", "GOOD TWO", "GOOD THREE", "GOOD FOUR"])
      expect(textOf({ content: listed.content })).toContain(word);
    const read = await s.callTool("history_read_item", { item_id: "aaaa0002", window_id: "w1" });
    expect(textOf({ content: read.content })).toContain("GOOD TWO");
    const found = await s.callTool("history_search_contents", { query: "GOOD" });
    expect(textOf({ content: found.content })).toContain('"total":4');
  });

  it("in a closed window keeps them out of requests, and the tools pass over what is not there", async () => {
    const file = new DamagedFile();
    file.message("aaaa0001", "user", null);
    file.message("aaaa0002", "user", [null, 7, { type: "text" }, { type: "odd" }, text("GOOD ONE")]);
    file.message("aaaa0003", "assistant", [{ type: "toolCall", id: "c1", name: "new_context", arguments: null }]);
    const opens = { opens: "w2", number: 2, previous: "w1", cause: "new_context" };
    const details = { ...opens, bootstrap: "[context] a fresh window, w2", bootstrapTimestamp: Date.UTC(2100, 0) };
    const result = { toolCallId: "c1", toolName: "new_context", isError: false, details };
    file.message("aaaa0004", "toolResult", null, result);
    const s = await pi({ session: { path: file.write() }, next: () => "fine" });
    await s.prompt("go on");
    expect(s.requests).toHaveLength(1);
    expect(roles(s.requests[0])).toEqual(["user", "user"]);
    expect(first(s.requests[0])).toBe("[context] a fresh window, w2");
    const listed = await s.callTool("history_list_items", { window_id: "w1", limit: 200 });
    expect(textOf({ content: listed.content })).toContain("GOOD ONE");
    const read = await s.callTool("history_read_item", { item_id: "aaaa0001", window_id: "w1" });
    expect(textOf({ content: read.content })).toContain('"item_id":"aaaa0001"');
    const found = await s.callTool("history_search_contents", { query: "GOOD" });
    expect(textOf({ content: found.content })).toContain('"total":1');
  });
});

describe("what models report", () => {
  it("usage that jumps from a tenth to 99 percent in one response leads straight to the checkpoint", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n < 2) return using(n === 0 ? 20_000 : 198_000, slow());
        return n === 2 ? using(199_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(4);
    expect([controls(s, "reminder").length, controls(s, "fallback").length]).toEqual([0, 1]);
    expect(last(s.requests[2])).toContain("Checkpoint required");
    expect(first(s.requests[3])).toContain("window, w2");
  });

  it("no usage at all: the window's own text is counted, in the first window and in later ones", async () => {
    const none = { input: 0, output: 0, totalTokens: 0 };
    const big = () => text("y".repeat(64_000));
    const s = await pi({
      contextWindow: 40_000,
      factories: [slowTool],
      next: (request, n) => {
        if (last(request).includes("Checkpoint required")) return { content: [note(`n${n}.md`)], usage: none };
        return { content: n < 6 ? [big(), slow()] : [text("done")], usage: none };
      },
    });
    await s.prompt("go");
    // Two big answers fill a window of 40,000 tokens; the third request of each is its checkpoint.
    expect(s.requests).toHaveLength(7);
    expect(controls(s, "fallback")).toHaveLength(2);
    expect(first(s.requests[6])).toContain("window, w3");
  });

  it("tokens that are no numbers are taken for no report, and nothing fails", async () => {
    const odd = { input: Number.NaN, output: -5, totalTokens: Number.NaN };
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (_request, n) => ({ content: n === 0 ? [slow()] : [text("done")], usage: odd }),
    });
    await s.prompt("go");
    await s.prompt("more");
    expect(s.requests).toHaveLength(3);
    expect(controls(s, "fallback")).toHaveLength(0);
    expect(s.ui.notices.filter(({ type }) => type === "error")).toEqual([]);
    expect(readdirSync(s.directory)).toContain("project");
  });
});
