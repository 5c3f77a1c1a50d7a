// Tasks while they run and when they end: what a person sees, what the model is told and may do, and what leaving a session
// does to them.
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { call, type Request, type Script, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import type { UiTheme, WidgetFactory } from "../../src/host/ui.ts";
import { ENDED_TASKS_MESSAGE } from "../../src/log/marks.ts";
import { STATUS_KEY } from "../../src/wire/footer.ts";
import { TASKS_WIDGET } from "../../src/wire/task-watch.ts";
import { closeAfterEach, first, pi, said, texts } from "./support.ts";

closeAfterEach();

const isTask = ({ systemPrompt }: Request) => systemPrompt.startsWith("You carry out one task");
const results = (request: Request) => request.messages.filter(({ role }) => role === "toolResult").length;
const theme: UiTheme = { fg: (_color, value) => value, bold: (value) => value, strikethrough: (value) => value };

function widget(s: PiSession): readonly string[] {
  const factory = s.ui.widgets.get(TASKS_WIDGET) as WidgetFactory | undefined;
  return factory?.(undefined, theme).render(120) ?? [];
}

/** A task that has done one step, and is then held until it is let go. */
function held(): { readonly next: Script; readonly letGo: () => void } {
  let letGo = () => {};
  const isFree = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const next: Script = async (request) => {
    if (!isTask(request)) return "hello";
    if (results(request) === 0)
      return { content: [call("write", { path: "output/a.txt", content: "a" })], usage: { input: 100, output: 11 } };
    await isFree;
    return "the result";
  };
  return { next, letGo: () => letGo() };
}

describe("a task that runs", () => {
  it("stands in the footer and above the editor, and its end is told to the person and, as data, to the model", async () => {
    const { next, letGo } = held();
    const s = await pi({ ui: true, next });
    await s.session.prompt("/task Write a");
    await until("its step above the editor", () => widget(s)[0]?.includes("1 step"));
    expect(widget(s)).toEqual([
      expect.stringMatching(/^▸ Write a · 1 step · 111 tokens · \d+ s · Wrote output\/a\.txt$/),
    ]);
    await until("the footer", () => s.ui.statuses.get(STATUS_KEY)?.includes("1 task running"));
    letGo();
    await until("its end", () => s.ui.notices.some(({ message }) => message.includes("is completed: Write a.")));
    await until("no widget", () => s.ui.widgets.get(TASKS_WIDGET) === undefined);
    await until("the footer", () => !s.ui.statuses.get(STATUS_KEY)?.includes("task"));
    await s.prompt("what now?");
    const asked = s.requests.filter((request) => !isTask(request));
    const told = asked.flatMap((request) => texts(request)).filter((each) => each.includes("Tasks of yours"));
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0]?.split("\n").find((line) => line.startsWith("{")) ?? "")).toEqual({
      ...{ id: expect.stringMatching(/^\w{16}$/), status: "completed", goal: "Write a", files: ["a.txt"] },
    });
    const entry = s.branch().find((each) => each.type === "custom_message" && each.customType === ENDED_TASKS_MESSAGE);
    expect(entry).toMatchObject({ details: { tasks: [{ status: "completed" }] }, display: false });
    await s.prompt("and now?");
    expect(texts(s.requests.at(-1)).filter((each) => each.includes("Tasks of yours"))).toHaveLength(1);
  });

  it("is stopped when the session is left, which is asked before and said after", async () => {
    const { next } = held();
    const s = await pi({ ui: true, next });
    await s.prompt("hello");
    await s.session.prompt("/task Write a");
    await until("its request", () => s.requests.some(isTask));
    const { extensionRunner } = s.session;
    const leave = () => extensionRunner.emit({ type: "session_before_switch", reason: "new" });
    expect(await leave()).toMatchObject({ cancel: true });
    expect(s.ui.questions.at(-1)).toMatch(
      /^1 task of this session still runs\. Stop and leave\?\n {2}Write a\n[\s\S]*No, stay here\nYes, leave$/,
    );
    s.ui.confirms = true;
    expect((await leave()) ?? {}).not.toMatchObject({ cancel: true });
    const written: string[] = [];
    const write = process.stderr.write.bind(process.stderr);
    process.stderr.write = ((piece: string) => written.push(String(piece)) > 0) as typeof process.stderr.write;
    try {
      await s.dispose();
    } finally {
      process.stderr.write = write;
    }
    expect(written.join("")).toMatch(
      /stopped task \w+ \(Write a\)\. What was written so far is kept; \/tasks rerun <id>/,
    );
  });
});

