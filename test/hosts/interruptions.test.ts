// What must not happen behind a person's back: work that goes on after Esc, fences that no longer fit, lost messages.
import { describe, expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import {
  asked,
  closeAfterEach,
  compactions,
  controls,
  first,
  isAsked,
  note,
  pi,
  SHORT_COMPACTION,
  texts,
  toolRuns,
  using,
  whole,
} from "./support.ts";
import { slowTool, UNTIL_ABORTED_MS } from "./tools.ts";

closeAfterEach();

const LONG = "x".repeat(4_000);

/** Two windows that the host still holds, then an answer of another kind. */
const twoWindowsThen = (last: (n: number) => unknown) => (_request: unknown, n: number) => {
  if (n === 0 || n === 2) return using(1_000, text(LONG), call("slow", { ms: 1 }));
  if (n === 1 || n === 3) return using(1_000, text(LONG), call("new_context"));
  return last(n) as never;
};

describe("after Esc, or an error", () => {
  it("nothing goes on by itself, though old windows are dropped meanwhile", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: twoWindowsThen(() => using(1_000, text(LONG), call("slow", { ms: UNTIL_ABORTED_MS }))),
    });
    void s.session.prompt("go").catch(() => undefined);
    await asked(s, 5);
    await toolRuns(s, 5);
    await s.session.abort();
    const sent = s.requests.length;
    await s.settled({ quietChecks: 60 });
    expect(s.requests).toHaveLength(sent);
    expect(controls(s, "continuation")).toHaveLength(0);
  });

  it("a final provider error stays the end of the run", async () => {
    const s = await pi({
      ui: true,
      settings: { ...SHORT_COMPACTION, retry: { enabled: false } },
      factories: [slowTool],
      next: twoWindowsThen(() => ({ content: [], stopReason: "error", errorMessage: "401 invalid key" })),
    });
    await s.prompt("go", { quietChecks: 30 });
    expect(s.requests).toHaveLength(5);
    expect(controls(s, "continuation")).toHaveLength(0);
  });
});

describe("a message queued during /context new", () => {
  it("is answered in the new window with all tools", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (request, n) => {
        if (isAsked(request)) return { content: [note()], delayMs: 150 };
        if (n === 0) return "hello";
        return whole(request).includes("waited 1") ? "done" : [call("slow", { ms: 1 })];
      },
    });
    await s.prompt("first");
    const command = s.session.prompt("/context new");
    await asked(s, 2);
    await s.session.followUp("FOLLOW ME");
    await command;
    await s.settled({ quietChecks: 30 });
    expect(s.requests).toHaveLength(4);
    expect(first(s.requests[2])).toContain("window, w2");
    expect(texts(s.requests[2]).at(-1)).toContain("FOLLOW ME");
    expect(s.toolResults().at(-1)).toMatchObject({ name: "slow", isError: false });
  });
});

describe("a fallback that rides along with the next prompt", () => {
  it("is taken back on a branch with room, and the tools are open there", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(10_000, text("small"));
        if (n === 1) return using(185_000, text("large"));
        return n === 2 ? using(11_000, call("slow", { ms: 1 })) : using(11_000, text("done"));
      },
    });
    await s.prompt("one");
    const small = s.sessionManager.getLeafId() ?? "";
    await s.prompt("two");
    await s.session.navigateTree(small);
    await s.prompt("three");
    expect(s.requests).toHaveLength(4);
    expect(whole(s.requests[2])).not.toContain("Checkpoint required");
    expect(s.toolResults().at(-1)).toMatchObject({ name: "slow", isError: false });
    expect(first(s.requests[3])).toContain("window w1");
  });

  it("is taken back when a larger model was chosen", async () => {
    const s = await pi({
      models: [
        { id: "small", contextWindow: 200_000 },
        { id: "big", contextWindow: 1_000_000 },
      ],
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, text("large"));
        return n === 1 ? using(186_000, call("slow", { ms: 1 })) : using(187_000, text("done"));
      },
    });
    await s.prompt("one");
    await s.selectModel("big");
    await s.prompt("two");
    expect(s.requests).toHaveLength(3);
    expect(whole(s.requests[1])).not.toContain("Checkpoint required");
    expect(s.toolResults().at(-1)).toMatchObject({ name: "slow", isError: false });
  });
});

describe("beside other extensions", () => {
  type ContextApi = { on(name: "context", handler: (event: { messages: Record<string, unknown>[] }) => object): void };

  it("one that strips details of results does not bring the old window back", async () => {
    const strips = (api: ContextApi) =>
      api.on("context", ({ messages }) => ({ messages: messages.map(({ details: _, ...message }) => message) }));
    const s = await pi({
      factories: [strips as never, slowTool],
      next: (_request, n) => (n === 0 ? [text("SECRET-w1"), call("new_context")] : "done"),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    expect(whole(s.requests[1])).not.toContain("SECRET-w1");
    expect(first(s.requests[1])).toContain("window, w2");
  });

  it("one that drops all but the newest messages leaves the others their ids", async () => {
    const slides = (api: ContextApi) => api.on("context", ({ messages }) => ({ messages: messages.slice(-4) }));
    const s = await pi({
      factories: [slides as never, slowTool],
      next: (_request, n) => (n < 60 ? [call("slow", { ms: 0 })] : "done"),
    });
    await s.prompt("go");
    const ids = texts(s.requests.at(-1)).filter((one) => one.startsWith("[id: "));
    expect(ids.length).toBeGreaterThan(0);
  });
});

it("a session file with a hostile id keeps its notes inside its own storage", async () => {
  const s = await pi({ next: () => "hello" });
  await s.prompt("one");
  const { readFileSync, writeFileSync, existsSync } = await import("node:fs");
  const { join } = await import("node:path");
  const file = s.session.sessionFile ?? "";
  const [header = "", ...rest] = readFileSync(file, "utf8").split("\n");
  const hostile = join(s.directory, "hostile.jsonl");
  writeFileSync(hostile, [JSON.stringify({ ...JSON.parse(header), id: "../../../escaped" }), ...rest].join("\n"));
  const again = await pi({ session: { path: hostile }, next: () => "hello" });
  await again.callTool("notes_write_file", { path: "a.md", text: "x" });
  expect(existsSync(join(s.directory, "..", "escaped"))).toBe(false);
  expect(existsSync(join(s.directory, "escaped"))).toBe(false);
  expect(compactions(again)).toHaveLength(0);
});
