// The one table of commands: completion, usage and answers are made from it.
import { describe, expect, it } from "vitest";
import type { HostContext } from "../../src/host/api.ts";
import { COMMANDS, type CommandName, defineCommand, usageOf } from "../../src/ui/commands.ts";

const NAMES = Object.keys(COMMANDS) as CommandName[];
const ctx = {} as HostContext;

function command(name: CommandName, complete?: (prefix: string) => readonly string[]) {
  const shown: string[] = [];
  const made = defineCommand(name, {
    answer: (argument) => (argument === "known" ? "an answer" : undefined),
    show: (_ctx, text) => void shown.push(text),
    ...(complete ? { complete } : {}),
  });
  return { made, shown };
}

describe("a command", () => {
  it("answers an argument it knows, with the blanks around it gone, and shows its usage otherwise", async () => {
    const { made, shown } = command("context");
    await made.handler("  known ", ctx);
    await made.handler("sideways", ctx);
    expect(shown).toEqual(["an answer", usageOf("context")]);
    expect(shown[1]).toBe(
      "usage: /context shows the window, its budget, the thresholds and where each comes from; /context new saves a checkpoint and opens the next window, in a session of any size.",
    );
  });

  it("completes its own words and what it is given, and nothing else", () => {
    const values = (name: CommandName, prefix: string) =>
      command(name, () => ["o.md"])
        .made.getArgumentCompletions?.(prefix)
        ?.map(({ value }) => value);
    expect(values("token-budget", "o")).toEqual(["on", "off", "o.md"]);
    expect(values("token-budget", "d")).toEqual(["doctor", "o.md"]);
    expect(values("notes", "")).toEqual(["o.md"]);
    expect(values("notes", "o.md")).toBeUndefined();
    expect(values("token-budget", "off")).toEqual(["o.md"]);
    expect(command("context").made.getArgumentCompletions?.("x")).toBeNull();
  });

  it.each(NAMES)("/%s has a short description and says what each form does", (name) => {
    expect(COMMANDS[name].description.length).toBeLessThanOrEqual(80);
    for (const { does } of COMMANDS[name].forms) expect(usageOf(name)).toContain(does);
  });
});