describe("a session in which no model has answered", () => {
  it("leaves its file when it gave out a task, so that the task is found again", async () => {
    const s = await pi({ ui: true, next: (request) => (isTask(request) ? "done" : "hello") });
    const path = s.session.sessionFile ?? "";
    await said(s, "/task Do it");
    await until("its end", () => s.ui.notices.some(({ message }) => message.includes("is completed: Do it.")));
    expect(existsSync(path)).toBe(false);
    await s.dispose();
    const again = await pi({ ui: true, next: () => "hello", session: { path } });
    expect(await said(again, "/tasks")).toContain("Do it");
    await again.prompt("go on");
    expect(again.errors).toEqual([]);
    const quiet = await pi({ next: () => "hello" });
    await quiet.dispose();
    expect(existsSync(quiet.session.sessionFile ?? "")).toBe(false);
  });
});

describe("the model's own tool", () => {
  const dispatching: Script = (request) => {
    if (isTask(request)) return "the child's answer";
    return results(request) === 0 ? [call("dispatch_task", { goal: "Ask the child" })] : "seen";
  };

  it("is there by the setting taskTool of the agent directory only, and not in children", async () => {
    const off = await pi({ next: () => "hello" });
    await off.prompt("hello");
    expect(off.requests[0]?.tools.map(({ name }) => name)).not.toContain("dispatch_task");
    const s = await pi({ next: dispatching, settings: { tokenBudget: { taskTool: true } } });
    await s.prompt("go");
    expect(s.toolResults()).toMatchObject([{ name: "dispatch_task", isError: false }]);
    expect(s.toolResults()[0]?.text).toMatch(/^Task \w+ is completed\.\n\nthe child's answer$/);
    const child = s.requests.find(isTask);
    expect(child?.tools.map(({ name }) => name)).not.toContain("dispatch_task");
    expect(first(child)).toBeTruthy();
  });

  it("starts a task, reads it, waits for it and stops it", async () => {
    const { next, letGo } = held();
    const s = await pi({ ui: true, next, settings: { tokenBudget: { taskTool: true } } });
    await s.prompt("hello");
    const use = async (args: object) => {
      const { content } = await s.callTool("dispatch_task", { ...args });
      return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    };
    const id = /^Task (\w+) has started/.exec(await use({ goal: "Write a", action: "start" }))?.[1] ?? "";
    await until("a step", async () => (await use({ action: "read", task: id })).includes("- Wrote output/a.txt"));
    const waiting = use({ action: "wait", task: id });
    letGo();
    expect(await waiting).toMatch(/^Task \w+ is completed\.\n\nthe result\n\nFiles: a\.txt \(1 bytes\)\.$/);
    await expect(use({ action: "read" })).rejects.toThrow("task is missing");
    await expect(use({ action: "stop", task: "0123456789abcdef" })).rejects.toThrow("There is no task");
    await s.prompt("what now?");
    const told = texts(s.requests.at(-1)).find((each) => each.includes("Tasks of yours"));
    expect(told).toContain('dispatch_task {"action":"read","task":id} reads one.');
    const stopping = held();
    const other = await pi({ ui: true, next: stopping.next, settings: { tokenBudget: { taskTool: true } } });
    await other.prompt("hello");
    const started = await other.callTool("dispatch_task", { goal: "Write a", action: "start" });
    const task = /^Task (\w+)/.exec(
      started.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    )?.[1];
    const { content } = await other.callTool("dispatch_task", { action: "stop", task });
    expect(content).toEqual([text(expect.stringMatching(/^Task \w+ was cancelled\./))]);
    stopping.letGo();
  });
});
