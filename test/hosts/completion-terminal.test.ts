// What Tab completes behind a command, as a person types it in a terminal: windows, notes, tasks and labels.
import { describe, it } from "vitest";
import { noTerminalReason, type Terminal } from "../../fixtures/pi/terminal.ts";
import { httpTerminals } from "./http-terminals.ts";

const start = httpTerminals();

const LABELLED = { tokenBudget: { categories: { "client-x": ["local/vault"] } } };

/** Types the beginning of a command, takes the completion that is offered, and sends it. */
async function complete(t: Terminal, typed: string, whole: string): Promise<void> {
  await t.press(typed);
  // The second time it stands in the list below what is typed.
  await t.until(`an offer for ${typed}`, (screen) => screen.includes(`→ ${whole.split(" ").at(-1)}`));
  await t.press("Tab");
  await t.until(whole, (screen) => screen.includes(whole));
  await t.press("Enter");
}

describe.skipIf(noTerminalReason() !== undefined)("Tab behind a command", () => {
  it("completes windows, notes, the ids of tasks and labels, and Enter runs what stands there", async () => {
    const t = await start("obedient-32k", { settings: LABELLED });
    await t.say("work 7 of 4000");
    await t.until("the end of the work, in w2", (screen) => /The work is done\.[\s\S]*w2 · /.test(screen));

    await complete(t, "/notes ch", "/notes checkpoint.md");
    await t.until("the note", (screen) => screen.includes("Goal: what the user asked."));
    await complete(t, "/windows w", "/windows w2");
    await t.until("the windows from w2 on", (screen) => screen.includes("older window: /windows w1"));

    await t.say("/task say yes");
    const ended = await t.until("the end of the task", (screen) => screen.includes("is completed: say yes"));
    const [, id = ""] = /Task ([0-9a-f]{16}) is completed/.exec(ended) ?? [];
    await complete(t, `/tasks ${id.slice(0, 3)}`, `/tasks ${id}`);
    await t.until("the task", (screen) => screen.includes(`say yes (${id})`));
    await t.say("/tasks zzz");
    await t.until("no such task", (screen) => screen.includes(`There is no task "zzz".`));

    await complete(t, "/category cl", "/category client-x");
    await t.until("the category in the footer", (screen) => /w2 · [^\n]*client-x/.test(screen));
  });
});
