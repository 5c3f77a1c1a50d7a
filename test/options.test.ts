// What other programs pass to the exported functions: what is wrong is said with the field, the fields there are, and what
// was probably meant, before anything begins.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  createRouter,
  createTaskDispatcher,
  createTokenBudgetExtension,
  defineTaskTool,
  type ErrorCode,
  getTokenBudgetTask,
  setAgentCategory,
  TokenBudgetError,
  todosToPlan,
} from "../api.ts";
import { parentOf } from "./dispatch/dispatchers.ts";
import { temporaryDirectory, treeOf } from "./storage/disks.ts";
import { newPlace } from "./task/tasks.ts";

type Loose = (...given: unknown[]) => unknown;
const loose = (given: unknown) => given as Loose;
const CONTEXT = { version: 1, runId: "r", rootSessionId: "r", storageRoot: "/s/pi-token-budget" };
const parent = () => {
  const place = newPlace();
  return parentOf(place.open(place.session("r")).task);
};
const parts = { categories: new Map(), palette: () => [], lastResort: () => undefined };

const CASES: readonly [string, () => unknown, ErrorCode, RegExp][] = [
  [
    "no task",
    () => loose(createTokenBudgetExtension)({ ...CONTEXT, agentName: "x" }),
    "unknown_field",
    /belongs to the task: pass \{ task: \{ \.\.\.task\.context, agentName \} \}/,
  ],
  [
    "a task of undefined",
    () => loose(createTokenBudgetExtension)({ task: undefined }),
    "invalid_argument",
    /task is undefined; .*Leave it out/,
  ],
  [
    "null",
    () => loose(createTokenBudgetExtension)(null),
    "invalid_argument",
    /the options must be an object, not null\. There are task/,
  ],
  [
    "a text",
    () => loose(createTokenBudgetExtension)("x"),
    "invalid_argument",
    /the options must be an object, not "x"/,
  ],
  [
    "env of null",
    () => loose(createTokenBudgetExtension)({ env: null }),
    "invalid_argument",
    /env is null; it must be an object, or be left out/,
  ],
  [
    "a number as path",
    () => loose(createTokenBudgetExtension)({ subagents: { modulePath: 5 } }),
    "invalid_argument",
    /modulePath is 5/,
  ],
  [
    "a misspelt option",
    () => loose(createTokenBudgetExtension)({ onproblem: () => 1 }),
    "unknown_field",
    /Did you mean onProblem\?/,
  ],
  [
    "no parent",
    () => loose(createTaskDispatcher)(undefined),
    "invalid_argument",
    /there is no parent task\. getTokenBudgetTask answers undefined before/,
  ],
  [
    "a context as parent",
    () => loose(createTaskDispatcher)(CONTEXT),
    "missing_field",
    /context is missing in what getTokenBudgetTask answers; .* There are context, .*, flush\.$/,
  ],
  [
    "a misspelt quota",
    () => loose(createTaskDispatcher)(parent(), { qouta: () => 1 }),
    "unknown_field",
    /no field "qouta" in the options\. Did you mean quota\?/,
  ],
  [
    "a misspelt setting",
    () => loose(createTaskDispatcher)(parent(), { settings: { maxConcurrent: 1 } }),
    "unknown_field",
    /maxConcurrent/,
  ],
  [
    "half a runner",
    () => loose(createTaskDispatcher)(parent(), { runners: [{ name: "x" }] }),
    "missing_field",
    /choosesModels is missing in runners\[0\]/,
  ],
  [
    "a quota of text",
    () => loose(createTaskDispatcher)(parent(), { settings: { taskQuota: { tokens: "9" } } }),
    "invalid_argument",
    /tokens is "9"/,
  ],
  [
    "no router parts",
    () => loose(createRouter)(undefined),
    "invalid_argument",
    /the parts must be an object, not undefined/,
  ],
  ["an object of categories", () => loose(createRouter)({ ...parts, categories: {} }), "invalid_argument", /a Map/],
  [
    "a misspelt request",
    () => loose(createRouter(parts))({ contentCategory: null, pined: {} }),
    "unknown_field",
    /Did you mean pinned\?/,
  ],
  [
    "no request",
    () => loose(createRouter(parts))(undefined),
    "invalid_argument",
    /the request must be an object, not undefined/,
  ],
  ["no list", () => loose(todosToPlan)(undefined), "invalid_argument", /todos is undefined; it must be a list/],
  [
    "a wrong status",
    () => loose(todosToPlan)([{ content: "a", status: "done" }]),
    "invalid_argument",
    /status is "done"; it must be one of "pending"/,
  ],
  ["no interface", () => loose(getTokenBudgetTask)(undefined), "invalid_argument", /Pi's extension interface/],
  [
    "a misspelt session",
    () => loose(getTokenBudgetTask)({ events: { emit: () => 1 } }, { sessionID: "x" }),
    "unknown_field",
    /sessionId/,
  ],
  ["no dispatcher", () => loose(defineTaskTool)({}), "invalid_argument", /what createTaskDispatcher answers/],
  [
    "a reserved label",
    () => loose(createRouter(parts))({ contentCategory: "none" }),
    "invalid_argument",
    /none stands for ordinary content/,
  ],
  [
    "a name of 600 characters",
    () => createTokenBudgetExtension({ task: { ...CONTEXT, version: 1, agentName: "x".repeat(600) } }),
    "invalid_address",
    /would have 606 characters, and at most 512/,
  ],
];

describe("a wrong argument", () => {
  test.each(CASES)("%s is told", (_name, given, code, message) => {
    let error: unknown;
    try {
      given();
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TokenBudgetError);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toMatch(message);
  });

  test.each([[undefined], [{ ...CONTEXT, rootSessionId: "q" }], [{ ...CONTEXT, more: 1 }]])(
    "a category decided for the context %j is refused",
    async (context) => {
      await expect(loose(setAgentCategory)(context, "/root", null)).rejects.toBeInstanceOf(TokenBudgetError);
    },
  );

  test("a category decided where no task is makes nothing", async () => {
    const base = temporaryDirectory();
    const context = { version: 1, runId: "r", rootSessionId: "r", storageRoot: join(base, "pi-token-budget") } as const;
    await expect(setAgentCategory(context, "/root", "s")).rejects.toMatchObject({ code: "not_found" });
    expect(treeOf(base)).toEqual([]);
  });
});
