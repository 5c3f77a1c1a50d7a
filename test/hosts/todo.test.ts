// The todo list in real sessions: on the log and nowhere else, rebuilt from every branch, told over the bus, drawn where
// there is a terminal interface. Reports 27 to 34 and 36.
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { afterEach, describe, expect, it } from "vitest";
import { createTokenBudgetExtension, getTokenBudgetTask, type TokenBudgetTask } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { type RpcPi, startRpc } from "../../fixtures/pi/rpc.ts";
import { type Block, call, text } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import type { TodoItem } from "../../src/todo/list.ts";
import { item } from "../todo/items.ts";
import { PLAIN } from "../ui/themes.ts";
import { closeAfterEach, first, pi, whole } from "./support.ts";

closeAfterEach();

const PLAN = [item("plan", "completed"), item("build", "in_progress"), item("test")];
const DONE = PLAN.map(({ content }) => item(content, "completed"));

const write = (todos: readonly TodoItem[], id?: string) => call("todo_write", { todos }, id);

/** Answers with these in turn, then with words. */
function turns(...answers: readonly (readonly Block[])[]): OpenOptions["next"] {
  return (_request, n) => answers[n] ?? "done";
}

interface Published {
  readonly sessionId: string;
  readonly agent: string;
  readonly todos: readonly TodoItem[];
}

/** An extension that keeps what is said on the channel, and spoils what it was given. */
function listener(heard: Published[]): ExtensionFactory {
  return (api) => {
    const stop = api.events.on("pi-token-budget:todo", (data) => {
      heard.push(structuredClone(data) as Published);
      for (const todo of (data as Published).todos) Object.assign(todo, { content: "spoiled" });
    });
    // 0.73.1 keeps listeners over a reload.
    api.on("session_shutdown", () => stop());
  };
}

function writesOn(s: PiSession): unknown[] {
  return s
    .branch()
    .flatMap((entry) => (entry.type === "custom" && entry.customType === "todo/write" ? [entry.data] : []));
}

interface Widget {
  render(width: number): string[];
}

/** The widget as a terminal would draw it; undefined when there is none. */
function widget(s: PiSession): string[] | undefined {
  const factory = s.ui.widgets.get("pi-token-budget:todo") as ((tui: unknown, theme: unknown) => Widget) | undefined;
  return factory?.({}, PLAIN).render(80);
}

