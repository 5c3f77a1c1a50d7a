// Models whose window is too small for windows of ours, or is filled by the fixed part of every request: the package steps
// aside with one sentence, and the host works as it does without it.
import type { ExtensionAPI, ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, controls, first, pi, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const slow = () => call("slow", { ms: 1 });
const aside = (s: PiSession) => s.ui.notices.filter(({ message }) => message.includes("Windows are off"));
const windowsOf = (s: PiSession) => new Set(s.requests.map((request) => /window, (w\d+)/.exec(first(request))?.[1]));
const obeys = (request: Request) => whole(request).includes("Checkpoint required");

/** Says that so many tokens of every request are fixed, and that each message adds a few. */
const withFixed = (fixed: number) => (request: Request, n: number) => {
  const used = fixed + 200 * request.messages.length;
  if (obeys(request)) return using(used, call("notes_write_file", { path: `n${n}.md`, text: "state" }));
  return using(used, n % 5 === 4 ? text("done") : slow());
};

/** A project that tells the model a lot. */
const longPrompt: ExtensionFactory = (api: ExtensionAPI) => {
  api.on("before_agent_start", (event) => ({ systemPrompt: `${event.systemPrompt}\n${"Rule. ".repeat(18_000)}` }));
};

describe("a window of 8,192 tokens", () => {
  it("keeps no windows, says so once, and makes the requests of a bare host", async () => {
    const next = withFixed(1_000);
    const s = await pi({ ui: true, contextWindow: 8_192, factories: [slowTool], next });
    const bare = await pi({ bare: true, contextWindow: 8_192, factories: [slowTool], next });
    for (const session of [s, bare]) for (let i = 0; i < 2; i++) await session.prompt(`prompt ${i}`);
    expect(s.requests).toHaveLength(bare.requests.length);
    expect(s.requests.map(({ messages }) => messages.length)).toEqual(
      bare.requests.map(({ messages }) => messages.length),
    );
    expect(s.requests.some(({ systemPrompt }) => systemPrompt.includes("pi_token_budget_guidance"))).toBe(false);
    expect(aside(s)).toHaveLength(1);
    expect(aside(s)[0]?.message).toMatch(/8,192.*at least 1\d,\d{3} tokens/s);
  });

  it("is left for a larger model, and windows are back", async () => {
    const s = await pi({
      ui: true,
      models: [
        { id: "small", contextWindow: 8_192 },
        { id: "large", contextWindow: 200_000 },
      ],
      next: () => using(2_000, text("done")),
    });
    await s.prompt("one");
    expect(aside(s)).toHaveLength(1);
    await s.selectModel("large");
    await s.prompt("two");
    expect(s.requests.at(-1)?.systemPrompt).toContain("pi_token_budget_guidance");
    expect(aside(s)).toHaveLength(1);
  });
});

describe("a window of 32,768 tokens", () => {
  it("that a long prompt fills keeps no windows from the start", async () => {
    const s = await pi({ ui: true, contextWindow: 32_768, factories: [longPrompt, slowTool], next: withFixed(27_000) });
    await s.prompt("go");
    await s.prompt("more");
    expect(controls(s, "fallback")).toHaveLength(0);
    expect(windowsOf(s)).toEqual(new Set([undefined]));
    expect(aside(s)).toHaveLength(1);
  });

  it("that the provider says is full with every first request changes at most once", async () => {
    const s = await pi({ ui: true, contextWindow: 32_768, factories: [slowTool], next: withFixed(27_000) });
    for (let i = 0; i < 8; i++) await s.prompt(`prompt ${i}`);
    expect(windowsOf(s)).toEqual(new Set([undefined, "w2"]));
    expect(aside(s)).toHaveLength(1);
    expect(s.requests.length).toBeLessThanOrEqual(8 * 5 + 2);
  });

  it("changes as usual when the fixed part is ordinary", async () => {
    const s = await pi({
      ui: true,
      contextWindow: 32_768,
      factories: [slowTool],
      next: (request, n) => {
        const used = 4_000 + request.messages.length * 3_000;
        if (obeys(request)) return using(used, call("notes_write_file", { path: `n${n}.md`, text: "state" }));
        return using(used, n < 30 ? slow() : text("done"));
      },
    });
    await s.prompt("go");
    expect(windowsOf(s).size).toBeGreaterThan(3);
    expect(aside(s)).toEqual([]);
  });
});
