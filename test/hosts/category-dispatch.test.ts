// The eight cases of the rule that content decides, with dispatched tasks in real sessions: whatever is asked for, no
// model without the label is sent content of the category, and no ordinary agent reads it.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as streamText } from "node:stream/consumers";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { afterEach, describe, expect, test } from "vitest";
import {
  createTaskDispatcher,
  createTokenBudgetExtension,
  defineTaskTool,
  getTokenBudgetTask,
  setAgentCategory,
  type TaskDispatcher,
  type TaskMembership,
  type TaskTool,
  type TokenBudgetTask,
} from "../../api.ts";
import { call, type Request, type Script, textOf } from "../../fixtures/pi/scripted-model.ts";
import { openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { categoryGuidance, ORDINARY_TASK_HINT } from "../../src/prompts.ts";
import { taskLayout } from "../../src/task/layout.ts";

/** Stands in everything that is of the category. */
const SECRET = "vault-words";
const MODELS = [{ id: "m" }, { id: "vault" }, { id: "vault2" }];

interface Opened {
  readonly pi: PiSession;
  readonly task: TokenBudgetTask;
  readonly dispatcher: TaskDispatcher;
  readonly tool: TaskTool;
}

interface Options {
  readonly category?: string;
  /** What dispatched children do. */
  readonly child?: Script;
  readonly provider?: string;
  /** Joins another one's root task, as a launcher does it. */
  readonly membership?: TaskMembership;
}

const open: Opened[] = [];
let providers = 0;

const isTask = ({ systemPrompt }: Request) => systemPrompt.startsWith("You carry out one task");
const childRequests = ({ pi }: Opened) => pi.requests.filter(isTask);
const promptOf = (request: Request | undefined) => (request?.messages ?? []).map(textOf).join("\n");
const results = ({ messages }: Request) => messages.filter(({ role }) => role === "toolResult");

async function start({ category, child = () => "done", membership, ...options }: Options = {}): Promise<Opened> {
  const provider = options.provider ?? `vault-${++providers}`;
  const base = provider.replace(/-child$/, "");
  const labelled = [base, `${base}-child`].flatMap((each) => [`${each}/vault`, `${each}/vault2`]);
  let api: ExtensionAPI | undefined;
  const keep = (given: ExtensionAPI) => {
    api = given;
  };
  const pi = await openPi({
    next: (request, n) => (isTask(request) ? child(request, n) : "yes"),
    provider,
    ui: true,
    models: MODELS,
    settings: { tokenBudget: { categories: { s: { models: labelled }, t: { models: [`${base}/m`] } } } },
    bare: membership !== undefined,
    factories: [...(membership ? [createTokenBudgetExtension({ task: membership })] : []), keep],
  });
  const task = api && getTokenBudgetTask(api);
  if (!task) throw new Error("no task");
  const dispatcher = createTaskDispatcher(task, { baseDirectory: pi.project });
  const opened = { pi, task, dispatcher, tool: defineTaskTool(dispatcher) };
  open.push(opened);
  if (category !== undefined) {
    await pi.prompt(`/category ${category}`);
    await pi.prompt(`${SECRET}: what the person said first`);
  }
  return opened;
}

/** What went to the model that has no label of the category. */
function expectKept({ pi }: Opened): void {
  const unlabelled = pi.requests.filter(({ model }) => model === "m").map((request) => JSON.stringify(request));
  expect(unlabelled.filter((request) => request.includes(SECRET))).toEqual([]);
  expect(unlabelled.filter((request) => request.includes(categoryGuidance("s").slice(0, 40)))).toEqual([]);
}

afterEach(async () => {
  for (const opened of open.splice(0).reverse()) {
    await opened.dispatcher.close();
    await opened.pi.dispose();
    expectKept(opened);
    expect(opened.pi.errors).toEqual([]);
  }
});

const ended = async (dispatched: ReturnType<TaskDispatcher["dispatch"]>) => (await dispatched).result;

interface Registered {
  readonly address: string;
  readonly category: string | null;
  readonly categoryOwn: boolean;
}

const registryOf = ({ task: { context } }: Opened) => taskLayout(context.storageRoot, context).registry;

function registered(opened: Opened, address: string): Registered | undefined {
  const { agents } = JSON.parse(readFileSync(registryOf(opened), "utf8")) as { agents: Registered[] };
  return agents.find((agent) => agent.address === address);
}

/** Somebody changes the registry to say that the root is ordinary. */
function tamper(opened: Opened): void {
  const file = JSON.parse(readFileSync(registryOf(opened), "utf8")) as { agents: Record<string, unknown>[] };
  const agents = file.agents.map(({ decided, ...agent }) =>
    agent.address === "/root" ? { ...agent, category: null } : { ...agent, ...(decided ? { decided } : {}) },
  );
  writeFileSync(registryOf(opened), JSON.stringify({ ...file, agents }));
}

function secretFile({ pi }: Opened): string {
  const path = join(pi.project, "secret.txt");
  writeFileSync(path, `${SECRET} in a file\n`);
  return path;
}

describe("a session of a category dispatches", () => {
  test("1: an ordinary task by default, free in its model and told nothing of who opened it", async () => {
    const opened = await start({ category: "s" });
    const { pi, tool, dispatcher } = opened;
    const { details } = await tool.execute("c", { goal: "Count to three" });
    expect(details.task).toMatchObject({ status: "completed", category: null, error: null });
    expect(registered(opened, details.task.agent)).toMatchObject({ category: null, categoryOwn: true });
    const model = `${pi.provider}/m`;
    const free = await ended(dispatcher.dispatch({ goal: "Count to four", category: null, model }));
    expect(free).toMatchObject({ status: "completed", category: null, model, error: null });
    const asked = childRequests(opened);
    expect(asked.at(-1)?.model).toBe("m");
    expect(promptOf(asked[0])).not.toContain("Earlier turns");
    for (const request of asked) {
      expect(promptOf(request)).not.toMatch(/## User|left out|latest messages/);
      expect(JSON.stringify(request)).not.toContain(SECRET);
    }
  });

  test("2: a declared task on the first labelled model, with all that it is of", async () => {
    const opened = await start();
    const { pi, task, tool } = opened;
    await task.childExtension();
    await setAgentCategory(task.context, "/root", "s");
    await pi.prompt(`${SECRET}: what the person said`);
    const { details } = await tool.execute("c", {
      goal: `Look for ${SECRET}`,
      context: `${SECRET} stands in it`,
      category: "s",
      attachments: [secretFile(opened)],
    });
    expect(details.task).toMatchObject({ status: "completed", category: "s", model: `${pi.provider}/vault` });
    expect(registered(opened, details.task.agent)).toMatchObject({ category: "s", categoryOwn: true });
    const [request, ...others] = childRequests(opened);
    expect(others).toEqual([]);
    expect(request?.model).toBe("vault");
    expect(promptOf(request)).toContain(`## User\n> ${SECRET}: what the person said`);
    expect(promptOf(request)).toMatch(/latest messages to \/root .* items \w+ of w1/);
    expect(request?.systemPrompt).toContain(categoryGuidance("s"));
  });

  test("3: no declared task on an unlabelled model, nor on a runner that chooses its own", async () => {
    const opened = await start({ category: "s" });
    const { pi, dispatcher } = opened;
    const goal = `Look for ${SECRET}`;
    const attachments = [secretFile(opened)];
    const on = (model: string) => dispatcher.dispatch({ goal, attachments, category: "s", model });
    await expect(on(`${pi.provider}/m`)).rejects.toThrow(/\/m", which may not see content of category s/);
    for (const declared of [{ category: "s" }, {}])
      await expect(dispatcher.dispatch({ goal, attachments, runner: "cli", ...declared })).rejects.toThrow(
        /category s does not run on the runner cli/,
      );
    expect(childRequests(opened)).toEqual([]);
    expect(await dispatcher.list({ viewer: "person" })).toEqual([]);
    expect(await ended(on(`${pi.provider}/vault2`))).toMatchObject({ status: "completed", category: "s" });
    expect(childRequests(opened).map(({ model }) => model)).toEqual(["vault2"]);
  });

  test("4: no task of another category, and one of its own", async () => {
    const opened = await start({ category: "s" });
    const { dispatcher, tool } = opened;
    const goal = `Look for ${SECRET}`;
    await expect(dispatcher.dispatch({ goal, category: "t" })).rejects.toThrow(/not this agent's.*or give s/);
    await expect(tool.execute("c", { goal, category: "t" })).rejects.toThrow(/not this agent's/);
    expect(childRequests(opened)).toEqual([]);
    const { details } = await tool.execute("d", { goal, category: " S " });
    expect(details.task).toMatchObject({ status: "completed", category: "s" });
    expect(await dispatcher.list({ viewer: "person" })).toHaveLength(1);
  });

  test("6: an ordinary child that reads nothing of it, and a child of the category that reads the originals", async () => {
    const references: { item_id: string; window_id: string }[] = [];
    const child: Script = (request) => {
      if (results(request).length > 0) return "read";
      const prompt = promptOf(request);
      const line = prompt.split("\n").find((each) => each.startsWith("The person's latest messages")) ?? "";
      const found = [...line.matchAll(/(\w+) of (w\d+)/g)];
      references.push(...found.map(([, item_id = "", window_id = ""]) => ({ item_id, window_id })));
      const from = { agent_name: "/root" };
      const read = references.map((item) => call("history_read_item", { ...from, ...item, limit_chars: 500 }));
      if (found.length > 0) return read;
      return [
        ...read,
        call("history_list_items", from),
        call("history_search_contents", { ...from, query: "vault" }),
        call("notes_read_file", { path: "/root/notes/plan.md" }),
        call("notes_list_files_by_prefix", { prefix: "/root/notes/" }),
        call("get_context_remaining"),
      ];
    };
    const opened = await start({ category: "s", child });
    const { pi, dispatcher } = opened;
    for (let n = 1; n <= 13; n++) await pi.session.prompt(`${SECRET} number ${n}.`);
    await pi.callTool("notes_write_file", { path: "plan.md", text: SECRET });
    await pi.prompt(`${SECRET} number 14.`);

    const same = await ended(dispatcher.dispatch({ goal: "Read them", category: "s" }));
    expect(same).toMatchObject({ status: "completed", result: "read" });
    const originals = results(childRequests(opened).at(-1) as Request).map((result) => textOf(result));
    expect(originals).toHaveLength(12);
    for (const [at, original] of originals.entries()) expect(original).toContain(`${SECRET} number ${at + 3}.`);

    const before = childRequests(opened).length;
    const ordinary = await ended(dispatcher.dispatch({ goal: "Try it", category: null, model: `${pi.provider}/m` }));
    expect(ordinary).toMatchObject({ status: "completed", result: "read" });
    const [first, second] = childRequests(opened).slice(before);
    expect(promptOf(first)).not.toMatch(/Earlier turns|left out|latest messages/);
    const refused = results(second as Request);
    expect(refused).toHaveLength(17);
    for (const result of refused.slice(0, -1)) {
      expect(textOf(result).replace(/^\[id: \w+\]\n/, "")).toBe(
        "/root is restricted: its content is not for this agent. Do without it.",
      );
      expect(result.isError).toBe(true);
    }
    expect(textOf(refused.at(-1))).toContain("/root (restricted)");
  }, 60_000);

  test("7: with a hint for an ordinary task only", async () => {
    const ordinary = await start();
    const hinted = async ({ tool }: Opened, params: Record<string, unknown>) => {
      const { content } = await tool.execute("c", { goal: "Do it", ...params });
      return textOf({ content }).includes(ORDINARY_TASK_HINT);
    };
    expect(await hinted(ordinary, {})).toBe(false);
    const opened = await start({ category: "s" });
    expect(await hinted(opened, { category: "s" })).toBe(false);
    expect(await hinted(opened, { category: null })).toBe(true);
    expect(await hinted(opened, {})).toBe(true);
  });

  test("8: a task of its own category for a flow that quotes it, and reruns keep their choice", async () => {
    const opened = await start({ category: "s" });
    const { pi, dispatcher } = opened;
    const quoting = await ended(dispatcher.dispatch({ goal: `Repair what ${SECRET} says` }));
    expect(quoting).toMatchObject({ status: "completed", category: "s", model: `${pi.provider}/vault` });
    expect(registered(opened, quoting.agent)).toMatchObject({ category: "s", categoryOwn: false });
    const own = await ended(dispatcher.dispatch({ goal: `${SECRET} again`, category: "s" }));
    const ordinary = await ended(dispatcher.dispatch({ goal: "Count", category: null, model: `${pi.provider}/m` }));
    for (const [task, category, categoryOwn] of [
      [quoting, "s", false],
      [own, "s", true],
      [ordinary, null, true],
    ] as const) {
      const again = await ended(dispatcher.rerun(task.id));
      expect(again).toMatchObject({ status: "completed", category, model: task.model });
      expect(registered(opened, again.agent)).toMatchObject({ category, categoryOwn });
    }
    const said = childRequests(opened).map(({ model }) => model);
    expect(said).toEqual(["vault", "vault", "m", "vault", "vault", "m"]);
  });
});

test("5: an ordinary session may declare nothing", async () => {
  const opened = await start();
  const { pi, tool, dispatcher } = opened;
  await pi.prompt("hello");
  await expect(tool.execute("c", { goal: "x", category: "s" })).rejects.toThrow(
    /This agent is ordinary: leave category/,
  );
  expect(await dispatcher.list({ viewer: "person" })).toEqual([]);
  expect((await tool.execute("c", { goal: "x" })).details.task).toMatchObject({ status: "completed", category: null });
});

describe("the records of a task of a category", () => {
  test("are for agents of it: an ordinary sibling sees that there is one, and nothing of it", async () => {
    const opened = await start({ category: "s" });
    const { pi, task, dispatcher } = opened;
    const secret = await ended(
      dispatcher.dispatch({ goal: `Look for ${SECRET}`, category: "s", attachments: [secretFile(opened)] }),
    );
    const shared = await ended(dispatcher.dispatch({ goal: "Count", category: null, model: `${pi.provider}/m` }));
    const file = secret.files[0]?.id ?? "";
    const sibling = await start({
      provider: `${pi.provider}-child`,
      membership: { ...task.context, agentName: "sibling", category: null },
    });
    expect(await sibling.dispatcher.list()).toEqual([shared, { agent: secret.agent, restricted: true }]);
    const { dispatcher: outside } = sibling;
    for (const read of [
      outside.get(secret.id),
      outside.openFile(secret.id, file),
      outside.rerun(secret.id),
      outside.cancel(secret.id),
      outside.remove(secret.id),
    ])
      await expect(read).rejects.toThrow(/restricted/);
    expect(await outside.get(shared.id)).toEqual(shared);
    expect(await outside.get(secret.id, { viewer: "person" })).toEqual(secret);
    const { stream } = await dispatcher.openFile(secret.id, file);
    expect(await streamText(stream)).toBe(`${SECRET} in a file\n`);

    await ended(outside.dispatch({ goal: "What was done before?", category: null, model: `${pi.provider}-child/m` }));
    const told = promptOf(childRequests(sibling)[0]);
    expect(told).toContain("## Finished task: Count");
    expect(told.match(/^## /gm)).toHaveLength(1);
  });

  test("follow a person's later decision: the next ordinary task is not told of them", async () => {
    const opened = await start();
    const { task, dispatcher } = opened;
    const moved = await ended(dispatcher.dispatch({ goal: "Count the first", category: null }));
    await setAgentCategory(task.context, moved.agent, "s");
    await ended(dispatcher.dispatch({ goal: "Count the second", category: null }));
    expect(promptOf(childRequests(opened).at(-1))).not.toContain("Count the first");
    expect(await dispatcher.list()).toContainEqual({ agent: moved.agent, restricted: true });
  });
});

describe("with a registry that somebody changed to say that the session is ordinary", () => {
  test("tasks are those of a session of the category", async () => {
    const opened = await start({ category: "s" });
    const { pi, task, dispatcher, tool } = opened;
    tamper(opened);
    expect(registered(opened, "/root")?.category).toBeNull();
    expect(task.category()).toBe("s");
    expect(task.agents().map(({ agentName, category }) => [agentName, category])).toEqual([["/root", "s"]]);
    const { content } = await tool.execute("c", { goal: "Count" });
    expect(textOf({ content })).toContain(ORDINARY_TASK_HINT);
    expect(promptOf(childRequests(opened)[0])).not.toMatch(/Earlier turns|latest messages/);

    tamper(opened);
    const quoting = await ended(dispatcher.dispatch({ goal: `Repair what ${SECRET} says` }));
    expect(quoting).toMatchObject({ status: "completed", category: "s", model: `${pi.provider}/vault` });
    expect(registered(opened, quoting.agent)).toMatchObject({ category: "s", categoryOwn: false });
    expect(registered(opened, "/root")?.category).toBe("s");
  });

  test.each([
    ["is changed", tamper],
    ["is gone", (opened: Opened) => rmSync(registryOf(opened))],
  ])(
    "a child that a launcher starts without a declaration is what the session's log says when it %s",
    async (_, spoil) => {
      const opened = await start({ category: "s" });
      const { pi, task } = opened;
      spoil(opened);
      const membership = { ...task.context, parentAgentName: "/root", agentName: "quoting" };
      const child = await start({ provider: `${pi.provider}-child`, membership });
      await child.pi.prompt(`Go on with ${SECRET}`);
      expect(child.task.agentName).toBe("/root/quoting");
      expect(child.task.category()).toBe("s");
      expect(child.pi.requests.map(({ model }) => model)).toEqual(["vault"]);
      expect(registered(opened, "/root/quoting")).toMatchObject({ category: "s", categoryOwn: false });
      expect(registered(opened, "/root")?.category).toBe("s");
    },
  );
});
