import { describe, expect, it } from "vitest";
import { defineTaskTool } from "../../src/dispatch/tool.ts";
import { ORDINARY_TASK_HINT } from "../../src/prompts.ts";
import { listText, parseTaskCommand } from "../../src/ui/task-commands.ts";
import { answering, bench, runnerOf } from "./dispatchers.ts";

describe("the tool", () => {
  const textOf = async (tool: ReturnType<typeof defineTaskTool>, params: unknown) =>
    (await tool.execute("c", params)).content[0]?.text;

  it("says one sentence more exactly when an agent of a category opens an ordinary task", async () => {
    const { dispatcher, task } = bench([answering("done")], { parent: { route: () => "p/labelled" } });
    const tool = defineTaskTool(dispatcher);
    await task.join();
    expect(await textOf(tool, { goal: "g" })).not.toContain(ORDINARY_TASK_HINT);
    await task.registry.setCategory("/root", "s");
    expect(await textOf(tool, { goal: "g" })).toContain(ORDINARY_TASK_HINT);
    expect(await textOf(tool, { goal: "g", category: null })).toContain(ORDINARY_TASK_HINT);
    expect(await textOf(tool, { goal: "g", category: "s" })).not.toContain(ORDINARY_TASK_HINT);
  });

  it("says it in the error of a failed one too, and says why it failed", async () => {
    const { dispatcher, task } = bench([runnerOf(() => Promise.reject(new Error("no way")))], {
      parent: { route: () => "p/m" },
    });
    await task.join();
    await task.registry.setCategory("/root", "s");
    const failing = defineTaskTool(dispatcher).execute("c", { goal: "g" });
    await expect(failing).rejects.toThrow(`failed: no way.\n\n${ORDINARY_TASK_HINT}`);
  });

  it("is stopped with the call that made it", async () => {
    const { dispatcher } = bench([
      runnerOf(
        ({ signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      ),
    ]);
    const stop = new AbortController();
    const running = defineTaskTool(dispatcher).execute("c", { goal: "g" }, stop.signal);
    setTimeout(() => stop.abort(), 100);
    await expect(running).rejects.toThrow(/was cancelled/);
  });
});

describe("/task", () => {
  it("reads its options before the goal, and the goal as it was typed", () => {
    expect(parseTaskCommand('--attach "a b.xlsx" --attach c.pdf --category s Sum it  --now')).toEqual({
      goal: "Sum it  --now",
      category: "s",
      attachments: ["a b.xlsx", "c.pdf"],
    });
    expect(parseTaskCommand("just do it")).toEqual({ goal: "just do it", category: null, attachments: [] });
    expect(parseTaskCommand("--attach")).toBeUndefined();
  });

  it("says what it is for when there are no tasks", () => {
    expect(listText([])).toMatch(/^There are no tasks\. usage: \/task/);
  });
});
