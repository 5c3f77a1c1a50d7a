// What a person sees of this package in Pi's interactive mode: a real terminal, keys in, screens out.
import { afterEach, describe, expect, it } from "vitest";
import type { Replies } from "../../fixtures/pi/cli.ts";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import {
  isReady,
  noTerminalReason,
  startTerminal,
  type Terminal,
  type TerminalOptions,
} from "../../fixtures/pi/terminal.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { item } from "../todo/items.ts";
import { using } from "./support.ts";

const open: Terminal[] = [];
afterEach(() => {
  for (const terminal of open) terminal.close();
  for (const { environment } of open.splice(0)) environment.remove();
});

async function terminal(model: Replies, options: Omit<TerminalOptions, "model"> = {}): Promise<Terminal> {
  const started = startTerminal({ model, ...options });
  open.push(started);
  await started.until("Pi", isReady);
  return started;
}

const write = (...todos: readonly ReturnType<typeof item>[]) => call("todo_write", { todos });
const PLAN = write(item("plan it", "completed"), item("build it", "in_progress"), item("請求書をテストする"));
const DONE = write(
  item("plan it", "completed"),
  item("build it", "completed"),
  item("請求書をテストする", "completed"),
);
const slowly = (words: string) => ({ content: [text(words)], delayMs: 1_500 });

const PAUSED = " ✓ plan it\n ▹ build it (paused)\n ○ 請求書をテストする\n";
const FINISHED = " ✓ plan it\n ✓ build it\n ✓ 請求書をテストする\n";

// A real terminal needs tmux; `.ci/run` installs it where it can.
/** The oldest and the newest are looked at; what is between them is drawn by the same calls. */
const IS_SEEN_ELSEWHERE = currentHostName() === "0.84.4";

describe.skipIf(noTerminalReason() !== undefined || IS_SEEN_ELSEWHERE)("in a terminal", () => {
  it("the todo widget appears, follows the list and its branch, folds away, and comes back on resume", async () => {
    const t = await terminal([[PLAN], slowly("That is the plan."), [DONE], "All is done.", "You are welcome."]);
    expect(t.screen()).not.toMatch(/[✓▸▹○] /);
    await t.say("go");
    await t.until("the running item", (screen) => screen.includes(" ✓ plan it\n ▸ build it\n ○ 請求書をテストする\n"));
    const idle = await t.until("the paused item", (screen) => screen.includes(PAUSED));
    // One line for the call, one for its result.
    expect(idle).toContain(" Todo list 3 items\n 1 of 3 done · build it\n");
    await t.say("finish");
    await t.until("the finished list", (screen) => screen.includes(FINISHED));
    await t.say("thanks");
    const folded = await t.until("the answer", (screen) => screen.includes("You are welcome."));
    expect(folded).not.toMatch(/^ [✓▸▹○] /m);

    await t.say("/tree");
    await t.until("the tree", (screen) => screen.includes("Session Tree"));
    const isAtPlan = (screen: string) => screen.includes("› • assistant: That is the plan.");
    for (let steps = 0; steps < 10 && !isAtPlan(t.screen()); steps++) await t.press("Up");
    await t.until("the plan's entry", isAtPlan);
    await t.press("Enter");
    await t.until("the question of a summary", (screen) => screen.includes("No summary"));
    await t.press("Enter");
    await t.until("the list of that branch", (screen) => screen.includes(PAUSED));

    // Something said there makes it the branch that a resume shows.
    await t.say("go on");
    await t.until("the answer", (screen) => /go on[\s\S]*You are welcome\.[\s\S]*build it \(paused\)/.test(screen));
    t.close();
    const { environment, cwd } = t;
    const again = await terminal(["I am back."], { environment, cwd, args: ["-c"] });
    await again.until("the list", (screen) => screen.includes(PAUSED));
    again.resize(20, 40);
    await again.until("a narrow list", (screen) => screen.includes(" ▹ build it (paused)\n ○ 請求書をテストす…\n"));
    again.resize(100, 40);
    await again.say("/todos clear");
    // The first Enter took the completion.
    await again.press("Enter");
    const cleared = await again.until("the notice", (screen) => screen.includes("The todo list is cleared"));
    expect(cleared).not.toMatch(/^ [✓▸▹○] /m);
  });

  it("a task whose child has something to say leaves the screen as Pi draws it", async () => {
    const t = await terminal(["Done."], { settings: { tokenBudget: { wrong: 1 } } });
    await t.say("/task Sum it up");
    await t.until("the end of the task", (screen) => screen.includes("is completed: Sum it up."));
    // What stands above was there before Pi drew anything.
    const chatOf = (screen: string) => screen.slice(screen.indexOf("[Extensions]")).trimEnd();
    const isQuiet = (screen: string) => !screen.includes("1 agent") && !screen.includes("▸ Sum it up");
    const drawn = chatOf(await t.until("no line and no agent of the task", isQuiet));
    // Another width draws everything anew.
    t.resize(90, 40);
    await t.until("a narrower line", (screen) => /^─{90}$/m.test(screen) && !/^─{91}/m.test(screen));
    t.resize(100, 40);
    const again = await t.until("the first width", (screen) => /^─{100}$/m.test(screen));
    expect(drawn).toBe(chatOf(again));
  });

  it("tool calls are short and open up; control messages and bootstraps are not shown as chat", async () => {
    const note = call("notes_write_file", { path: "checkpoint.md", text: "first line\nsecond line" });
    const t = await terminal([using(186_000, PLAN), using(187_000, note), "The next window."]);
    await t.say("go");
    await t.until("the answer", (screen) => screen.includes("The next window."));
    expect(t.requests().map(({ messages }) => JSON.stringify(messages).includes("Checkpoint required"))).toEqual([
      false,
      true,
      false,
    ]);
    // What has been drawn is not always on the screen at once: Pi draws anew when a window opens.
    await until(
      () => `call and result in short, but:\n${t.scrolled()}`,
      () => / Write a note checkpoint\.md\n[\s\S]*created · 22 bytes/.test(t.scrolled()),
      { checkMs: 50 },
    );
    expect(t.scrolled()).not.toContain("second line");
    await t.press("C-o");
    await t.until("the whole note", (screen) => screen.includes(" first line") && screen.includes(" second line"));
    for (const words of ["Checkpoint required", "fresh context window", "[context", "[id:"])
      expect(t.scrolled()).not.toContain(words);
  });
});
