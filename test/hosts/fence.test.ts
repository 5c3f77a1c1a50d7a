// The budget drives the windows: reminder, fallback, fence, checkpoint, on every host by what the model is sent.
import { describe, expect, it } from "vitest";
import { call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, controls, first, last, pi, roles, texts, unpaired, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const slow = () => call("slow", { ms: 1 });
const note = (path = "checkpoint.md", value = "the state of things") => call("notes_write_file", { path, text: value });

describe("the reminder", () => {
  it("comes once per window, by a steer in the run, and names items to cite", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => using(n < 4 ? 150_000 : 151_000, ...(n < 4 ? [slow()] : [text("done")])),
    });
    await s.prompt("build the ledger");
    expect(s.requests).toHaveLength(5);
    expect(controls(s, "reminder")).toHaveLength(1);
    expect(last(s.requests[1])).toMatch(/^\[context w1\] Reminder: About (50000|4999\d) tokens/);
    expect(last(s.requests[1])).toMatch(/\w{8} — w1 — user — build the ledger/);
    expect(texts(s.requests[4]).filter((one) => one.includes("Reminder:"))).toHaveLength(1);
  });

  it("outside a tool turn rides along with the next prompt and costs no request", async () => {
    const s = await pi({ next: () => using(150_000, text("done")) });
    await s.prompt("one");
    expect(s.requests).toHaveLength(1);
    await s.prompt("two");
    expect(s.requests).toHaveLength(2);
    expect(whole(s.requests[1])).toContain("Reminder:");
    await s.prompt("three");
    expect(controls(s, "reminder")).toHaveLength(1);
  });
});

