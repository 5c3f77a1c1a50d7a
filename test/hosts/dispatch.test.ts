// Dispatched tasks in real Pi: a child session in this process and a child process, real tools on real files.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { afterEach, describe, expect, it } from "vitest";
import {
  createTaskDispatcher,
  createTokenBudgetExtension,
  defineTaskTool,
  getTokenBudgetTask,
  type TaskDispatcher,
  type TaskDispatcherOptions,
  type TokenBudgetTask,
} from "../../api.ts";
import { table } from "../../fixtures/files/documents.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call, type Request, type Script, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import { openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import type { TaskRecord } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { taskLayout } from "../../src/task/layout.ts";

const require = createRequire(import.meta.url);
const XLSX = require.resolve("@e965/xlsx");

interface Opened {
  readonly pi: PiSession;
  readonly task: TokenBudgetTask;
  readonly dispatcher: TaskDispatcher;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(next: Script, options: TaskDispatcherOptions = {}): Promise<Opened> {
  let api: ExtensionAPI | undefined;
  const keep = (pi: ExtensionAPI) => {
    api = pi;
  };
  const pi = await openPi({ next, factories: [keep] });
  const task = api && getTokenBudgetTask(api);
  if (!task) throw new Error("no task");
  const dispatcher = createTaskDispatcher(task, { ...options, baseDirectory: pi.project });
  closers.push(async () => {
    await dispatcher.close();
    await pi.dispose();
  });
  return { pi, task, dispatcher };
}

const isTask = (request: Request) => request.systemPrompt.startsWith("You carry out one task");
const prompts = (requests: readonly Request[]) => requests.filter(isTask);
/** What the child is told; on some hosts a line about its window stands before it. */
const promptOf = (request: Request | undefined) => (request?.messages ?? []).map(textOf).join("\n");
const isAnswered = (request: Request) => request.messages.some((message) => message.role === "toolResult");

const SUM_BY_MONTH = `
const XLSX = require(${JSON.stringify(XLSX)});
const fs = require("node:fs");
const folder = "attachments/" + fs.readdirSync("attachments")[0] + "/";
const book = XLSX.readFile(folder + fs.readdirSync(folder).find((name) => name.endsWith(".xlsx")));
const sums = {};
for (const { month, amount } of XLSX.utils.sheet_to_json(book.Sheets[book.SheetNames[0]])) sums[month] = (sums[month] || 0) + amount;
const sheet = XLSX.utils.aoa_to_sheet([["month", "total"], ...Object.entries(sums)]);
const out = XLSX.utils.book_new(sheet, "Summary");
XLSX.writeFile(out, "output/summary.xlsx");
fs.writeFileSync("output/summary.csv", XLSX.utils.sheet_to_csv(sheet));
`;

/** Writes a script with one tool, runs it with the other, then answers. */
const working: Script = (request) => {
  if (!isTask(request)) return "hello";
  const results = request.messages.filter((message) => message.role === "toolResult").length;
  if (results === 0) return [call("write", { path: "work/sum.cjs", content: SUM_BY_MONTH })];
  if (results === 1)
    return {
      content: [call("bash", { command: `"${process.execPath}" work/sum.cjs` })],
      usage: { input: 100, output: 10, cacheRead: 900 },
    };
  return {
    content: [text("**January 30, February 5**, see output/summary.xlsx")],
    usage: { input: 50, output: 20, cacheRead: 1_000 },
  };
};

async function sales(folder: string): Promise<string> {
  const rows = [
    ["month", "amount"],
    ["January", 10],
    ["January", 20],
    ["February", 5],
  ];
  const path = join(folder, "sales.xlsx");
  writeFileSync(path, await table("Sales", rows));
  return path;
}

describe("a task in a child session", () => {
  it("turns sales.xlsx into summary.xlsx with real tools, and its record says how", async () => {
    const { pi, task: root, dispatcher } = await open(working);
    await pi.prompt("earlier words of the person");
    const handle = await dispatcher.dispatch({
      goal: "Sum sales.xlsx by month into summary.xlsx",
      attachments: [await sales(pi.project)],
      category: null,
    });
    const task = await handle.result;
    expect(task.error).toBeNull();
    expect(task).toMatchObject({
      status: "completed",
      result: "**January 30, February 5**, see summary.xlsx",
      runner: "session",
      model: `${pi.provider}/m`,
    });
    expect(task.files.map(({ filename }) => filename)).toEqual(["sales.xlsx"]);
    expect(task.outputs.map(({ filename, contentType }) => [filename, contentType])).toEqual([
      ["summary.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    ]);
    expect(task.intermediates.map(({ filename }) => filename).sort()).toEqual(["sum.cjs", "summary.csv"]);
    expect(task.steps).toEqual(["Wrote work/sum.cjs", expect.stringContaining("Ran: ")]);
    expect(task.usage).toMatchObject([{ kind: "chat", model: `${pi.provider}/m`, cached: 1_900, amount: 0 }]);
    const csv = task.intermediates.find(({ filename }) => filename === "summary.csv");
    expect((await buffer((await dispatcher.openFile(task.id, csv?.id ?? "")).stream)).toString()).toBe(
      "month,total\nJanuary,30\nFebruary,5",
    );
    const [first] = prompts(pi.requests);
    const prompt = promptOf(first);
    expect(prompt).toContain("## User\n> earlier words of the person");
    expect(prompt).toContain("# Task\n\nSum sales.xlsx by month into summary.xlsx");
    expect(prompt).toMatch(
      /1\. sales\.xlsx \(spreadsheet, \d+ bytes\) at attachments\/\w{8}\/01-sales\.xlsx; text: attachments/,
    );
    expect(root.agents().map(({ agentName, category, running }) => ({ agentName, category, running }))).toEqual([
      { agentName: "/root", category: null, running: true },
      { agentName: task.agent, category: null, running: false },
    ]);
    await pi.prompt("what did the child say?");
    const read = await pi.callTool("history_list_items", { agent_name: task.agent });
    expect(textOf({ content: read.content })).toContain("Sum sales.xlsx by month");
  });

  it("has the same system prompt and tools as every other, byte for byte", async () => {
    const { pi, dispatcher } = await open((request) => (isTask(request) ? "done" : "hello"));
    const results = [];
    for (const goal of ["First thing", "Second thing, quite another one"])
      results.push(await (await dispatcher.dispatch({ goal })).result);
    expect(results.map(({ status }) => status)).toEqual(["completed", "completed"]);
    const [first, second] = prompts(pi.requests);
    expect(second?.systemPrompt).toBe(first?.systemPrompt);
    expect(JSON.stringify(second?.tools)).toBe(JSON.stringify(first?.tools));
    expect(first?.systemPrompt).not.toMatch(/First thing|\/work\/|[0-9a-f]{16}/);
    expect(promptOf(second)).toContain("## Finished task: First thing");
  });

  it("is cancelled in the middle of a request", async () => {
    const { dispatcher, pi } = await open((request) =>
      isTask(request) ? { content: [text("late")], delayMs: 60_000 } : "hello",
    );
    const handle = await dispatcher.dispatch({ goal: "slow" });
    await until("the task's request", () => prompts(pi.requests).length > 0);
    await handle.cancel();
    expect(await handle.result).toMatchObject({ status: "cancelled", result: null });
  });

  it("ends with the provider's error", async () => {
    const { dispatcher } = await open((request) => {
      if (isTask(request)) throw new Error("the provider says no");
      return "hello";
    });
    expect(await (await dispatcher.dispatch({ goal: "g" })).result).toMatchObject({
      status: "failed",
      error: expect.stringContaining("the provider says no"),
    });
  });

  it("opened by an agent's tool call is ordinary, and its result comes back", async () => {
    const { pi, dispatcher } = await open((request) => (isTask(request) ? "the child's answer" : "hello"));
    const tool = defineTaskTool(dispatcher);
    const { content, details } = await tool.execute("c1", { goal: "Ask the child" });
    expect(textOf({ content })).toBe(`Task ${details.task.id} is completed.\n\nthe child's answer`);
    expect(details.task.category).toBeNull();
    await expect(tool.execute("c2", { goal: "x", category: "s" })).rejects.toThrow(/category is "s"/);
    expect(pi.errors).toEqual([]);
  });
});

describe("a task in a child process", () => {
  it("is an ordinary agent of the root task that works with real tools", async () => {
    const environment = makeEnvironment();
    const folder = join(environment.directory, "model");
    mkdirSync(folder);
    const model = join(folder, "model.ts");
    writeFileSync(
      model,
      `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import { call, scriptedModel, text } from ${JSON.stringify(join(PACKAGE_DIR, "fixtures/pi/scripted-model.ts"))};
const next = (request) => {
  const results = request.messages.filter((message) => message.role === "toolResult").length;
  if (results === 0) return [call("bash", { command: "echo hi > output/hi.txt" })];
  return { content: [text("wrote it; fixed " + request.systemPrompt.startsWith("You carry out one task") + " " + request.tools.length)], usage: { input: 5, output: 5, cacheRead: 70 } };
};
export default scriptedModel({ next, provider: "scripted", models: [{ id: "m" }], createStream: createAssistantMessageEventStream, onRequest: () => {} });
`,
    );
    const host = hostNamed(currentHostName());
    const { task: root, dispatcher } = await open(() => "hello", {
      settings: { taskRunnerCommand: [host.node, host.cli] },
      cli: { args: ["-e", model], env: environment.variables },
    });
    const task = await (await dispatcher.dispatch({ goal: "Write hi.txt", runner: "cli", model: "scripted/m" })).result;
    environment.remove();
    expect(task.error).toBeNull();
    expect(task).toMatchObject({
      status: "completed",
      category: null,
      result: expect.stringMatching(/^wrote it; fixed true \d+$/),
    });
    expect(task.outputs.map(({ filename }) => filename)).toEqual(["hi.txt"]);
    expect(task.usage).toMatchObject([{ model: "scripted/m", cached: 70 }]);
    expect(root.agents().at(-1)).toMatchObject({ agentName: task.agent, category: null });
  });
});

describe("a record of a process that has died", () => {
  it("is brought to its end by the root when it starts, and by no child", async () => {
    const { pi, task, dispatcher } = await open(() => "done");
    await pi.prompt("hello");
    const { id } = await (await dispatcher.dispatch({ goal: "g", category: null })).result;
    const file = join(taskLayout(task.context.storageRoot, task.context).records, `${id}.json`);
    const statusNow = () => (JSON.parse(readFileSync(file, "utf8")) as TaskRecord).task.status;
    const left = { status: "processing", process: { pid: 2 ** 22 + 1, start: null } } as const;
    await new RecordStore(task.context).update(id, (record) => ({ ...record, task: { ...record.task, ...left } }));
    const member = createTokenBudgetExtension({ task: { ...task.context, parentAgentName: task.agentName } });
    const child = await openPi({ next: () => "done", bare: true, factories: [member] });
    closers.push(() => child.dispose());
    expect(statusNow()).toBe("processing");
    const path = pi.session.sessionFile ?? "";
    await dispatcher.close();
    await pi.dispose();
    const again = await openPi({ next: () => "done", session: { path } });
    closers.push(() => again.dispose());
    expect(statusNow()).toBe("failed");
  });
});

describe("/task and /tasks", () => {
  it("dispatch a task and show it without a screen", async () => {
    const todos = [{ content: "count", status: "completed" }];
    const { pi } = await open((request) => {
      if (!isTask(request)) return "hello";
      return isAnswered(request) ? "all done" : [call("todo_write", { todos })];
    });
    const shown: string[] = [];
    const write = process.stderr.write.bind(process.stderr);
    process.stderr.write = ((piece: string) => shown.push(String(piece)) > 0) as typeof process.stderr.write;
    try {
      await pi.prompt("/task Count to three");
      await pi.prompt("/tasks");
      const id = /^Task (\w+) has started/.exec(shown[0] ?? "")?.[1] ?? "";
      await pi.prompt(`/tasks ${id}`);
      await pi.prompt("/task");
    } finally {
      process.stderr.write = write;
    }
    const all = shown.join("");
    expect(all).toMatch(/Task \w+ has started: Count to three\./);
    expect(all).toMatch(/Task \w+ is completed: Count to three\./);
    expect(all).toMatch(
      /Count to three \(\w+\)\ntask_\w+ is completed, scripted-\d+\/m, not confined\n(?:Steps:\n.*\n)?Todo list, .*:\n✓ count\nFiles: none came of it\nUsed: scripted-\d+\/m, [\d,]+ tokens in, 0 cached, \d+ out, cost 0\n\nall done/,
    );
    expect(all).toContain("Usage:\n  /task");
  });
});
