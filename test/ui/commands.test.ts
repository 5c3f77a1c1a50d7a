// The one table of commands: completion, usage and answers are made from it.
import { describe, expect, it } from "vitest";
import type { HostContext } from "../../src/host/api.ts";
import {
  CHOICES_MAX,
  COMMANDS,
  type CommandName,
  type CommandParts,
  defineCommand,
  usageOf,
} from "../../src/ui/commands.ts";

const NAMES = Object.keys(COMMANDS) as CommandName[];
const ctx = {} as HostContext;

function command(name: CommandName, complete?: CommandParts["complete"]) {
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
    await made.handler("new --without-nite", ctx);
    await made.handler(" ", ctx);
    expect(shown[0]).toBe("an answer");
    expect(shown[1]).toBe(`/context does not know "sideways".\n${usageOf("context")}`);
    expect(shown[2]).toContain(
      '/context does not know "new --without-nite"; did you mean /context new --without-note?\nUsage:',
    );
    expect(shown[3]).toBe(usageOf("context"));
    expect(shown[3]?.split("\n").slice(0, 2)).toEqual([
      "Usage:",
      "  /context: shows the window, its budget, the thresholds and where each comes from",
    ]);
  });

  it("has a usage with one form a line", () => {
    for (const name of NAMES) expect(usageOf(name).split("\n")).toHaveLength(1 + COMMANDS[name].forms.length);
  });

  it("completes its own words and what it is given, and nothing else", async () => {
    const values = async (name: CommandName, prefix: string) => {
      const { made } = command(name, () => [{ value: "o.md" }]);
      return (await made.getArgumentCompletions?.(prefix))?.map(({ value }) => value);
    };
    expect(await values("token-budget", "o")).toEqual(["on", "off", "o.md"]);
    expect(await values("token-budget", "d")).toEqual(["doctor", "o.md"]);
    expect(await values("notes", "")).toEqual(["o.md"]);
    expect(await values("notes", "o.md")).toBeUndefined();
    // Enter behind a whole word runs it: nothing longer is offered then.
    expect(await values("token-budget", "off")).toBeUndefined();
    expect(await values("context", "new")).toBeUndefined();
    // What takes something away is offered when it was begun, never to Tab alone.
    expect(await values("context", "")).toEqual(["new", "o.md"]);
    expect(await values("context", "new ")).toEqual(["o.md"]);
    expect(await values("todos", "")).toEqual(["o.md"]);
    expect(await values("todos", "c")).toEqual(["clear", "o.md"]);
    expect(await values("token-budget", "")).toEqual(["on", "doctor", "keep", "o.md"]);
    expect(await values("token-budget", "f")).toEqual(["forget", "o.md"]);
    expect(await values("category", "")).toEqual(["o.md"]);
    expect(await values("context", "new -")).toEqual(["new --without-note", "o.md"]);
    expect(await command("context").made.getArgumentCompletions?.("x")).toBeNull();
  });

  it("completes with what stands behind a value, in a list that ends, and offers nothing where that fails", async () => {
    const many = Array.from({ length: 3 * CHOICES_MAX }, (_, n) => ({ value: `id${n}`, about: `task ${n}` }));
    const offered = await command("tasks", async () => many).made.getArgumentCompletions?.("i");
    expect(offered).toHaveLength(CHOICES_MAX);
    expect(offered?.[0]).toEqual({ value: "id0", label: "id0", description: "task 0" });
    const failing = command("tasks", () => Promise.reject(new Error("the disk is gone")));
    expect(await failing.made.getArgumentCompletions?.("i")).toBeNull();
  });

  it.each(NAMES)("/%s has a short description and says what each form does", (name) => {
    expect(COMMANDS[name].description.length).toBeLessThanOrEqual(80);
    for (const { does } of COMMANDS[name].forms) expect(usageOf(name)).toContain(does);
  });
});
