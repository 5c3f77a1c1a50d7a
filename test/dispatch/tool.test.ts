import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TaskDispatcher } from "../../src/dispatch/dispatcher.ts";
import type { FileView, TaskView, UsageRow } from "../../src/dispatch/task-view.ts";
import { inHome } from "../../src/host/agent-dir.ts";
import type { HostContext } from "../../src/host/api.ts";
import { ORDINARY_TASK_HINT } from "../../src/prompts.ts";
import { taskCommand } from "../../src/ui/task-commands.ts";
import { listText, taskText } from "../../src/ui/task-text.ts";
import { defineTaskTool } from "../../src/wire/task-tool.ts";
import { inMemory, newPlace } from "../task/tasks.ts";
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

describe("a task that a person gives a category while it runs", () => {
  it("tells the agent that waits for it nothing", async () => {
    const place = newPlace();
    const joining = runnerOf(async ({ taskId, membership, onEvent }) => {
      const { task: child } = place.open(inMemory(taskId), { membership });
      await child.join();
      await child.registry.setCategory(child.agent, "s");
      onEvent({ type: "answer", text: "the secret" });
    });
    const { dispatcher } = bench([joining], { place });
    const answer = defineTaskTool(dispatcher).execute("c", { goal: "g" });
    await expect(answer).rejects.toThrow(/restricted/);
  });
});

describe("/task", () => {
  const typed = async (line: string, board: TaskDispatcher) => {
    const shown: string[] = [];
    const command = taskCommand({
      board: async () => board,
      tell: () => undefined,
      show: (_ctx, text) => void shown.push(text),
      endsWithRun: () => true,
      started: () => undefined,
      print: async () => undefined,
      values: () => ({}),
      inHome,
      absolute: (path) => path,
    });
    await command.handler(line, {} as HostContext);
    return shown;
  };
  const done = answering("done");

  it("starts nothing on a slip in its options, and says what was meant and how it is used", async () => {
    const { dispatcher } = bench([done]);
    for (const line of ["--atach sales.csv Sum it", "Sum it --attach sales.csv", "--attach"]) {
      const [text, ...more] = await typed(line, dispatcher);
      expect(more).toEqual([]);
      expect(text).toMatch(/Nothing was started\.\nUsage:\n {2}\/task <goal>: .*\n(.*\n)+.*\/task -- <goal>$/);
    }
    expect(await dispatcher.list({ viewer: "person" })).toEqual([]);
  });

  it("speaks of options and paths as they were typed when the dispatcher refuses them", async () => {
    const { dispatcher } = bench([done]);
    const [missing] = await typed('--attach "no such.xlsx" Sum it', dispatcher);
    expect(missing).toBe("--attach no such.xlsx: there is no such file. Nothing was stored. Check the path.");
    const [home] = await typed("--attach ~/no-such-file-here Sum it", dispatcher);
    expect(home).toBe(
      `--attach ${join(homedir(), "no-such-file-here")}: there is no such file. Nothing was stored. Check the path.`,
    );
    const [label] = await typed("--category client-x Sum it", dispatcher);
    expect(label).toBe(
      "--category client-x: it is not this agent's. This agent is ordinary: leave category out for an ordinary task.",
    );
    expect((await typed("--category a.b Sum it", dispatcher))[0]).toMatch(/^--category a\.b: a label has 1 to 64/);
  });

  it("says with its end, and in its record, when no file came of it", async () => {
    const { dispatcher } = bench([done]);
    const [started, ended] = await typed("Sum it", dispatcher);
    expect(started).toMatch(/^Task \w+ has started: Sum it\./);
    expect(ended).toMatch(/is completed: Sum it\.\n {2}No file came of it\.\n/);
    const [task] = await dispatcher.list({ viewer: "person" });
    if (task === undefined || !("id" in task)) throw new Error("a person sees every task");
    expect(taskText(task)).toContain("\nFiles: none came of it\n");
    expect(taskText({ ...task, status: "processing" })).not.toContain("Files:");
  });

  it("shows nothing that a terminal obeys, and no more files than fit", () => {
    const created = "2025-01-02T03:04:05.678Z";
    const file = (n: number): FileView => ({
      ...{ id: `file${n}`, filename: `f${n}\u001b[2J.txt`, path: `f${n}\u001b[2J.txt`, size: 1, partial: false },
      ...{ contentType: "text/plain", kind: "other", created },
    });
    const files = Array.from({ length: 500 }, (_, n) => file(n));
    const used = { input: 1, output: 1, cached: 0, quantity: 1, amount: null, task: "abcdefgh", created };
    const usage = files.map(({ id }): UsageRow => ({ id, kind: "chat", model: "p/m", ...used }));
    const task: TaskView = {
      ...{
        id: "abcdefgh",
        rootSession: "s",
        agent: "/root/a",
        parent: "/root",
        category: null,
        sandbox: null,
        runner: "session",
        requirement: "t",
      },
      ...{ title: "t\u001b]0;x\u0007", status: "failed", progress: "", steps: ["Ran: \u001b[31m"] },
      ...{ result: "\u001b[8mhidden\u202e", error: "\u009b1m", model: null, created, updated: created },
      ...{ files, outputs: files, intermediates: files, usage },
    };
    for (const text of [taskText(task), listText([task], { nowMs: Date.now(), ids: [task.id] })]) {
      expect(text).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
      expect(text.length).toBeLessThan(8_000);
    }
    expect(taskText(task)).toContain("and 480 more");
    expect(taskText(task)).toContain("\\u001b[8mhidden");
  });

  it("says what it is for when there are no tasks", () => {
    expect(listText([], { nowMs: 0, ids: [] })).toMatch(/^There are no tasks\.\nUsage:\n {2}\/task <goal>: /);
  });
});
