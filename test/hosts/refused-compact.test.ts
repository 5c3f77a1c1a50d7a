// A `/compact` with instructions that a newer Pi refuses in a short session, as a person types it in a real terminal: the
// command that works is in the editor with the same words.
import { afterEach, describe, expect, it } from "vitest";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";
import { isReady, noTerminalReason, startTerminal, type Terminal } from "../../fixtures/pi/terminal.ts";
import { last } from "./support.ts";

let terminal: Terminal | undefined;
afterEach(() => {
  terminal?.close();
  terminal?.environment.remove();
});

// 0.73.1 refuses no session for its size. A real terminal needs tmux.
const DOES_NOT_REFUSE = currentHostName() === "0.73.1";

describe.skipIf(noTerminalReason() !== undefined || DOES_NOT_REFUSE)("a /compact refused in a short session", () => {
  it("is one key away from the /context new that does what was asked", async () => {
    const note = call("notes_write_file", { path: "checkpoint.md", text: "the state" });
    terminal = startTerminal({ model: ["Good day.", [note], "I go on."] });
    const t = terminal;
    await t.until("Pi", isReady);
    await t.say("hello");
    await t.until("the answer", (screen) => screen.includes("Good day."));
    await t.say("/compact keep the failing tests in mind");
    await t.until("the hint", (screen) => /It is in\s+the\s+editor/.test(screen));
    await t.until("the line", (screen) => screen.includes("/context new keep the failing tests in mind"));
    await t.press("Enter");
    await t.until("the window", (screen) => screen.includes("Window w2 is open"));
    expect(t.requests()).toHaveLength(2);
    expect(last(t.requests()[1])).toContain("The user adds: keep the failing tests in mind");
    // Without instructions there is nothing to repeat.
    await t.say("on");
    await t.until("the answer", (screen) => screen.includes("I go on."));
    await t.say("/compact");
    await t.until("the other hint", (screen) => /takes\s+the\s+same\s+instructions/.test(screen));
  });
});
