// When a plan is due: behind the response that tells the client of its session, once, and only when it says something new.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Plans } from "../../src/acp/plans.ts";
import { type PlanPush, parsePush, planLine, pushLine } from "../../src/acp/wire.ts";
import { todosToPlan } from "../../src/todo/plan.ts";
import { updateValidator } from "./editor.ts";

const list = (...contents: string[]) => todosToPlan(contents.map((content) => ({ content, status: "pending" })));
const push = (sessionId: string, ...contents: string[]): PlanPush => ({ sessionId, entries: list(...contents) });
const line = (sessionId: string, ...contents: string[]) => planLine(push(sessionId, ...contents));

const newSession = { jsonrpc: "2.0", id: 1, method: "session/new", params: { cwd: "/p" } };
const opened = { jsonrpc: "2.0", id: 1, result: { sessionId: "a" } };
const loadSession = { jsonrpc: "2.0", id: "l", method: "session/load", params: { sessionId: "a", cwd: "/p" } };
const loaded = { jsonrpc: "2.0", id: "l", result: {} };
const prompt = { jsonrpc: "2.0", id: 2, method: "session/prompt", params: { sessionId: "a", prompt: [] } };

function plansWithNew(): Plans {
  const plans = new Plans();
  plans.clientSent(newSession);
  plans.bridgeSent(opened);
  return plans;
}

describe("the plan of a session", () => {
  it("waits for the response of session/new", () => {
    const plans = new Plans();
    plans.clientSent(newSession);
    expect(plans.awaitsResponse).toBe(true);
    plans.pushed(push("a", "one"));
    plans.bridgeSent({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "a" } });
    plans.bridgeSent({ jsonrpc: "2.0", id: "1", result: { sessionId: "a" } });
    plans.bridgeSent({ jsonrpc: "2.0", id: 1, method: "fs/read_text_file", params: {} });
    expect(plans.take()).toEqual([]);
    plans.bridgeSent(opened);
    expect(plans.take()).toEqual([line("a", "one")]);
    expect(plans.take()).toEqual([]);
    expect(plans.awaitsResponse).toBe(false);
  });

  it("is not sent while it is empty as the client's own, and is sent when it becomes so", () => {
    const plans = plansWithNew();
    plans.pushed(push("a"));
    expect(plans.take()).toEqual([]);
    plans.pushed(push("a", "one"));
    expect(plans.take()).toEqual([line("a", "one")]);
    plans.pushed(push("a"));
    expect(plans.take()).toEqual([line("a")]);
  });

  it("is the newest only, and not sent when the client shows it already", () => {
    const plans = plansWithNew();
    plans.pushed(push("a", "one"));
    plans.pushed(push("a", "two"));
    expect(plans.take()).toEqual([line("a", "two")]);
    plans.pushed(push("a", "two"));
    expect(plans.take()).toEqual([]);
  });

  it.each([[["one"]], [[]]])("comes once on load, behind the response: %j", (contents) => {
    const plans = plansWithNew();
    plans.pushed(push("a", ...contents));
    plans.take();
    plans.clientSent(loadSession);
    plans.pushed(push("a", ...contents));
    plans.clientSent(prompt);
    expect(plans.take()).toEqual([]);
    plans.bridgeSent(loaded);
    expect(plans.take()).toEqual([line("a", ...contents)]);
    plans.pushed(push("a", ...contents));
    expect(plans.take()).toEqual([]);
  });

  it("comes once on load when the extension is later than the response", () => {
    const plans = new Plans();
    plans.clientSent(loadSession);
    plans.bridgeSent(loaded);
    expect(plans.take()).toEqual([]);
    plans.pushed(push("a"));
    expect(plans.take()).toEqual([line("a")]);
  });

  it("waits on when the load fails, until the client speaks of the session", () => {
    const plans = new Plans();
    plans.clientSent(loadSession);
    plans.pushed(push("a", "one"));
    plans.bridgeSent({ jsonrpc: "2.0", id: "l", error: { code: -32603, message: "no" } });
    expect(plans.take()).toEqual([]);
    plans.clientSent(prompt);
    expect(plans.take()).toEqual([line("a", "one")]);
  });

  it("is not shown for a session that the client never heard of, nor after session/close", () => {
    const plans = plansWithNew();
    plans.pushed(push("b", "of somebody else"));
    expect(plans.take()).toEqual([]);
    plans.clientSent({ jsonrpc: "2.0", id: 5, method: "session/close", params: { sessionId: "a" } });
    plans.pushed(push("a", "late"));
    expect(plans.take()).toEqual([]);
  });

  it("is in no other version of the protocol", () => {
    const plans = new Plans();
    plans.clientSent({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: 2 } });
    plans.bridgeSent({ jsonrpc: "2.0", id: 0, result: { protocolVersion: 2 } });
    plans.clientSent(newSession);
    plans.bridgeSent(opened);
    plans.pushed(push("a", "one"));
    expect(plans.isOtherVersion).toBe(true);
    expect(plans.take()).toEqual([]);
  });

  it("is still known when many others push", () => {
    const plans = plansWithNew();
    for (let n = 0; n < 1_000; n++) plans.pushed(push(`child-${n}`, "one"));
    plans.pushed(push("a", "mine"));
    expect(plans.take()).toEqual([line("a", "mine")]);
  });

  it("stays out of every message that is none", () => {
    const plans = new Plans();
    fc.assert(
      fc.property(
        fc.oneof(fc.dictionary(fc.constantFrom("id", "method", "params", "result"), fc.jsonValue())),
        (message) => {
          plans.clientSent(message);
          plans.bridgeSent(message);
          expect(plans.take()).toEqual([]);
        },
      ),
    );
  });
});

