// A task whose child cannot be the agent it was to be: the task fails with the reason, and nothing is sent to a model.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { afterEach, expect, it } from "vitest";
import { createTaskDispatcher, createTokenBudgetExtension, getTokenBudgetTask } from "../../api.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { openPi } from "../../fixtures/pi/session.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const MODEL = `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import { scriptedModel } from ${JSON.stringify(join(PACKAGE_DIR, "fixtures/pi/scripted-model.ts"))};
export default scriptedModel({ next: () => "ANSWERED", provider: "scripted", models: [{ id: "m" }], createStream: createAssistantMessageEventStream, onRequest: () => {} });
`;

it.each(["session", "cli"])("fails it on the runner %s", async (runner) => {
  let api: ExtensionAPI | undefined;
  const keep = (given: ExtensionAPI) => {
    api = given;
  };
  const pi = await openPi({ next: () => "hello", factories: [keep] });
  closers.push(() => pi.dispose());
  const task = api && getTokenBudgetTask(api);
  if (!task) throw new Error("no task");
  const environment = makeEnvironment();
  closers.push(() => environment.remove());
  const folder = join(environment.directory, "model");
  mkdirSync(folder);
  writeFileSync(join(folder, "model.ts"), MODEL);
  const host = hostNamed(currentHostName());
  let start = () => {};
  const isFree = new Promise<void>((resolve) => {
    start = resolve;
  });
  const dispatcher = createTaskDispatcher(task, {
    settings: { maxConcurrentTasks: 1, taskRunnerCommand: [host.node, host.cli] },
    cli: { args: ["-e", join(folder, "model.ts")], env: environment.variables },
    runners: [{ name: "first", choosesModels: false, run: () => isFree }],
    baseDirectory: pi.project,
  });
  closers.push(() => dispatcher.close());
  await dispatcher.dispatch({ goal: "holds the place", runner: "first", category: null });
  const waiting = await dispatcher.dispatch({
    ...{ goal: "g", runner, agentName: "reviewer", category: null },
    ...(runner === "cli" ? { model: "scripted/m" } : {}),
  });
  // Meanwhile somebody else takes the name.
  const membership = { ...task.context, parentAgentName: task.agentName, agentName: "reviewer" };
  const other = await openPi({
    ...{ next: () => "done", bare: true },
    factories: [createTokenBudgetExtension({ task: membership })],
  });
  closers.push(() => other.dispose());
  await other.prompt("I am the reviewer");
  start();
  const { status, error, result } = await waiting.result;
  expect({ status, result }).toEqual({ status: "failed", result: null });
  expect(error).toMatch(/\/root\/reviewer/);
  expect(error).toMatch(/another session|already|name/i);
  expect(pi.requests).toEqual([]);
});
