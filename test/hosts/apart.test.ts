// A session that was given a root task and cannot join it: nothing of it goes to the wrong place in silence. Its model, its
// program and whoever asks for its task are told why.
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { describe, expect, it } from "vitest";
import {
  createTaskDispatcher,
  createTokenBudgetExtension,
  getTokenBudgetTask,
  type TaskMembership,
  type TokenBudgetError,
  type TokenBudgetTask,
} from "../../api.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import { openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, first, pi } from "./support.ts";

closeAfterEach();

interface Opened {
  readonly session: PiSession;
  readonly task: TokenBudgetTask;
  readonly problems: readonly TokenBudgetError[];
}

async function opened(
  next: Script,
  { task: membership, open = pi }: { readonly task?: TaskMembership; readonly open?: typeof pi } = {},
): Promise<Opened> {
  const apis: ExtensionAPI[] = [];
  const problems: TokenBudgetError[] = [];
  const extension = createTokenBudgetExtension({
    ...(membership ? { task: membership } : {}),
    onProblem: (problem) => problems.push(problem),
  });
  const session = await open({ bare: true, factories: [extension, (api) => void apis.push(api)], next });
  const [api] = apis;
  const task = api && getTokenBudgetTask(api);
  if (!task) throw new Error("no task");
  return { session, task, problems };
}

const NAMES = { parentAgentName: "/root", agentName: "reviewer" };
const PLAN = { path: "plan.md", text: "the root's plan\n" };

/** Writes a plain note, then tries to read and to write the root's, and lists its own. */
const trying: Script = (_request, n) => {
  const calls = [
    call("notes_write_file", { path: "own.md", text: "a finding\n" }),
    call("notes_read_file", { path: "/root/notes/plan.md" }),
    call("notes_write_file", { path: "/root/notes/report.md", text: "for the root\n" }),
    call("history_list_items", { agent_name: "/root" }),
    call("notes_list_files_by_prefix"),
    call("notes_read_file", { path: "/apart/notes/own.md" }),
  ];
  const next = calls[n];
  return next ? [next] : "done";
};

describe("a child whose name was another session's", () => {
  it("goes on apart: model, program and task say why, and what it meant for the root goes nowhere", async () => {
    const root = await opened(() => "ok");
    await root.session.callTool("notes_write_file", PLAN);
    const membership = { ...root.task.context, ...NAMES };
    const before = await opened(() => "ok", { task: membership });
    await before.session.prompt("Review.");
    await before.session.dispose();
    expect(before.problems).toEqual([]);

    const child = await opened(trying, { task: membership });
    const reason = /reviewer is held by another session.*\/root\/reviewer_2 is free/;
    expect(child.problems).toEqual([expect.objectContaining({ code: "name_collision" })]);
    expect(child.problems[0]?.message).toMatch(reason);
    expect(child.task.problem).toBe(child.problems[0]);
    expect(() => child.task.context).toThrow(reason);
    expect(() => createTaskDispatcher(child.task)).toThrow(reason);
    await expect(child.task.childExtension()).rejects.toThrow(reason);

    await child.session.prompt("Review again.");
    expect(first(child.session.requests[0])).toMatch(/^\[context\] agent \/apart,.* could not: .*reviewer_2 is free/);
    expect(first(child.session.requests[1])).toBe(first(child.session.requests[0]));
    const results = child.session.toolResults();
    expect(results.map(({ isError }) => isError)).toEqual([false, true, true, true, false, false]);
    for (const { text } of results.slice(1, 4)) expect(text).toMatch(reason);
    expect(results[4]?.text).toContain("/apart/notes/own.md");
    expect(results[5]?.text).toContain("a finding");
    expect(root.task.agents().map(({ agentName }) => agentName)).toEqual(["/root", "/root/reviewer"]);

    // What the message offers works.
    const second = await opened(() => "ok", { task: { ...membership, agentName: "reviewer_2" } });
    expect(second.problems).toEqual([]);
    expect(second.task.agentName).toBe("/root/reviewer_2");
  });

  it("sends nothing to a model when its task is required, and its program gets the error", async () => {
    const root = await opened(() => "ok");
    const membership = { ...root.task.context, ...NAMES, required: true };
    const one = await opened(() => "ok", { task: membership });
    await one.session.prompt("Review.");
    expect(one.session.requests).toHaveLength(1);
    const two = await opened(() => "ok", { task: membership, open: openPi });
    expect(two.session.errors).toEqual([expect.stringMatching(/^session_start: .*held by another session/)]);
    await two.session.prompt("Review again.");
    expect(two.session.requests).toEqual([]);
    await two.session.dispose();
  });
});

describe("a child whose session has this package already", () => {
  it("tells the program that gave it the task, whichever copy owns the session", async () => {
    const root = await opened(() => "ok");
    const problems: TokenBudgetError[] = [];
    const task = { ...root.task.context, parentAgentName: "/root/nobody" };
    const onProblem = (problem: TokenBudgetError) => void problems.push(problem);
    await pi({ factories: [createTokenBudgetExtension({ task, onProblem })], next: () => "ok" });
    expect(problems).toEqual([expect.objectContaining({ code: "unknown_agent" })]);
  });
});

describe("a child with a wrong place", () => {
  it.each<[string, Partial<TaskMembership>, string]>([
    ["an unknown parent", { parentAgentName: "/root/nobody" }, "unknown_agent"],
    ["a category that is not its parent's", { category: "s" }, "refused"],
    ["a storage that holds no such task", { storageRoot: "/nowhere" }, "not_found"],
  ])("by %s is apart", async (_what, wrong, code) => {
    const root = await opened(() => "ok");
    const child = await opened(() => "ok", { task: { ...root.task.context, ...wrong } });
    expect(child.problems).toEqual([expect.objectContaining({ code })]);
    expect(child.task.agentName).toBe("/apart");
  });

  it("by another name than it had when it was there before is apart", async () => {
    const root = await opened(() => "ok");
    const membership = { ...root.task.context, ...NAMES };
    const child = await opened(() => "ok", { task: membership });
    await child.session.prompt("Review.");
    const path = child.session.session.sessionFile ?? "";
    await child.session.dispose();
    const problems: TokenBudgetError[] = [];
    const onProblem = (problem: TokenBudgetError) => void problems.push(problem);
    const task = { ...membership, agentName: "checker" };
    const factories = [createTokenBudgetExtension({ task, onProblem })];
    await pi({ bare: true, session: { path }, factories, next: () => "ok" });
    expect(problems).toEqual([expect.objectContaining({ code: "name_collision" })]);
    expect(problems[0]?.message).toContain("is the agent /root/reviewer");
  });
});
