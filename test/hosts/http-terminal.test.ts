// A real provider over HTTP and a person at a real terminal: several windows, models that do not do what they are told, errors,
// and a screen of 40 columns. What the terminal shows is compared with what the provider was sent.
import { describe, expect, it } from "vitest";
import { noTerminalReason } from "../../fixtures/pi/terminal.ts";
import { httpTerminals } from "./http-terminals.ts";
import { first, texts, whole } from "./support.ts";

const start = httpTerminals();

const NARROW = 40;

describe.skipIf(noTerminalReason() !== undefined)("a provider over HTTP, in a terminal", () => {
  it("an obedient model works through three windows, each left with one note and no refused request", async () => {
    const t = await start("obedient-32k");
    await t.say("work 12 of 4000");
    await t.until("the end of the work, in w3", (screen) => /The work is done\.[\s\S]*w3 · /.test(screen));
    const requests = t.requests();
    // Twelve rounds of work, two notes, the answer.
    expect(requests).toHaveLength(15);
    expect(requests.map((request) => /fresh context window, (w\d)/.exec(first(request))?.[1] ?? "w1")).toEqual([
      ...Array(7).fill("w1"),
      ...Array(7).fill("w2"),
      "w3",
    ]);
    expect(first(requests[14])).toContain("work 12 of 4000");
    expect(requests.flatMap(texts).filter((words) => words.includes("was not run"))).toEqual([]);
    await t.say("/notes");
    await t.until("the note", (screen) => screen.includes("checkpoint.md"));
  });

  it("the provider's error reaches the person in its own words, and the session goes on", async () => {
    const t = await start("obedient-200k");
    await t.say("fail always 401 the key has expired");
    await t.until("the error", (screen) => screen.includes("the key has expired"));
    await t.say("go on");
    await t.until("the answer", (screen) => screen.includes("As you say."));
    expect(t.requests().at(-1)?.messages.length).toBeGreaterThan(1);
  });

  it("of 40 columns everything fits, and Pi lives", async () => {
    const t = await start("obedient-32k", { columns: NARROW });
    await t.say("work 7 of 4000");
    await t.until("the next window", (screen) => /w2 · /.test(screen));
    await t.until("the end of the work", (screen) => screen.includes("The work is done."));
    for (const [command, shown] of [
      ["/context", /Storage/],
      ["/notes", /checkpoint\.md/],
      ["/token-budget doctor", /Nothing is wrong|fixing/],
    ] as const) {
      await t.say(command);
      await t.until(command, (screen) => shown.test(screen));
    }
    await t.say("and now");
    await t.until("an answer", (screen) => screen.includes("As you say."));
    expect(whole(t.requests().at(-1))).toContain("and now");
  });
});
