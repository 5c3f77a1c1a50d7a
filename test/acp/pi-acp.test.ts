// The plan in an editor, from end to end: the official SDK as the client, our command, the real pi-acp, the real Pi 1.6.0
// with this package, and a scripted model. Every plan line is checked against the SDK's own schema.
import { readdirSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import type { PrivateEnvironment } from "../../fixtures/pi/environment.ts";
import {
  type Editor,
  type EditorOptions,
  openEditor,
  type PlanEntries,
  processesAtHome,
  until,
  updateValidator,
} from "./editor.ts";

const MINUTES = 60_000;

/** Writes the list that the prompt holds, as the model would, and then ends its turn. */
const model = {
  source: `(request, n) => {
    const last = request.messages.at(-1);
    const said = typeof last.content === "string" ? last.content : last.content.map((block) => block.text ?? "").join("");
    const list = last.role === "user" ? /<<(.*)>>/s.exec(said)?.[1] : undefined;
    if (!list) return "done";
    return [{ type: "toolCall", id: "call_" + n + "_" + process.pid, name: "todo_write", arguments: { todos: JSON.parse(list) } }];
  }`,
};

type Todo = { content: string; status: "pending" | "in_progress" | "completed" };
const asking = (...todos: Todo[]) => `Write this list: <<${JSON.stringify(todos)}>>`;
const planned = (...todos: Todo[]): PlanEntries => todos.map((todo) => ({ ...todo, priority: "medium" }));

const first: Todo[] = [
  { content: "read the code", status: "completed" },
  { content: 'write the test "twice", in 二 lines', status: "in_progress" },
  { content: "run it", status: "pending" },
];
const second: Todo[] = [{ content: "run it", status: "in_progress" }];

const opened: (Editor & { environment: PrivateEnvironment })[] = [];
async function editor(options: Partial<EditorOptions> = {}) {
  const one = await openEditor({ model, ...options });
  opened.push(one);
  return one;
}

const violations = updateValidator();
const planLines = (lines: readonly string[]) => lines.filter((line) => line.includes('"sessionUpdate":"plan"'));

afterEach(async () => {
  const ended = opened.splice(0);
  await Promise.all(ended.map((one) => one.quit()));
  for (const { environment, lines } of ended) {
    await until("the end of Pi", () => processesAtHome(environment.home).length === 0);
    for (const line of lines()) expect(() => JSON.parse(line), line).not.toThrow();
    for (const line of planLines(lines())) expect(violations(line)).toEqual([]);
    environment.remove();
  }
});

describe("the todo list of a Pi behind pi-acp, in an editor", () => {
  it("is the plan of a new session after each change, and nothing before the first", {
    timeout: 2 * MINUTES,
  }, async () => {
    const one = await editor();
    const id = await one.newSession();
    expect(await one.prompt(id, "hello")).toBe("end_turn");
    expect(one.plans(id)).toEqual([]);
    expect(await one.prompt(id, asking(...first))).toBe("end_turn");
    expect(await one.prompt(id, asking(...second))).toBe("end_turn");
    expect(await one.planned(id, 2)).toEqual([planned(...first), planned(...second)]);
    expect(planLines(one.lines())[1]?.replace(id, "<id>")).toMatchInlineSnapshot(
      `"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"<id>","update":{"sessionUpdate":"plan","entries":[{"content":"run it","priority":"medium","status":"in_progress"}]}}}"`,
    );
    // The plan is there before the turn ends.
    const lines = one.lines();
    const plan = lines.findLastIndex((line) => line.includes('"sessionUpdate":"plan"'));
    expect(plan).toBeLessThan(lines.findLastIndex((line) => line.includes('"stopReason"')));
  });

  it("is emptied by a write of an empty list and by `/todos clear`", { timeout: 2 * MINUTES }, async () => {
    const one = await editor();
    const id = await one.newSession();
    await one.prompt(id, asking(...first));
    await one.prompt(id, asking());
    await one.prompt(id, asking(...second));
    expect(await one.planned(id, 3)).toEqual([planned(...first), [], planned(...second)]);
    // pi-acp waits for a run that a command never starts (docs/acp.md): the plan comes, the turn does not end.
    void one.prompt(id, "/todos clear").catch(() => undefined);
    expect((await one.planned(id, 4)).at(-1)).toEqual([]);
  });

  it("comes exactly once on load, from the log, in another process", { timeout: 3 * MINUTES }, async () => {
    const before = await editor();
    const listed = await before.newSession();
    await before.prompt(listed, asking(...first));
    await before.prompt(listed, asking(...second));
    await before.planned(listed, 2);
    const cleared = await before.newSession();
    await before.prompt(cleared, asking(...first));
    await before.prompt(cleared, asking());
    await before.planned(cleared, 2);
    await before.quit();

    const one = await editor({ environment: before.environment });
    await one.loadSession(listed);
    await one.planned(listed, 1);
    await one.prompt(listed, "hello");
    expect(one.plans(listed)).toEqual([planned(...second)]);
    const lines = one.lines();
    const response = lines.findIndex((line) => line.includes('"configOptions"') && line.includes('"result"'));
    expect(lines.findIndex((line) => line.includes('"sessionUpdate":"plan"'))).toBeGreaterThan(response);

    await one.loadSession(cleared);
    await one.planned(cleared, 1);
    await one.prompt(cleared, "hello");
    expect(one.plans(cleared)).toEqual([[]]);

    // A client that loads a session again has forgotten its plan.
    await one.loadSession(listed);
    expect(await one.planned(listed, 2)).toEqual([planned(...second), planned(...second)]);
  });

  it("ends with the editor: bridge, Pi and socket are gone", { timeout: 2 * MINUTES }, async () => {
    const one = await editor();
    const id = await one.newSession();
    await one.prompt(id, "hello");
    const sockets = () => readdirSync(one.temporary).filter((name) => name.startsWith("pi-token-budget-acp-"));
    const processes = () => processesAtHome(one.environment.home);
    expect(sockets()).toHaveLength(1);
    // The command, the bridge, Pi.
    expect(processes().length).toBeGreaterThanOrEqual(3);
    expect(await one.quit()).toEqual({ code: 0, signal: null });
    await until("the end of Pi", () => processes().length === 0);
    expect(sockets()).toEqual([]);
    expect(one.running.stderr()).toBe("");
  });
});
