// The list as the branch says it: the last write on it, whoever looks and however the branch came about.
import { describe, expect, it } from "vitest";
import { clearedEntry, TODO_ENTRY, todoEntry, todoState } from "../../src/todo/replay.ts";
import { nextBootstrap } from "../../src/window/bootstrap.ts";
import { call, indexOf, TestLog, text } from "../log/branches.ts";
import { item } from "./items.ts";

const CHILD = "/root/agent_0123456789ab";
const PLAN = [item("plan", "completed"), item("build", "in_progress")];
const DONE = [item("plan", "completed"), item("build", "completed")];
const todosOf = (log: TestLog, agent = "/root") => todoState(indexOf(log), agent).todos;

describe("the list of a branch", () => {
  it("is the last write, on each branch its own", () => {
    const log = new TestLog();
    log.user("go");
    expect(todosOf(log)).toEqual([]);
    const first = log.custom(TODO_ENTRY, todoEntry(PLAN, "/root"));
    log.custom(TODO_ENTRY, todoEntry(DONE, "/root"));
    expect(todosOf(log)).toEqual(DONE);
    log.goTo(first);
    expect(todosOf(log)).toEqual(PLAN);
    const index = indexOf(log);
    log.goTo(null);
    index.catchUp(log);
    expect(todoState(index, "/root").todos).toEqual([]);
  });

  it("survives windows, and a write is a copy", () => {
    const log = new TestLog();
    log.user("go");
    const mine = PLAN.map((todo) => ({ ...todo }));
    log.custom(TODO_ENTRY, todoEntry(mine, "/root"));
    log.newContext(2);
    (mine[0] as { content: string }).content = "changed";
    expect(todosOf(log)).toEqual(PLAN);
    const shown = todosOf(log) as unknown as { content: string }[];
    (shown[0] as { content: string }).content = "changed";
    expect(todosOf(log)).toEqual(PLAN);
  });

  it("passes over what is no list in a damaged file", () => {
    const log = new TestLog();
    for (const data of [undefined, null, 7, "x", [], {}, { todos: 1 }, { todos: [null, 1, { content: 1 }] }]) {
      log.custom(TODO_ENTRY, data);
      expect(todosOf(log)).toEqual([]);
    }
    log.custom(TODO_ENTRY, {
      todos: [
        { content: "a", status: "pending", extra: 1 },
        { content: "b", status: "?" },
      ],
    });
    expect(todosOf(log)).toEqual([item("a")]);
  });

  it("written as the root's own holds nothing but the list", () => {
    expect(todoEntry(PLAN, "/root")).toEqual({ todos: PLAN });
    expect(todoEntry(PLAN, CHILD)).toEqual({ todos: PLAN, agent: CHILD });
  });

  it("is not taken over by a child that was forked from it, and is by a person's fork", () => {
    const log = new TestLog();
    log.user("go");
    log.custom(TODO_ENTRY, todoEntry(PLAN, "/root"));
    expect(todosOf(log, CHILD)).toEqual([]);
    expect(todosOf(log, "/root")).toEqual(PLAN);
    log.custom(TODO_ENTRY, todoEntry([item("review")], CHILD));
    expect(todosOf(log, CHILD)).toEqual([item("review")]);
    expect(todosOf(log, "/root/agent_ba9876543210")).toEqual([]);
    // A fork of the child's session is a root task of its own.
    expect(todosOf(log, "/root")).toEqual([item("review")]);
  });
});

describe("a finished list", () => {
  it("is shown until the next message of the user", () => {
    const log = new TestLog();
    log.user("go");
    log.custom(TODO_ENTRY, todoEntry(DONE, "/root"));
    log.assistant(text("done"));
    log.newContext(2);
    expect(todoState(indexOf(log), "/root").isFolded).toBe(false);
    log.user("thanks");
    expect(todoState(indexOf(log), "/root")).toMatchObject({ isFolded: true, todos: DONE });
    log.custom(TODO_ENTRY, todoEntry(PLAN, "/root"));
    log.user("and more");
    expect(todoState(indexOf(log), "/root").isFolded).toBe(false);
  });
});

describe("a person's clearing", () => {
  const bootstrap = (log: TestLog) =>
    nextBootstrap(indexOf(log), {
      identity: { agent: "/root", windowId: "w9", runId: "run" },
      notes: { rows: [], total: 0 },
      children: [],
      unsaved: undefined,
    });

  it("is told until the model writes again, in one bootstrap only, and undone with its branch", () => {
    const log = new TestLog();
    log.user("go");
    const written = log.custom(TODO_ENTRY, todoEntry(PLAN, "/root"));
    expect(bootstrap(log)).toContain("[>] build");
    log.custom(TODO_ENTRY, clearedEntry("/root"));
    expect(todoState(indexOf(log), "/root")).toMatchObject({ todos: [], clearedByUser: true });
    expect(bootstrap(log)).toContain("The user cleared your todo list");
    log.newContext(2);
    expect(bootstrap(log)).not.toContain("todo list");
    expect(todoState(indexOf(log), "/root").clearedByUser).toBe(true);
    log.assistant(call("t", "todo_write"));
    log.custom(TODO_ENTRY, todoEntry([item("new")], "/root"));
    expect(todoState(indexOf(log), "/root").clearedByUser).toBe(false);
    log.goTo(written);
    expect(todoState(indexOf(log), "/root")).toMatchObject({ todos: PLAN, clearedByUser: false });
  });
});
