// A provider that refuses what is too long in words that nobody knows, and a model that never saves anything: each ends in
// something that goes on, or in a word of what to do.
import { expect, it } from "vitest";
import { type Answer, call, type Request, requestTokens, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, controls, first, pi, texts, using } from "./support.ts";

closeAfterEach();

const WINDOW = 32_768;
const error = (message: string): Answer => ({ content: [], stopReason: "error", errorMessage: message });
const refusal = (used: number) => error(`request rejected: n_tokens=${used} while n_ctx=${WINDOW}`);
/** About so many tokens. */
const long = (tokens: number) => "the cat sat ".repeat(tokens / 3);

it("refused in a full window, in whatever words, the work goes on in the next one", async () => {
  const s = await pi({
    ui: true,
    contextWindow: WINDOW,
    next: (request: Request, n) => {
      const used = requestTokens(request);
      if (used > WINDOW) return refusal(used);
      if (n === 0) return using(20_000, text(long(18_000)));
      if (n === 1) return using(20_500, call("bash", { command: "yes the cat sat | head -c 50000 | tr '\\n' ' '" }));
      return using(used, text("done"));
    },
  });
  await s.prompt("say a lot");
  await s.prompt("and now a long output");
  const opened = s.requests.findIndex((request) => first(request).includes("fresh context window, w2"));
  expect(opened).toBeGreaterThan(1);
  // One request was refused, and nothing was asked of that window again.
  expect(opened).toBe(3);
  expect(s.ui.notices.map(({ message }) => message).join("\n")).toContain("n_tokens=");
  await s.prompt("go on please");
  expect(s.requests.slice(opened).every((request) => requestTokens(request) < WINDOW)).toBe(true);
  expect(s.requests.length).toBeLessThanOrEqual(opened + 2);
});

it("refused again in the fresh window, no other one opens, and the person is told what to do", async () => {
  let refuses = false;
  const s = await pi({
    ui: true,
    contextWindow: WINDOW,
    next: (_request: Request, n) => {
      if (n === 0) return using(30_000, text("much"));
      refuses = true;
      return refusal(40_000);
    },
  });
  await s.prompt("one");
  await s.prompt("two");
  expect(refuses).toBe(true);
  expect(s.requests.filter((request) => first(request).includes("fresh context window")).length).toBeLessThanOrEqual(1);
  expect(s.requests.some((request) => texts(request).some((words) => words.includes("window, w3")))).toBe(false);
  expect(s.ui.notices.at(-1)?.message).toMatch(/refuses this fresh window's request too.*\/model\)\.$/);
});

for (const outage of ["503 the service is unavailable", "500 Internal Server Error", "Provider returned error"])
  it(`an outage opens no window, however full this one is: ${outage}`, async () => {
    const s = await pi({
      ui: true,
      settings: { retry: { enabled: false } },
      contextWindow: WINDOW,
      next: (_request: Request, n) => (n === 0 ? using(30_000, text("much")) : error(outage)),
    });
    await s.prompt("one");
    await s.prompt("two");
    expect(s.requests.some((request) => first(request).includes("fresh context window"))).toBe(false);
  });

it("a model that saves nothing gets three windows without a note, and then windows step aside", async () => {
  const s = await pi({
    ui: true,
    contextWindow: WINDOW,
    settings: { tokenBudget: { fenceMaxRequests: 2 } },
    requestLimit: 60,
    next: (request: Request) => {
      if (s.ui.notices.some(({ message }) => message.includes("Windows are off"))) return "enough";
      const rounds = request.messages.filter(({ role }) => role === "assistant").length;
      return using(rounds < 2 ? 9_000 : 27_000, call("bash", { command: "echo again" }));
    },
  });
  await s.prompt("go");
  const said = s.ui.notices.map(({ message }) => message);
  expect(said.filter((message) => message.includes("opened without a note"))).toHaveLength(3);
  expect(said.filter((message) => message.includes("Windows are off in this session"))).toHaveLength(1);
  expect(said.at(-1)).toContain("/token-budget on");
  expect(controls(s, "fallback")).toHaveLength(4);
});