describe("a write", () => {
  it("is one data entry between call and result, in no request, with a checklist as its answer", async () => {
    const heard: Published[] = [];
    const s = await pi({ factories: [listener(heard)], next: turns([write(PLAN, "t1")]) });
    await s.prompt("go");
    const kinds = s.branch().map((entry) => (entry.type === "message" ? entry.message.role : entry.type));
    expect(kinds.slice(-5)).toEqual(["user", "assistant", "custom", "toolResult", "assistant"]);
    expect(writesOn(s)).toEqual([{ todos: PLAN }]);
    const [result] = s.toolResults();
    expect(result).toMatchObject({ isError: false, details: { todos: PLAN, dropped: [] } });
    expect(result?.text).toMatch(/^\[x\] plan\n\[>\] build\n\[ \] test\n3 items: 1 completed/);
    expect(s.requests).toHaveLength(2);
    // Law 3: the second request begins with the first one's messages.
    const sent = s.requests.map(({ messages }) => messages.map((message) => JSON.stringify(message)));
    expect(sent[1]?.slice(0, sent[0]?.length)).toEqual(sent[0]);
    expect(whole(s.requests[1])).not.toContain("todo/write");
    const said = { sessionId: s.session.sessionId, agent: "/root" };
    expect(heard).toEqual([
      { ...said, todos: [] },
      { ...said, todos: PLAN },
    ]);
  });

  it("of two in one batch: the second counts, both are answered, and what it dropped is named", async () => {
    const s = await pi({ next: turns([write(PLAN, "t1"), write([item("test", "in_progress")], "t2")]) });
    await s.prompt("go");
    expect(writesOn(s)).toHaveLength(2);
    const [one, two] = s.toolResults();
    expect(one?.text).toContain("3 items");
    expect(two?.text).toContain('Dropped unfinished: "build".');
    expect(two?.details).toEqual({ todos: [item("test", "in_progress")], dropped: [item("build", "in_progress")] });
  });

  it("that is refused changes nothing, and any valid list is accepted after it", async () => {
    const bad: readonly (readonly [unknown, string])[] = [
      [[item("a"), item("a ")], "have the same content"],
      [[item("a", "in_progress"), item("b", "in_progress")], 'both "in_progress"'],
      [[item("  ")], "todos[0].content"],
      [[item("x".repeat(10_000))], "10000 characters"],
      [Array.from({ length: 201 }, (_, n) => item(`${n}`)), "at most 200"],
      [[{ content: "a", status: "done" }], 'todos[0].status is "done"'],
      [[{ content: 7, status: "pending" }], "todos[0].content is 7"],
      [[{ content: "a", status: "pending", priority: "high" }], 'unknown parameter "todos[0].priority"'],
      ["[{", 'todos is "[{"'],
    ];
    const calls = bad.map(([todos], n) => call("todo_write", { todos }, `bad_${n}`));
    const s = await pi({ next: turns([write(PLAN, "good"), ...calls], [write([item("other")], "after")]) });
    await s.prompt("go");
    const results = s.toolResults();
    bad.forEach(([, words], n) => {
      expect(results[n + 1]).toMatchObject({ toolCallId: `bad_${n}`, isError: true });
      expect(results[n + 1]?.text).toContain(words);
      expect(results[n + 1]?.text.length).toBeLessThan(400);
    });
    expect(results.at(-1)?.details).toMatchObject({ dropped: [item("build", "in_progress"), item("test")] });
    expect(writesOn(s)).toHaveLength(2);
  });

  it("holds what is odd as it was given and shows it safely", async () => {
    const odd = "\u202eone\u0007\ntwo 👩‍💻 \u001b[31mred";
    const s = await pi({ ui: true, next: turns([write([item(odd, "in_progress")])]) });
    await s.prompt("go");
    expect(writesOn(s)).toEqual([{ todos: [item(odd, "in_progress")] }]);
    expect(s.toolResults()[0]?.text.split("\n")[0]).toBe("[>] one two 👩‍💻 [31mred");
    expect(widget(s)).toEqual([" ▹ one two 👩‍💻 [31mred (paused)"]);
  });

  it("without a session is refused", async () => {
    const s = await pi({ next: () => "hello" });
    const tool = s.session.getToolDefinition("todo_write") as { execute(...all: unknown[]): Promise<unknown> };
    await expect(tool.execute("x", { todos: PLAN }, undefined, undefined, undefined)).rejects.toMatchObject({
      code: "refused",
      message: expect.stringContaining("no agent session"),
    });
    expect(writesOn(s)).toEqual([]);
  });
});

