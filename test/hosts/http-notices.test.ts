// What a person is told stands where they see it: below what Pi draws anew, and in the footer as long as it lasts. A provider
// over HTTP, a real terminal.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { noTerminalReason } from "../../fixtures/pi/terminal.ts";
import { count, httpTerminals, IS_SEEN_ELSEWHERE, joined, TALL } from "./http-terminals.ts";

const start = httpTerminals();

const NARROW = 40;
const OPEN_TOO = "has this session open too";

describe.skipIf(noTerminalReason() !== undefined || IS_SEEN_ELSEWHERE)("in a terminal", () => {
  it("two Pi on one session are told of each other: the second below the restored chat, the first when it comes", async () => {
    const one = await start("obedient-200k");
    await one.say("say 300");
    await one.until("the answer", (screen) => screen.includes("the cat sat") && /w1 · \d+ % left/.test(screen));
    await one.say("hello");
    await one.until("the next answer", (screen) => screen.includes("As you say."));
    const { environment, cwd } = one;
    const two = await start("obedient-200k", { environment, cwd, args: ["-c"] });
    const restored = await two.until("the warning", (screen) => joined(screen).includes(OPEN_TOO));
    expect(restored.indexOf("As you say.")).toBeGreaterThanOrEqual(0);
    expect(restored.lastIndexOf("another Pi, process")).toBeGreaterThan(restored.lastIndexOf("As you say."));
    expect(restored).toContain("open in another Pi too");
    const first = await one.until("the warning", (screen) => joined(screen).includes(OPEN_TOO));
    expect(first).toContain("open in another Pi too");
    expect(count(joined(one.scrolled()), OPEN_TOO)).toBe(1);
    await two.say("/token-budget forget");
    await two.until("why not", (screen) => joined(screen).includes("Nothing will be removed: another Pi"));
    await two.press("C-d");
    await one.until("the footer as it was", (screen) => !screen.includes("open in another Pi too"));
  });

  it("a model too small for windows is named in the footer from the start, also behind Pi's own compactions", async () => {
    const t = await start("obedient-8k", { rows: TALL });
    const told = await t.until("the sentence", (screen) => joined(screen).includes("Windows are off in this session"));
    expect(told).toContain("windows off: model too small");
    expect(told).not.toMatch(/w1 · /);
    await t.say("/token-budget on");
    await t.until("no untrue word", (screen) => count(joined(screen), "Windows are off in this session") === 2);
    expect(t.screen()).not.toContain("kept in this session again");
    await t.say("work 9");
    await t.until("the end of the work", (screen) => screen.includes("The work is done."));
    expect(t.screen()).toContain("windows off: model too small");
  });

  it("a window that an overflow opened says so below what Pi has drawn anew, once", async () => {
    const t = await start("obedient-32k", { rows: TALL });
    await t.say("work 3 of 3000");
    await t.until("the end of the work", (screen) => screen.includes("The work is done."));
    await t.say(
      "fail 400 This model's maximum context length is 32768 tokens. However, your messages resulted in 40000 tokens.",
    );
    await t.until("the next window", (screen) => /w2 · .*opened without a note/.test(screen));
    await t.until("the notice", (screen) => joined(screen).includes("so window w2 opens without a new note"));
    await t.say("and now");
    await t.until("the answer", (screen) => screen.includes("and now"));
    expect(count(joined(t.scrolled()), "so window w2 opens without a new note")).toBe(1);
  });

  it("what is wrong with the settings is told below the chat, also after /reload", async () => {
    const t = await start("obedient-200k");
    await t.say("hello");
    await t.until("the answer", (screen) => screen.includes("As you say."));
    const settings = { tokenBudget: { models: { "*": { hardRolloverTokens: 5 } } } };
    writeFileSync(join(t.environment.agentDir, "settings.json"), JSON.stringify(settings));
    await t.say("/reload");
    const shown = await t.until("the warning", (screen) => screen.includes("did you mean hardRolloverUsedTokens?"));
    expect(shown.lastIndexOf("did you mean")).toBeGreaterThan(shown.lastIndexOf("As you say."));
  });

  it("answers fit 40 columns: lines that go on stand in, and paths are broken behind a slash", async () => {
    const t = await start("obedient-200k", { columns: NARROW, rows: TALL });
    await t.say("hello");
    await t.until("the answer", (screen) => screen.includes("As you say."));
    await t.say("/context");
    const context = await t.until("the window", (screen) => screen.includes("Storage in"));
    const storage = context.slice(context.lastIndexOf("Storage in"));
    const [, ...lines] = storage.split("\n").slice(
      0,
      storage.split("\n").findIndex((line) => line.trim() === ""),
    );
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/^ {3}\S/);
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/[/-]$/);
    await t.say("/windows");
    const windows = await t.until("the windows", (screen) => /w1 \* .*\n {3}\S/.test(screen));
    expect(joined(windows)).toContain("1 request");
  });
});
