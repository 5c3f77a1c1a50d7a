// Providers over HTTP that are odd in what they answer: the same refused call for ever, nothing at all, usage only at the end.
// Requests stay bounded, the person is told, and Pi goes on.
import { describe, expect, it } from "vitest";
import { requestTokens } from "../../fixtures/pi/scripted-model.ts";
import { noTerminalReason } from "../../fixtures/pi/terminal.ts";
import { httpTerminals, IS_SEEN_ELSEWHERE, joined, TALL } from "./http-terminals.ts";
import { first, last, texts } from "./support.ts";

/** The default of `fenceMaxRequests`. */
const BOUND = 5;
const WINDOW_TOKENS = 32_768;

const start = httpTerminals();

describe.skipIf(noTerminalReason() !== undefined || IS_SEEN_ELSEWHERE)("a provider over HTTP, in a terminal,", () => {
  it("that always answers with the same refused call is asked a bounded number of times under a fence, and Esc ends it", async () => {
    const t = await start("refused-32k", { rows: TALL });
    await t.say("save it");
    await t.until("the next window", (screen) => /w2 · .*opened without a note/.test(screen));
    await t.press("Escape");
    await t.until("the end of the run", (screen) => /abort/i.test(screen) && !screen.includes("Working"));
    const requests = t.requests();
    const asked = requests.findIndex((request) => texts(request).some((one) => one.includes("Checkpoint required")));
    const opened = requests.findIndex((request) => first(request).includes("fresh context window, w2"));
    expect(asked).toBeGreaterThan(0);
    expect(opened - asked).toBe(BOUND);
    // Each refusal says what is wrong with the path, and the last ones what to do.
    expect(last(requests[1])).toContain("outside.md");
    expect(joined(t.scrolled())).toContain("w2 opened without a note");
    const before = t.requests().length;
    await t.say("/context");
    await t.until("the answer", (screen) => screen.includes("Storage in"));
    expect(t.requests()).toHaveLength(before);
  });

  it("that answers with nothing costs one request a prompt, and one for a checkpoint that it does not save", async () => {
    const t = await start("empty-32k", { rows: TALL });
    for (let prompts = 1; prompts <= 2; prompts++) {
      await t.say(`prompt ${prompts}`);
      await t.until("the request", () => t.requests().length === prompts);
      await t.until("its end", (screen) => !screen.includes("Working"));
    }
    await t.say("/context new");
    await t.until("the word that nothing was saved", (screen) => joined(screen).includes("No checkpoint was saved"));
    expect(t.requests()).toHaveLength(3);
    await t.say("/context new --without-note");
    await t.until("the question", (screen) => screen.includes("Open the next window without a note?"));
    // The harmless answer is the first.
    await t.press("Enter");
    await t.until("the window as it was", (screen) => screen.includes("The window stays as it is."));
    expect(t.screen()).toMatch(/w1 · /);
    await t.say("/context new --without-note");
    await t.until("the question", (screen) => screen.includes("Open the next window without a note?"));
    await t.press("Down");
    await t.press("Enter");
    await t.until("the next window", (screen) => /w2/.test(screen) && screen.includes("Window w2 is open"));
    expect(t.requests()).toHaveLength(3);
  });

  it("that reports usage at the end of a run alone is measured by estimates until then: no request is too long", async () => {
    const t = await start("late-32k", { rows: TALL });
    await t.say("work 14 of 4000");
    await t.until("the end of the work", (screen) => /The work is done\.[\s\S]*w\d · \d+ % left/.test(screen));
    const requests = t.requests();
    for (const request of requests) expect(requestTokens(request)).toBeLessThan(WINDOW_TOKENS);
    const windows = new Set(requests.map((request) => /fresh context window, (w\d)/.exec(first(request))?.[1] ?? "w1"));
    expect(windows.size).toBeGreaterThan(1);
    expect(requests.flatMap(texts).filter((words) => words.includes("was not saved"))).toEqual([]);
    expect(requests.length).toBeLessThanOrEqual(14 + 2 * windows.size);
  });
});
