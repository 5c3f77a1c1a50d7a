// A provider over HTTP and a person at a real terminal, with models that do not do what windows ask of them: one that never
// saves its checkpoint, one that never calls a tool, and one whose window leaves no room for windows.
import { afterEach, describe, expect, it } from "vitest";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { type Provider, startProvider } from "../../fixtures/pi/http-provider.ts";
import { isReady, noTerminalReason, startTerminal, type Terminal } from "../../fixtures/pi/terminal.ts";
import { first, last, texts } from "./support.ts";

/** The default of `fenceMaxRequests`. */
const BOUND = 5;

let provider: Provider | undefined;
let terminal: Terminal | undefined;
afterEach(async () => {
  terminal?.close();
  await provider?.close();
  terminal?.environment.remove();
});

async function start(id: string): Promise<Terminal> {
  provider = await startProvider();
  // All of a scenario fits: newer hosts keep no more than the screen.
  terminal = startTerminal({ model: { provider, id }, rows: ROWS });
  await terminal.until("Pi", isReady);
  return terminal;
}

const ROWS = 160;
const count = (text: string, words: string) => text.split(words).length - 1;
/** Words as they are where the terminal breaks lines. */
const joined = (screen: string) => screen.replace(/\s+/g, " ");
/** The oldest and the newest are looked at; what is between them is drawn by the same calls. */
const IS_SEEN_ELSEWHERE = currentHostName() === "0.84.4";

describe.skipIf(noTerminalReason() !== undefined || IS_SEEN_ELSEWHERE)("a model over HTTP, in a terminal", () => {
  it("that never saves its checkpoint is in a new window after a bounded number of requests, and the person is told once", async () => {
    const t = await start("stubborn-32k");
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
    const t = await start("chat-32k");
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
    const t = await start("obedient-8k");
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
