// Once `prompt()` has resolved, what a session wrote is there for the others: whether its program disposes of it, ends, or
// dispatches the next task at once.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { afterEach, describe, expect, it } from "vitest";
import {
  createTaskDispatcher,
  createTokenBudgetExtension,
  getTokenBudgetTask,
  type Runner,
  type TokenBudgetTask,
} from "../../api.ts";
import { run } from "../../fixtures/pi/cli.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import { openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { journalFile } from "../../src/journal/journal.ts";
import { taskLayout } from "../../src/task/layout.ts";

const host = hostNamed(currentHostName());
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Rooted {
  readonly pi: PiSession;
  readonly task: TokenBudgetTask;
}

async function root(next: Script = () => "ok"): Promise<Rooted> {
  const apis: ExtensionAPI[] = [];
  const pi = await openPi({ next, factories: [(api) => void apis.push(api)] });
  closers.push(() => pi.dispose());
  const [api] = apis;
  const task = api && getTokenBudgetTask(api);
  if (!task) throw new Error("no task");
  return { pi, task };
}

function childOf({ task }: Rooted, agentName: string, next: Script): Promise<PiSession> {
  const extension = createTokenBudgetExtension({ task: { ...task.context, agentName } });
  return openPi({ bare: true, factories: [extension], next });
}

async function found({ pi }: Rooted, agent_name: string, query: string): Promise<string> {
  const { content } = await pi.callTool("history_search_contents", { agent_name, query });
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** Branches that an agent's journal has committed: each cost one flush to the disk. */
function commits({ task }: Rooted, agent: string): number {
  const file = journalFile(taskLayout(task.context.storageRoot, task.context).history(agent));
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.includes('"leaf"')).length;
}

const tools: Script = (_request, n) => (n < 2 ? [call("get_context_remaining")] : "PELICAN");

describe("a child's last words", () => {
  it("are found by its parent when the program disposes of it at once", async () => {
    const parent = await root();
    const child = await childOf(parent, "kid", () => "PELICAN");
    await child.session.prompt("Say your last words.");
    child.session.dispose();
    expect(await found(parent, "kid", "PELICAN")).toContain("assistant");
    expect(child.errors).toEqual([]);
  });

  it("are found when the prompt is the first thing the session hears, and the tools come before", async () => {
    const parent = await root();
    const child = await childOf(parent, "kid", tools);
    await child.session.prompt("Work.");
    child.session.dispose();
    expect(await found(parent, "kid", "PELICAN")).toContain("assistant");
  });

  it.each(["dispose", "exit"] as const)("are found when the program ends by %s", async (end) => {
    const parent = await root();
    await parent.pi.prompt("Begin.");
    const words = JSON.stringify([{ ...parent.task.context, agentName: "kid" }, "PELICAN", end]);
    const ran = await run(
      host.node,
      ["--import", "tsx", join(PACKAGE_DIR, "test/hosts/children/last-words.ts"), words],
      { cwd: PACKAGE_DIR },
    );
    expect(ran.code, ran.stderr).toBe(0);
    expect(await found(parent, "kid", "PELICAN")).toContain("assistant");
  });
});

describe("a task dispatched as soon as the prompt has resolved", () => {
  it.each([0, 5, 20, 50])("is told of the whole conversation (after %i ms)", async (ms) => {
    const parent = await root(() => "PELICAN");
    const prompts: string[] = [];
    const runner: Runner = {
      name: "session",
      choosesModels: false,
      run: async ({ prompt, onEvent }) => {
        prompts.push(prompt);
        onEvent({ type: "answer", text: "done" });
      },
    };
    const dispatcher = createTaskDispatcher(parent.task, { runners: [runner] });
    closers.push(() => dispatcher.close());
    await parent.pi.session.prompt("What bird is it?");
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    const handle = await dispatcher.dispatch({ goal: "Go on", category: null });
    expect((await handle.result).error).toBeNull();
    expect(prompts[0]).toContain("What bird is it?");
    expect(prompts[0]).toContain("PELICAN");
  });
});

describe("a program that ends a session", () => {
  it("by session_shutdown right behind the prompt leaves its words, and nobody who runs it", async () => {
    const parent = await root();
    const child = await childOf(parent, "kid", () => "PELICAN");
    await child.session.prompt("Say your last words.");
    await child.dispose();
    expect(await found(parent, "kid", "PELICAN")).toContain("assistant");
    expect(parent.task.agents().map(({ running }) => running)).toEqual([true, false]);
    // What arrives late on some hosts does not open the session again.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(parent.task.agents().map(({ running }) => running)).toEqual([true, false]);
  });

  it("with an extension that holds its messages up still leaves all of them", async () => {
    const parent = await root();
    const slow = (pi: ExtensionAPI) =>
      pi.on("message_end", async () => {
        await new Promise((resolve) => setTimeout(resolve, 60));
      });
    const extension = createTokenBudgetExtension({ task: { ...parent.task.context, agentName: "kid" } });
    const child = await openPi({ bare: true, factories: [slow, extension], next: () => "PELICAN" });
    await child.session.prompt("Say your last words.");
    await child.dispose();
    expect(await found(parent, "kid", "PELICAN")).toContain("assistant");
  });

  it("leaves no listener on the process, whichever way it ended", async () => {
    const before = process.listenerCount("exit");
    const parent = await root();
    for (const name of ["one", "two"]) {
      const child = await childOf(parent, name, () => "PELICAN");
      await child.session.prompt("Say your last words.");
      if (name === "one") child.session.dispose();
      else await child.dispose();
    }
    await expect.poll(() => process.listenerCount("exit")).toBe(before);
  });
});

describe("the journal of a run", () => {
  it("is flushed to the disk once for each answer and once for each batch of results", async () => {
    const parent = await root();
    const child = await childOf(parent, "kid", tools);
    await child.prompt("Work.");
    // 0.73.1 writes the prompt down with the first answer.
    const atOnce = host.name === "0.73.1" ? 0 : 1;
    expect(commits(parent, "/root/kid")).toBe(atOnce + 5);
    await child.prompt("Go on.");
    expect(commits(parent, "/root/kid")).toBe(atOnce + 5 + atOnce + 1);
    await child.dispose();
  });
});
