// A provider over HTTP and a person at a real terminal, with models that do not do what windows ask of them: one that never
// saves its checkpoint, one that never calls a tool, and one whose window leaves no room for windows.
import { describe, expect, it } from "vitest";
import { noTerminalReason } from "../../fixtures/pi/terminal.ts";
import { count, httpTerminals, IS_SEEN_ELSEWHERE, joined, TALL } from "./http-terminals.ts";
import { first, last, texts } from "./support.ts";

/** The default of `fenceMaxRequests`. */
const BOUND = 5;

const start = httpTerminals();

describe.skipIf(noTerminalReason() !== undefined || IS_SEEN_ELSEWHERE)("a model over HTTP, in a terminal", () => {
  it("that never saves its checkpoint is in a new window after a bounded number of requests, and the person is told once", async () => {
    const t = await start("stubborn-32k", { rows: TALL });
    await t.say("work 14 of 4000");
    await t.until("the end of the work, in w2", (screen) => /The work is done\.[\s\S]*w2 · /.test(screen));
    const requests = t.requests();
    const opened = requests.findIndex((request) => first(request).includes("fresh context window, w2"));
    const asked = requests.findIndex((request) =>
      texts(request).some((words) => words.includes("Checkpoint required")),
    );
    expect(asked).toBeGreaterThan(0);
    expect(opened - asked).toBe(BOUND);
    expect(first(requests[opened])).toContain("The checkpoint of w1 was not saved");
    expect(first(requests[opened])).toContain("work 14 of 4000");
    expect(count(joined(t.scrolled()), "w2 opened without a note"), t.scrolled()).toBe(1);
    await t.say("and now");
    await t.until("an answer", (screen) => screen.includes("As you say."));
    expect(last(t.requests().at(-1))).toContain("and now");
    expect(count(joined(t.scrolled()), "so w2 opened without a note")).toBe(1);
  });

  it("that only talks is reminded before it is asked for a checkpoint", async () => {
    const t = await start("chat-32k", { rows: TALL });
    for (let turn = 1; turn <= 9; turn++) {
      const before = t.requests().length;
      await t.say(`say ${2_500 + turn}`);
      await t.until(`an answer to prompt ${turn}`, () => t.requests().length > before);
      await t.until("its end", (screen) => !screen.includes("Working..."));
    }
    const firstWith = (words: string) =>
      t.requests().findIndex((request) => texts(request).some((one) => one.includes(words)));
    expect(firstWith("] Reminder: ")).toBeGreaterThan(0);
    expect(firstWith("Checkpoint required")).toBeGreaterThan(firstWith("] Reminder: "));
  });

  it("whose window leaves no room works as in Pi alone, and one sentence says so", async () => {
    const t = await start("obedient-8k", { rows: TALL });
    await t.say("work 9");
    // Pi takes notices off the screen when it compacts, which it does after each answer in so small a window.
    const told = await t.until("the sentence", (screen) => joined(screen).includes("Windows are off in this session"));
    expect(joined(told).match(/Windows are off/g)).toHaveLength(1);
    await t.until("the end of the work", (screen) => screen.includes("The work is done."));
    await t.say("and now");
    await t.until("an answer", (screen) => screen.includes("As you say."));
    expect(t.requests().some((request) => last(request).includes("and now"))).toBe(true);
    for (const request of t.requests()) expect(texts(request).join()).not.toContain("[context");
  });
});
