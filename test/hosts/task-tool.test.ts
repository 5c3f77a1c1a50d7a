// The model's own tool beside a person's tasks, and where nobody stays: it stops what it started alone, and starts nothing that
// would end with the session.
import { describe, expect, it } from "vitest";
import { call, type Request, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { closeAfterEach, pi, said } from "./support.ts";

closeAfterEach();

const settings = { tokenBudget: { taskTool: true } };
const isTask = ({ systemPrompt }: Request) => systemPrompt.startsWith("You carry out one task");

function held(): { readonly next: Script; readonly letGo: () => void } {
  let letGo = () => {};
  const isFree = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const next: Script = async (request) => {
    if (isTask(request)) await isFree;
    return "the result";
  };
  return { next, letGo: () => letGo() };
}

async function used(s: PiSession, args: object): Promise<string> {
  const { content } = await s.callTool("dispatch_task", { ...args });
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

describe("a task that a person gave", () => {
  it("can be read and waited for by the model, and is not stopped by it, nor its later runs", async () => {
    const { next, letGo } = held();
    const s = await pi({ ui: true, next, settings });
    await s.prompt("hello");
    const id = /^Task (\w+) has started/.exec(await said(s, "/task Write a"))?.[1] ?? "";
    await until("its request", () => s.requests.some(isTask));
    const refused = `Task ${id} was not started by you: leave it to run.`;
    await expect(used(s, { action: "stop", task: id })).rejects.toThrow(refused);
    expect(await used(s, { action: "read", task: id })).toMatch(/^Task \w+ runs/);
    const waiting = used(s, { action: "wait", task: id });
    letGo();
    expect(await waiting).toMatch(/^Task \w+ is completed\./);
    expect(await used(s, { action: "stop", task: id })).toMatch(/^Task \w+ is completed\./);
  });

  it("is not the model's either when it is one of the model's that a person runs again", async () => {
    const { next, letGo } = held();
    const s = await pi({ ui: true, next, settings });
    await s.prompt("hello");
    const id = /^Task (\w+) has started/.exec(await used(s, { goal: "Write a", action: "start" }))?.[1] ?? "";
    expect(await used(s, { action: "stop", task: id })).toMatch(/was cancelled/);
    await said(s, `/tasks rerun ${id}`);
    await expect(used(s, { action: "stop", task: id })).rejects.toThrow("was not started by you");
    letGo();
    await until("its end", () => s.ui.notices.some(({ message }) => message.includes("is completed: Write a.")));
  });
});

describe("without a person", () => {
  it("a task is waited for: starting one and going on is refused, and nothing is left", async () => {
    const next: Script = (request) => {
      if (isTask(request)) return "the child's answer";
      const results = request.messages.filter(({ role }) => role === "toolResult").length;
      if (results === 0) return [call("dispatch_task", { goal: "Ask the child", action: "start" })];
      return results === 1 ? [call("dispatch_task", { goal: "Ask the child" })] : "seen";
    };
    const s = await pi({ next, settings });
    await s.prompt("go");
    const [started, run] = s.toolResults();
    expect(started).toMatchObject({ isError: true });
    expect(started?.text).toMatch(/This session ends with its answer.*Nothing was started\. .*leave action out/i);
    expect(run).toMatchObject({ isError: false });
    expect(run?.text).toContain("the child's answer");
    expect(s.requests.filter(isTask)).toHaveLength(1);
  });
});
