// Requests that do not fit the model's window even in a fresh one: each costs a bounded number of requests, on every host.
import { describe, expect, it } from "vitest";
import { type Answer, call, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, pi, SHORT_COMPACTION, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

/** The provider accepts what does not fit and answers. */
const tooMuch = (n: number) => using(25_000, text(`answer ${n}`));
/** It cuts the request to fit and has no room left for an answer. */
const cutShort: Answer = { content: [], stopReason: "length", usage: { input: 24_000, output: 0 } };
const refused: Answer = {
  content: [],
  stopReason: "error",
  errorMessage: "prompt is too long: 25000 tokens > 24000 maximum",
};
const SMALL = { contextWindow: 24_000, settings: SHORT_COMPACTION, ui: true, factories: [slowTool] };

describe("a provider that reports more than the model's window", () => {
  it("for each finished answer: one request for one prompt, and the answer stays in the next one", async () => {
    const s = await pi({ ...SMALL, next: (_request, n) => tooMuch(n) });
    await s.prompt("hello", { quietChecks: 40 });
    expect(s.requests).toHaveLength(1);
    await s.prompt("and again", { quietChecks: 40 });
    expect(s.requests).toHaveLength(2);
    expect(whole(s.requests[1])).toContain("answer 0");
  });

  it("for a cut request without an answer: the one retry of a plain Pi, then a sentence", async () => {
    const s = await pi({ ...SMALL, next: () => cutShort });
    await s.prompt("hello", { quietChecks: 40 });
    expect(s.requests.length).toBeLessThanOrEqual(2);
  });

  it("after each tool call: a few windows, then a sentence", async () => {
    const s = await pi({
      ...SMALL,
      next: (_request, n) => (n % 2 === 0 ? using(1_000, call("slow", { ms: 1 })) : cutShort),
    });
    await s.prompt("hello", { quietChecks: 40 });
    expect(s.requests.length).toBeLessThanOrEqual(8);
    expect(s.ui.notices.filter(({ message }) => message.includes("does not fit"))).toHaveLength(1);
  });
});

describe("a provider that refuses whatever follows a tool call", () => {
  it("opens a few windows, then the session stands still with a sentence until a person speaks", async () => {
    const s = await pi({
      ...SMALL,
      next: (_request, n) => (n % 2 === 0 ? using(1_000, call("slow", { ms: 1 })) : refused),
    });
    await s.prompt("hello", { quietChecks: 40 });
    const { length } = s.requests;
    expect(length).toBeLessThanOrEqual(8);
    expect(s.ui.notices.filter(({ message }) => message.includes("does not fit"))).toHaveLength(1);
    await s.prompt("try again", { quietChecks: 40 });
    expect(s.requests.length).toBeGreaterThan(length);
    expect(s.requests.length).toBeLessThanOrEqual(2 * length);
  });
});