describe("the wire", () => {
  const todo = fc.record({
    content: fc.string({ unit: "grapheme", minLength: 1 }),
    status: fc.constantFrom("pending" as const, "in_progress" as const, "completed" as const),
  });

  it("carries any list of todos from the extension to a valid plan of the same items in the same order", () => {
    const violations = updateValidator();
    fc.assert(
      fc.property(fc.array(todo, { maxLength: 6 }), (todos) => {
        const received = parsePush(pushLine({ sessionId: "s", entries: todosToPlan(todos) }));
        const sent = planLine(received ?? { sessionId: "lost", entries: [] });
        expect(violations(sent)).toEqual([]);
        expect(sent.indexOf("\n")).toBe(sent.length - 1);
        const { params } = JSON.parse(sent) as { params: unknown };
        const entries = todos.map(({ content, status }) => ({ content, priority: "medium", status }));
        expect(params).toEqual({ sessionId: "s", update: { sessionUpdate: "plan", entries } });
      }),
    );
  });

  it("has one shape", () => {
    const todos = [
      { content: "read", status: "completed" },
      { content: "write", status: "in_progress" },
      { content: "run", status: "pending" },
    ] as const;
    expect(planLine({ sessionId: "0190-a", entries: todosToPlan(todos) })).toMatchInlineSnapshot(`
      "{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0190-a","update":{"sessionUpdate":"plan","entries":[{"content":"read","priority":"medium","status":"completed"},{"content":"write","priority":"medium","status":"in_progress"},{"content":"run","priority":"medium","status":"pending"}]}}}
      "
    `);
    expect(planLine({ sessionId: "0190-a", entries: [] })).toMatchInlineSnapshot(`
      "{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0190-a","update":{"sessionUpdate":"plan","entries":[]}}}
      "
    `);
  });

  it("is checked against a schema that finds what is wrong", () => {
    const violations = updateValidator();
    const wrong = (entry: object) => planLine({ sessionId: "s", entries: [entry as never] });
    expect(violations(wrong({ content: "a", status: "pending" }))).not.toEqual([]);
    expect(violations(wrong({ content: "a", status: "cancelled", priority: "medium" }))).not.toEqual([]);
    expect(violations(wrong({ content: 1, status: "pending", priority: "medium" }))).not.toEqual([]);
  });

  it.each([
    "",
    "{}",
    "[]",
    "null",
    '{"sessionId":"","entries":[]}',
    '{"sessionId":"s"}',
    '{"sessionId":"s","entries":{}}',
    '{"sessionId":"s","entries":[null]}',
    '{"sessionId":"s","entries":[{"content":"a","status":"cancelled","priority":"medium"}]}',
    '{"sessionId":"s","entries":[{"content":"a","status":"pending"}]}',
  ])("takes no push from %s", (text) => {
    expect(parsePush(text)).toBeUndefined();
  });

  it("leaves fields behind that are not of the protocol", () => {
    const entry = { content: "a", status: "pending", priority: "medium", _meta: { x: 1 }, secret: 1 };
    const push = parsePush(JSON.stringify({ sessionId: "s", entries: [entry], more: 1 }));
    expect(planLine(push ?? { sessionId: "lost", entries: [] })).toBe(line("s", "a"));
  });
});