describe("the list", () => {
  it("comes through a window change, and the new window's bootstrap names what is open, once", async () => {
    const heard: Published[] = [];
    const s = await pi({
      ui: true,
      factories: [listener(heard)],
      next: turns([write(PLAN)], [call("new_context")], [call("get_context_remaining")]),
    });
    await s.prompt("go");
    expect(first(s.requests[2])).toContain("Your open todo items");
    expect(first(s.requests[2])).toContain("[>] build\n[ ] test\n(1 completed:");
    expect(s.requests[3]?.messages[0]).toEqual(s.requests[2]?.messages[0]);
    expect(whole(s.requests[3]).split("[>] build")).toHaveLength(2);
    expect(widget(s)).toEqual([" ✓ plan", " ▹ build (paused)", " ○ test"]);
    // A change of window is no change of the list.
    expect(heard).toHaveLength(2);
  });

  it("is rebuilt on resume, reload and fork, and follows the branch, with one message on the bus each time", async () => {
    const heard: Published[] = [];
    const options = { ui: true, factories: [listener(heard)] } as const;
    const s = await pi({ ...options, next: turns([write(PLAN, "t1")], [write(DONE, "t2")]) });
    await s.prompt("go");
    const todos = () => heard.splice(0).map((one) => one.todos);
    expect(todos()).toEqual([[], PLAN, DONE]);
    const [one, two] = s.toolResults();
    await s.session.navigateTree(one?.id ?? "");
    expect(todos()).toEqual([PLAN]);
    expect(widget(s)?.[1]).toContain("build (paused)");
    await s.session.navigateTree(two?.id ?? "");
    expect(todos()).toEqual([DONE]);
    await s.session.reload();
    expect(todos()).toEqual([DONE]);
    const path = s.session.sessionFile ?? "";
    await s.dispose();
    const again = await pi({ ...options, next: () => "hello", session: { path } });
    expect(todos()).toEqual([DONE]);
    expect(widget(again)).toEqual([" ✓ plan", " ✓ build", " ✓ test"]);
    const { codingAgent } = await loadHost();
    const forked = await pi({
      ...options,
      next: () => "hello",
      session: codingAgent.SessionManager.forkFrom(path, s.project, `${s.directory}/forks`),
    });
    expect(heard.at(-1)).toEqual({ sessionId: forked.session.sessionId, agent: "/root", todos: DONE });
    expect(heard.splice(0)).toHaveLength(1);
    expect(forked.session.sessionId).not.toBe(s.session.sessionId);
  });

  it("that is finished stays until the next message of the user, then folds away", async () => {
    const s = await pi({ ui: true, next: turns([write(DONE)]) });
    await s.prompt("go");
    expect(widget(s)).toEqual([" ✓ plan", " ✓ build", " ✓ test"]);
    await s.prompt("thanks");
    expect(widget(s)).toBeUndefined();
    // Folded away, and still the list.
    await s.session.prompt("/todos");
    expect(s.ui.notices.at(-1)?.message).toBe("Todo list, 3 of 3 done:\n✓ plan\n✓ build\n✓ test");
  });

  it("is drawn only when there is something in it", async () => {
    const s = await pi({ ui: true, next: turns([write([])]) });
    await s.prompt("go");
    expect(s.ui.widgets.has("pi-token-budget:todo")).toBe(false);
  });

  it("shows its active item as running only while a run goes on", async () => {
    let during: string[] | undefined;
    const s = await pi({
      ui: true,
      next: (_request, n) => {
        if (n === 0) return [write(PLAN)];
        during = widget(s);
        return "stopping here";
      },
    });
    await s.prompt("go");
    expect(during?.[1]).toBe(" ▸ build");
    expect(widget(s)?.[1]).toBe(" ▹ build (paused)");
    await s.session.prompt("/todos");
    expect(s.ui.notices.at(-1)?.message).toContain("▹ build");
  });
});

describe("a person", () => {
  it("clears the list; the model is told once in its next answer, and in the next bootstrap", async () => {
    const heard: Published[] = [];
    const s = await pi({
      ui: true,
      factories: [listener(heard)],
      next: turns([write(PLAN)], [text("waiting")], [call("new_context")], [write(PLAN)], [write(PLAN)]),
    });
    await s.prompt("go");
    await s.session.prompt("/todos clear");
    expect(widget(s)).toBeUndefined();
    expect(writesOn(s).at(-1)).toEqual({ todos: [], clearedBy: "user" });
    expect(heard.at(-1)?.todos).toEqual([]);
    // Clearing an empty list writes nothing.
    await s.session.prompt("/todos clear");
    expect(writesOn(s)).toHaveLength(2);
    await s.prompt("go on");
    expect(first(s.requests[3])).toContain("The user cleared your todo list");
    const answers = s.toolResults().filter(({ name }) => name === "todo_write");
    expect(answers.map((answer) => answer.text.includes("The user cleared"))).toEqual([false, true, false]);
    expect(answers[1]?.details).toMatchObject({ clearedByUser: true, dropped: [] });
  });

  it("gets completions, and the usage for what is no argument", async () => {
    const s = await pi({ ui: true, next: () => "hello" });
    await s.session.prompt("/todos");
    await s.session.prompt("/todos all");
    expect(s.ui.notices.map(({ message }) => message)).toEqual([
      "The todo list is empty.",
      '/todos does not know "all".\nUsage:\n  /todos: shows the whole todo list\n  /todos clear: empties it',
    ]);
    expect(s.requests).toHaveLength(0);
  });
});