describe("the fence", () => {
  it("lets exactly one own note write pass, and the run goes on in the next window by itself", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n === 1) return using(186_000, note());
        return using(1_000, text("going on"));
      },
    });
    await s.prompt("build the ledger");
    expect(s.requests).toHaveLength(3);
    expect(last(s.requests[1])).toContain("[context w1] Checkpoint required");
    expect(roles(s.requests[2])).toEqual(["user"]);
    expect(first(s.requests[2])).toContain("fresh context window, w2");
    expect(first(s.requests[2])).toContain('"path":"/root/notes/checkpoint.md"');
    expect(controls(s, "fallback")).toHaveLength(1);
  });

  it("refuses fifty other calls in a row, runs none of them, and costs no more than those requests", async () => {
    let ran = 0;
    const counted: typeof slowTool = (api) => {
      slowTool(api);
      api.on("tool_execution_end", (event) => void (event.toolName === "slow" && !event.isError && ran++));
    };
    const others = [
      slow,
      () => call("history_list_items"),
      () => call("notes_read_file", { path: "a" }),
      () => call("new_context"),
      () => call("get_context_remaining"),
    ];
    const s = await pi({
      settings: { tokenBudget: { fenceMaxRequests: 100 } },
      factories: [counted],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n <= 50) return using(186_000, (others[n % others.length] as typeof slow)());
        return n === 51 ? using(187_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(53);
    expect(ran).toBe(1);
    const refused = s.toolResults().filter((result) => result.isError);
    expect(refused).toHaveLength(50);
    for (const result of refused) expect(result.text).toContain("exactly one call of notes_write_file");
    expect(first(s.requests[52])).toContain("window, w2");
  });

  it("in one batch lets one of several writes through and refuses what comes after it", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n === 1) return using(186_000, slow(), note("one.md"), note("two.md"), slow());
        return using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(3);
    expect(s.toolResults().map(({ name, isError }) => [name, isError])).toEqual([
      ["slow", false],
      ["slow", true],
      ["notes_write_file", false],
      ["notes_write_file", true],
      ["slow", true],
    ]);
    expect(first(s.requests[2])).toContain("/root/notes/one.md");
    expect(first(s.requests[2])).not.toContain("two.md");
  });

  it("gives the claim back when the write fails, says how to correct it, and lifts for the next one", async () => {
    const bad = [
      note("../outside.md"),
      note("/root/other/notes/x.md"),
      note("big.md", "x".repeat(2_000)),
      call("notes_write_file", { path: "a.md" }),
    ];
    const s = await pi({
      settings: { tokenBudget: { notesMaxFileBytes: 1_000 } },
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        const attempt = bad[n - 1];
        if (attempt) return using(186_000, attempt);
        return n === bad.length + 1 ? using(186_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(bad.length + 3);
    expect(s.toolResults().map(({ isError }) => isError)).toEqual([false, true, true, true, true, false]);
    expect(first(s.requests.at(-1))).toContain("window, w2");
  });

  it("is still there after a final answer without a checkpoint: the next prompt is answered under it", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n === 1) return using(186_000, text("I would rather stop."));
        if (n === 2) return using(186_000, slow());
        return n === 3 ? using(186_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    await s.prompt("please go on");
    expect(s.requests).toHaveLength(5);
    expect(s.toolResults().map(({ isError }) => isError)).toEqual([false, true, false]);
    expect(first(s.requests[4])).toContain("please go on");
  });

  it("left by a process that died is still a fence in the next one", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => (n === 0 ? using(185_000, slow()) : using(186_000, text("no"))),
    });
    await s.prompt("go");
    const again = await pi({
      factories: [slowTool],
      session: { path: s.session.sessionFile ?? "" },
      next: (_request, n) =>
        n === 0 ? using(186_000, slow()) : n === 1 ? using(186_000, note()) : using(100, text("done")),
    });
    await again.prompt("more");
    expect(again.requests).toHaveLength(3);
    expect(again.toolResults().at(-2)?.text).toContain("needs its checkpoint first");
    expect(first(again.requests[2])).toContain("window, w2");
  });

  it("never holds a session that has no tool to save a checkpoint with", async () => {
    const s = await pi({
      factories: [slowTool],
      tools: ["slow"],
      next: (_request, n) => (n < 3 ? using(181_000, slow()) : using(182_000, text("done"))),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(4);
    expect(controls(s, "fallback")).toHaveLength(0);
    expect(s.toolResults().every(({ isError }) => !isError)).toBe(true);
  });

  it("comes for one huge tool result, once, and the result can be read in pages afterwards", async () => {
    const huge = "行🎉 data ".repeat(37_500);
    const bigTool: typeof slowTool = (api) =>
      api.registerTool({
        name: "big",
        label: "big",
        description: "Answers a lot.",
        parameters: { type: "object", properties: {} } as never,
        execute: async () => ({ content: [{ type: "text", text: huge }], details: {} }),
      } as never);
    const s = await pi({
      contextWindow: 128_000,
      factories: [bigTool],
      next: (_request, n) => {
        if (n === 0) return using(40_000, call("big"));
        return n === 1 ? using(125_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(3);
    expect(last(s.requests[1])).toContain("Checkpoint required");
    const { id } = s.toolResults()[0] ?? { id: "" };
    let read = "";
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page = await s.callTool("history_read_item", { item_id: id, window_id: "w1", offset_chars: offset });
      const [block] = page.content;
      const body = block?.type === "text" ? block.text : "";
      read += body.slice(body.indexOf("\n") + 1);
      offset = (page.details as { next_offset_chars?: number }).next_offset_chars;
    }
    expect(read).toBe(huge);
  });
});

describe("the budget", () => {
  it("after a change says unknown or the new figure, never the old one", async () => {
    const seen: string[] = [];
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(100_000, call("new_context"));
        if (n === 1) return using(2_000, call("get_context_remaining"));
        return using(3_000, text("done"));
      },
    });
    await s.prompt("go");
    const answer = JSON.parse(s.toolResults().at(-1)?.text ?? "{}");
    seen.push(answer.window_id);
    expect(answer).toMatchObject({
      agent: "/root",
      window_id: "w2",
      used_tokens: 2_000,
      phase: "ready",
      agents: ["/root"],
    });
    expect(seen).toEqual(["w2"]);
  });

  it("is enforced at a hard trigger, and again only after use fell below it", async () => {
    const s = await pi({
      settings: { tokenBudget: { hardRolloverUsedTokens: 50_000 } },
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(51_000, slow());
        if (n === 1) return using(51_000, note());
        // Still above: a new window that starts over the trigger is not fenced again.
        if (n < 5) return using(51_000, slow());
        if (n === 5) return using(20_000, slow());
        return n === 6 ? using(52_000, slow()) : n === 7 ? using(52_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(controls(s, "fallback")).toHaveLength(2);
    expect(s.requests).toHaveLength(9);
    expect(first(s.requests[8])).toContain("window, w3");
  });

  it("of a provider that reports no usage is estimated from the window's own text", async () => {
    const s = await pi({
      contextWindow: 40_000,
      factories: [slowTool],
      next: (_request, n) => {
        const none = { input: 0, output: 0, totalTokens: 0 };
        if (n === 0) return { content: [text("x"), call("new_context")], usage: none };
        if (n < 4) return { content: [text("y".repeat(50_000)), slow()], usage: none };
        return { content: n === 4 ? [note()] : [text("done")], usage: none };
      },
    });
    await s.prompt("go");
    expect(controls(s, "fallback").length).toBeGreaterThan(0);
    expect(first(s.requests.at(-1))).toContain("window, w3");
  });

  it("of a smaller model leads to the checkpoint", async () => {
    const s = await pi({
      models: [
        { id: "big", contextWindow: 400_000 },
        { id: "small", contextWindow: 100_000 },
      ],
      factories: [slowTool],
      next: (_request, n) =>
        n === 0 ? using(120_000, text("done")) : n === 1 ? using(121_000, note()) : using(1_000, text("ok")),
    });
    await s.prompt("one");
    await s.selectModel("small");
    await s.prompt("two");
    expect(whole(s.requests[1])).toContain("Checkpoint required");
    expect(s.requests).toHaveLength(3);
    expect(first(s.requests[2])).toContain("two");
  });
});

describe("the host's threshold", () => {
  it("is answered with the reminder and then with the fallback, never with a summary", async () => {
    const s = await pi({
      factories: [slowTool],
      settings: { compaction: { enabled: true, reserveTokens: 60_000, keepRecentTokens: 10 } },
      next: (_request, n) => {
        if (n < 2) return using(145_000 + n, text("x".repeat(400)));
        return n === 2 ? using(146_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("one");
    expect(s.requests).toHaveLength(1);
    await s.prompt("two");
    expect(whole(s.requests[1])).toContain("Reminder");
    expect(whole(s.requests[1])).not.toContain("Checkpoint required");
    await s.prompt("three");
    expect(s.requests).toHaveLength(4);
    expect(whole(s.requests[2])).toContain("Checkpoint required");
    expect(first(s.requests[3])).toContain("window, w2");
    expect(controls(s, "fallback")).toHaveLength(1);
  });
});

describe("every request", () => {
  it("pairs calls and results, and is a prefix of the window's next", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        const window = Math.floor(n / 6);
        const at = n % 6;
        if (window === 3) return using(1_000, text("done"));
        if (at === 2) return using(150_000, slow(), slow());
        if (at === 4) return using(186_000, slow());
        return at === 5 ? using(187_000, note(`w${window}.md`)) : using(20_000 + n, slow());
      },
    });
    await s.prompt("go");
    expect(first(s.requests.at(-1))).toContain("window, w4");
    for (let i = 0; i < s.requests.length; i++) {
      const { messages } = s.requests[i] as Request;
      expect(unpaired(messages)).toEqual([]);
      const before = s.requests[i - 1];
      if (!before || first(before) !== first(s.requests[i])) continue;
      expect(messages.slice(0, before.messages.length)).toEqual(before.messages);
    }
  });
});
