// What a child was declared to be stands on its log from its first entry: no edit of the registry before its first prompt
// takes it away, neither from those who read it nor from the choice of its model.
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { afterEach, expect, test } from "vitest";
import { createTokenBudgetExtension, getTokenBudgetTask, setAgentCategory, type TokenBudgetTask } from "../../api.ts";
import { openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { CATEGORY_ENTRY } from "../../src/category/log.ts";
import { taskLayout } from "../../src/task/layout.ts";

const SECRET = "vault-words";
const open: PiSession[] = [];
afterEach(async () => {
  for (const pi of open.splice(0).reverse()) await pi.dispose();
});

let providers = 0;

interface Opened {
  readonly pi: PiSession;
  readonly task: TokenBudgetTask;
}

async function start(membership?: Parameters<typeof createTokenBudgetExtension>[0]): Promise<Opened> {
  const provider = `first-${++providers}`;
  const labelled = Array.from({ length: 20 }, (_, n) => `first-${n + 1}/vault`);
  let api: ExtensionAPI | undefined;
  const pi = await openPi({
    next: () => "yes",
    provider,
    ui: true,
    models: [{ id: "m" }, { id: "vault" }],
    settings: { tokenBudget: { categories: { s: { models: labelled } } } },
    bare: membership !== undefined,
    factories: [
      ...(membership ? [createTokenBudgetExtension(membership)] : []),
      (given) => {
        api = given;
      },
    ],
  });
  open.push(pi);
  const task = api && getTokenBudgetTask(api);
  if (!task) throw new Error("no task");
  return { pi, task };
}

interface File {
  agents: (Record<string, unknown> & { address: string })[];
}

function registryOf({ task: { context } }: Opened): string {
  return taskLayout(context.storageRoot, context).registry;
}

function edit(path: string, change: (file: File) => File): void {
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, "utf8")) as File)));
}

async function rootOfCategory(): Promise<Opened> {
  const root = await start();
  await root.task.childExtension();
  await setAgentCategory(root.task.context, "/root", "s");
  return root;
}

/** The registry's entry of an agent becomes an ordinary one's. */
const ordinary = (address: string) => (file: File) => ({
  ...file,
  agents: file.agents.map(({ decided: _, ...agent }) =>
    agent.address === address ? { ...agent, category: null, categoryOwn: true } : agent,
  ),
});

function expectKept({ pi }: Opened): void {
  expect(pi.requests.map(({ model }) => model)).toEqual(["vault"]);
  expect(pi.branch().some((entry) => entry.type === "custom" && entry.customType === CATEGORY_ENTRY)).toBe(true);
}

for (const declared of ["declared", "inherited"] as const) {
  test(`a child of a ${declared} category that is edited to ordinary before its first prompt is not ordinary`, async () => {
    const root = await rootOfCategory();
    const category = declared === "declared" ? { category: "s" } : {};
    const task = { ...root.task.context, parentAgentName: "/root", agentName: "kept", ...category };
    const child = await start({ task });
    await child.task.flush();
    edit(registryOf(root), ordinary("/root/kept"));
    const other = await start({ task: { ...root.task.context, agentName: "other", category: null } });
    await other.pi.prompt("hello");
    await expect(other.pi.callTool("history_list_items", { agent_name: "/root/kept" })).rejects.toThrow(/restricted/);
    await child.pi.prompt(SECRET);
    expectKept(child);
    await expect(other.pi.callTool("history_list_items", { agent_name: "/root/kept" })).rejects.toThrow(/restricted/);
    expect(other.task.agents().find(({ agentName }) => agentName === "/root/kept")?.category).toBe("s");
  });
}

test("a declared child whose registry could not be read at its start, and was then repaired as ordinary, is not", async () => {
  const root = await rootOfCategory();
  const path = registryOf(root);
  const context = root.task.context;
  await start({ task: { ...context, agentName: "template" } });
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, "{");
  const child = await start({ task: { ...context, agentName: "kept", category: "s" } });
  const layout = taskLayout(context.storageRoot, context);
  const sessionFile = child.pi.session.sessionFile ?? "";
  writeFileSync(path, whole);
  edit(path, (file) => {
    const template = file.agents.find(({ address }) => address === "/root/template");
    const below = (path: string) => relative(context.storageRoot, path);
    const place = { notesRoot: below(layout.notes("/root/kept")), historyDir: below(layout.history("/root/kept")) };
    const self = { sessionId: child.task.sessionId, sessionKey: sessionFile, sessionFile };
    const entry = { ...template, ...place, ...self, address: "/root/kept" };
    return ordinary("/root/kept")({ ...file, agents: [...file.agents, entry] });
  });
  await child.pi.prompt(SECRET);
  expectKept(child);
});

test("an ordinary child says nothing of a category", async () => {
  const root = await start();
  await root.task.childExtension();
  const child = await start({ task: { ...root.task.context, agentName: "plain", category: null } });
  await child.pi.prompt("hello");
  expect(child.pi.branch().some((entry) => entry.type === "custom" && entry.customType === CATEGORY_ENTRY)).toBe(false);
  expect(child.pi.requests.map(({ model }) => model)).toEqual(["m"]);
});