describe("a child", () => {
  it("forked from its parent's session does not take over the parent's list, and its own stays its own", async () => {
    const heard: Published[] = [];
    let task: TokenBudgetTask | undefined;
    const finder: ExtensionFactory = (api) => {
      api.on("session_start", () => {
        task = getTokenBudgetTask(api);
      });
    };
    const parent = await pi({ ui: true, factories: [finder], next: turns([write(PLAN)]) });
    await parent.prompt("go");
    if (!task) throw new Error("no task in this session");
    const { codingAgent } = await loadHost();
    const child = await pi({
      ui: true,
      bare: true,
      session: codingAgent.SessionManager.forkFrom(
        parent.session.sessionFile ?? "",
        parent.project,
        `${parent.directory}/forks`,
      ),
      factories: [
        createTokenBudgetExtension({ task: { ...task.context, parentAgentName: "/root", agentName: "reviewer" } }),
        listener(heard),
      ],
      next: turns([call("new_context")], [write([item("review", "in_progress")])]),
    });
    expect(heard).toEqual([{ sessionId: child.session.sessionId, agent: "/root/reviewer", todos: [] }]);
    expect(widget(child)).toBeUndefined();
    await child.prompt("review it");
    expect(first(child.requests[1])).not.toContain("todo");
    expect(child.toolResults().at(-1)?.details).toEqual({ todos: [item("review", "in_progress")], dropped: [] });
    expect(writesOn(child).at(-1)).toEqual({ todos: [item("review", "in_progress")], agent: "/root/reviewer" });
    expect(widget(child)).toEqual([" ▹ review (paused)"]);
    expect(widget(parent)).toEqual([" ✓ plan", " ▹ build (paused)", " ○ test"]);
    expect(writesOn(parent)).toEqual([{ todos: PLAN }]);
  });
});

describe("without a terminal interface", () => {
  const started: { readonly environment: { remove(): void } }[] = [];
  const rpcs: RpcPi[] = [];
  afterEach(async () => {
    for (const rpc of rpcs.splice(0)) await rpc.close();
    for (const { environment } of started.splice(0)) environment.remove();
  });

  it("print mode prints the list when asked, and nothing else of it", async () => {
    // Newer hosts look for the last session of the folder they are started in.
    const cwd = scratchFolder();
    const run = await runPi({ model: [[write(PLAN)], "the answer"], prompt: "go", cwd });
    started.push(run);
    expect(run).toMatchObject({ code: 0, stdout: "the answer\n" });
    expect(run.stderr).not.toContain("build");
    const asked = await runPi({ model: ["unused"], prompt: "/todos", args: ["-c"], cwd, environment: run.environment });
    expect(asked.code).toBe(0);
    expect(asked.stderr).toContain("Todo list, 1 of 3 done:\n✓ plan\n▹ build\n○ test");
    expect(asked.requests).toHaveLength(0);
  });

  it("RPC mode draws nothing, gives the result its details, and answers /todos", async () => {
    const rpc = startRpc({ model: [[write(DONE)], "first", "second"] });
    rpcs.push(rpc);
    started.push(rpc);
    for (const message of ["go", "thanks"]) {
      rpc.send({ type: "prompt", message });
      await rpc.until(`end of ${message}`, ({ type }) => type === "agent_end");
    }
    const ended = rpc.lines.find(({ type }) => type === "tool_execution_end");
    expect(ended?.result).toMatchObject({ details: { todos: DONE, dropped: [] } });
    rpc.send({ type: "prompt", message: "/todos" });
    const notice = await rpc.until(
      "answer",
      (line) => line.type === "extension_ui_request" && line.method === "notify",
    );
    expect(notice.message).toContain("Todo list, 3 of 3 done:");
    expect(rpc.lines.filter(({ method }) => method === "setWidget" || method === "setStatus")).toEqual([]);
  });
});
