// Children of pi-subagents in whole sessions: the package finds pi-subagents, registers the task's entry, and a child that
// loads it is an agent of its parent's root task. Whatever is wrong there is said once, and the session goes on.
import { cpSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createTokenBudgetExtension, getTokenBudgetTask, TOOL_NAMES, type TokenBudgetTask } from "../../api.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession, ToolOutput } from "../../fixtures/pi/session.ts";
import { EXTENSION_ID } from "../../src/subagents/adapter.ts";
import { agentOverride } from "../../src/subagents/diagnostics.ts";
import { MODULE_VARIABLE } from "../../src/subagents/discovery.ts";
import { INSTALL_LIMIT_MS, installSubagents, REAL_SUBAGENTS } from "./real-subagents.ts";
import { closeAfterEach, first, pi } from "./support.ts";

closeAfterEach();

const DOUBLE = join(PACKAGE_DIR, "test/doubles/pi-subagents");
const REGISTER = "src/api/required-child-extensions.ts";

/** A model that delegates in every run. */
const delegates: Script = (request) =>
  request.messages.at(-1)?.role === "toolResult" ? "done" : [call("subagent", { task: "look around" })];

interface Parent {
  readonly session: PiSession;
  readonly task: () => TokenBudgetTask;
}

/** A session with the package, and what finds its task. */
async function parentWith(options: Partial<OpenOptions>): Promise<Parent> {
  let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
  const factories: OpenOptions["factories"] = [
    ...(options.factories ?? []),
    (api) => {
      events = api.events;
    },
  ];
  const session = await pi({ next: delegates, ui: true, paths: [DOUBLE], ...options, factories });
  const task = () => {
    const found = events && getTokenBudgetTask({ events });
    if (!found) throw new Error("no task in this session");
    return found;
  };
  return { session, task };
}

interface Required {
  readonly id: string;
  readonly path: string;
}

/** What the newest launch of a session would have loaded into its child. */
function launched(session: PiSession): readonly Required[] {
  const details = session.toolResults().at(-1)?.details as { readonly required: readonly Required[] } | undefined;
  return details?.required ?? [];
}

const textOfResult = ({ content }: ToolOutput) =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("\n");

async function noteOf(session: PiSession, path: string): Promise<string> {
  return textOfResult(await session.callTool("notes_read_file", { path }));
}

const writesNote =
  (text: string): Script =>
  (_request, n) =>
    n === 0 ? [call("notes_write_file", { path: "found.md", text })] : "done";

/** A copy of the double whose registration module has this text. */
function doubleWith(text: string | undefined): string {
  const folder = join(scratchFolder(), "pi-subagents");
  cpSync(DOUBLE, folder, { recursive: true });
  const module = join(folder, REGISTER);
  if (text === undefined) rmSync(module);
  else writeFileSync(module, text);
  return folder;
}

describe("a session with this package and pi-subagents", () => {
  it("has its children join its root task by the entry it registers", async () => {
    const { session, task } = await parentWith({});
    await session.prompt("Delegate.");
    const entry = join(task().context.storageRoot, "tasks", task().context.runId, "child-extension.ts");
    expect(launched(session)).toEqual([{ id: EXTENSION_ID, path: realpathSync(entry) }]);
    expect(session.ui.notices).toEqual([]);

    const paths = launched(session).map(({ path }) => path);
    const child = await pi({ bare: true, paths, next: writesNote("two files\n") });
    await child.prompt("Count the files.");
    const [root, agent] = task().agents();
    expect(root).toMatchObject({ agentName: "/root", sessionId: session.session.sessionId });
    expect(agent).toMatchObject({ parentAgentName: "/root", sessionId: child.session.sessionId, running: true });
    expect(agent?.agentName).toMatch(/^\/root\/agent_[0-9a-f]{12}$/);
    expect(await noteOf(session, `${agent?.agentName}/notes/found.md`)).toContain("two files");
  });

  it("says nothing where there is no pi-subagents", async () => {
    const { session } = await parentWith({ paths: [], next: () => "hello" });
    await session.prompt("Hello.");
    expect(session.ui.notices).toEqual([]);
  });

  it("gives the registration back when it ends, and registers again after a reload", async () => {
    const { session } = await parentWith({});
    await session.session.reload();
    await session.prompt("Delegate.");
    expect(launched(session).map(({ id }) => id)).toEqual([EXTENSION_ID]);
    expect(session.ui.notices).toEqual([]);
  });

  it("takes the place that its launcher names", async () => {
    const elsewhere = doubleWith(readFileSync(join(DOUBLE, REGISTER), "utf8"));
    for (const modulePath of [elsewhere, join(elsewhere, REGISTER)]) {
      const factories: OpenOptions["factories"] = [createTokenBudgetExtension({ subagents: { modulePath } })];
      const { session } = await parentWith({ bare: true, factories });
      await session.prompt("Delegate.");
      expect(launched(session).map(({ id }) => id)).toEqual([EXTENSION_ID]);
      expect(session.ui.notices).toEqual([]);
    }
  });
});

/** What can be wrong, and what the one message says. */
const WRONG: readonly {
  readonly what: string;
  readonly options: () => Partial<OpenOptions>;
  readonly says: readonly string[];
}[] = [
  {
    what: "its module is not there",
    options: () => ({ paths: [doubleWith(undefined)] }),
    says: ["could not be loaded", "required-child-extensions.ts"],
  },
  {
    what: "its module throws",
    options: () => ({ paths: [doubleWith('throw new Error("out of order");\n')] }),
    says: ["could not be loaded", "out of order"],
  },
  {
    what: "its module exports something else",
    options: () => ({ paths: [doubleWith("export const other = 1;\n")] }),
    says: ["exports no function registerRequiredChildExtensions"],
  },
  {
    what: "its function throws",
    options: () => ({
      paths: [doubleWith('export function registerRequiredChildExtensions() {\n  throw new Error("not today");\n}\n')],
    }),
    says: ["did not take the children's entry", "not today"],
  },
  {
    what: "the environment names a place where nothing is",
    options: () => ({
      bare: true,
      factories: [createTokenBudgetExtension({ env: { ...process.env, [MODULE_VARIABLE]: "/nowhere/at/all" } })],
    }),
    says: [MODULE_VARIABLE, "/nowhere/at/all", "no module and no package is there"],
  },
  {
    what: "the environment names another package",
    options: () => ({
      bare: true,
      factories: [createTokenBudgetExtension({ env: { ...process.env, [MODULE_VARIABLE]: PACKAGE_DIR } })],
    }),
    says: [MODULE_VARIABLE, "the package there is pi-token-budget"],
  },
  {
    what: "the launcher names a place where nothing is",
    options: () => ({
      bare: true,
      factories: [createTokenBudgetExtension({ subagents: { modulePath: "/nowhere/at/all" } })],
    }),
    says: ["subagents.modulePath", "/nowhere/at/all"],
  },
  {
    what: "the launcher names no path at all",
    options: () => ({
      bare: true,
      factories: [createTokenBudgetExtension({ subagents: { modulePath: "file://elsewhere/%2F" } })],
    }),
    says: ["did not take the children's entry"],
  },
];

describe("a session where pi-subagents cannot be used, because", () => {
  for (const { what, options, says } of WRONG) {
    it(`${what}, says so once and goes on`, async () => {
      const { session, task } = await parentWith(options());
      await session.prompt("Delegate.");
      await session.prompt("And again.");
      expect(session.toolResults().map(({ isError }) => isError)).toEqual([false, false]);
      expect(launched(session)).toEqual([]);
      expect(session.ui.notices).toHaveLength(1);
      const [notice] = session.ui.notices;
      expect(notice?.type).toBe("warning");
      for (const words of says) expect(notice?.message).toContain(words);
      expect(task().agentName).toBe("/root");
      await session.callTool("notes_write_file", { path: "on.md", text: "it goes on" });
      expect(await noteOf(session, "on.md")).toContain("it goes on");
    });
  }

  it("another extension has registered, says what that one can add, and leaves its registration alone", async () => {
    const other = join(scratchFolder(), "other.ts");
    writeFileSync(
      other,
      `import { registerRequiredChildExtensions } from ${JSON.stringify(join(DOUBLE, REGISTER))};
export default (pi) => {
  let registration;
  pi.on("session_shutdown", () => registration.dispose());
  pi.on("session_start", (_event, ctx) => {
    const sessionId = ctx.sessionManager.getSessionId();
    registration = registerRequiredChildExtensions({ sessionId, extensions: [{ id: "other", path: ${JSON.stringify(other)} }] });
  });
};
`,
    );
    // The other one is loaded first.
    const { session, task } = await parentWith({ bare: true, paths: [DOUBLE, other, PACKAGE_DIR] });
    await session.prompt("Delegate.");
    expect(launched(session)).toEqual([{ id: "other", path: realpathSync(other) }]);
    const entry = await task().childExtension();
    expect(session.ui.notices).toEqual([
      { type: "warning", message: expect.stringContaining("another extension has") },
    ]);
    expect(session.ui.notices[0]?.message).toContain(JSON.stringify({ id: EXTENSION_ID, path: entry }));
    await session.session.reload();
    await session.prompt("Delegate.");
    expect(launched(session).map(({ id }) => id)).toEqual(["other"]);
  });
});

describe("a package that has moved since", () => {
  it("leaves its children without it, with one message; the next start writes the entry anew", async () => {
    const moved = join(scratchFolder(), "moved");
    for (const name of ["api.ts", "extension.js", "package.json", "src"])
      cpSync(join(PACKAGE_DIR, name), join(moved, name), { recursive: true });
    symlinkSync(join(PACKAGE_DIR, "node_modules"), join(moved, "node_modules"), "junction");
    const { session, task } = await parentWith({ bare: true, paths: [DOUBLE, moved] });
    await session.prompt("Delegate.");
    const [{ path } = { path: "" }] = launched(session);
    expect(readFileSync(path, "utf8")).toContain(moved);
    rmSync(moved, { recursive: true });

    const child = await pi({ bare: true, ui: true, paths: [path], next: () => "hello" });
    await child.prompt("Look around.");
    expect(child.ui.notices).toEqual([{ type: "warning", message: expect.stringContaining(`no longer in ${moved}`) }]);
    expect(task().agents()).toHaveLength(1);

    const { sessionFile = "" } = session.session;
    await session.dispose();
    const again = await parentWith({ session: { path: sessionFile } });
    await again.session.prompt("Delegate.");
    expect(readFileSync(path, "utf8")).toContain(JSON.stringify(PACKAGE_DIR));
    const joined = await pi({ bare: true, paths: [path], next: writesNote("back again\n") });
    await joined.prompt("Look around.");
    expect(again.task().agents()).toHaveLength(2);
  });
});

const forkedModel: Script = (request, n) => (n === 1 ? [call("new_context")] : writesNote("the child's\n")(request, n));

describe("a child of pi-subagents that was forked from its parent", () => {
  it("is an agent of its own: neither the notes' address nor the requests of its parent become its own", async () => {
    const failed = { content: [], stopReason: "error", errorMessage: "bad key" } as const;
    const { session, task } = await parentWith({
      next: (request, n) => (n < 2 ? writesNote("the parent's\n")(request, n) : failed),
    });
    await session.prompt("Write down what you find.");
    await session.prompt("Rewrite everything.");
    const { sessionFile = "" } = session.session;
    const entry = await task().childExtension();

    // As pi-subagents forks: the parent's entries in a file below a folder named like the parent's file.
    const { codingAgent } = await (await import("../../fixtures/pi/hosts.ts")).loadHost();
    const forks = join(sessionFile.replace(/\.jsonl$/, ""), "forks");
    mkdirSync(forks, { recursive: true });
    const manager = codingAgent.SessionManager.forkFrom(sessionFile, session.project, forks);
    expect(manager.getHeader()?.parentSession).toBe(sessionFile);
    expect(manager.getBranch().length).toBeGreaterThan(3);
    const child = await pi({ bare: true, paths: [entry], session: manager, next: forkedModel });
    await child.prompt("Look at something else.");
    const agents = task().agents();
    expect(agents.map(({ sessionId }) => sessionId)).toEqual([session.session.sessionId, child.session.sessionId]);
    const address = agents[1]?.agentName ?? "";
    expect(address).toMatch(/^\/root\/agent_/);

    expect(await noteOf(session, "found.md")).toContain("the parent's");
    expect(await noteOf(child, "found.md")).toContain("the child's");
    expect(await noteOf(child, "/root/notes/found.md")).toContain("the parent's");
    expect(await noteOf(session, `${address}/notes/found.md`)).toContain("the child's");
    const remaining = JSON.parse(textOfResult(await child.callTool("get_context_remaining"))) as { agents: string[] };
    expect(remaining.agents[0]).toBe(address);
    // In a new window the child's own task is what is open, not what its parent left undone.
    const bootstrap = first(child.requests[2]);
    expect(bootstrap).toContain(address);
    const [, open = ""] = bootstrap.split("The latest request is still open:");
    expect(open).toContain("Look at something else.");
    expect(open).not.toContain("Rewrite everything.");
  });

  it("does not end, nor change, anything of its parent when it ends or fails", async () => {
    const { session, task } = await parentWith({ next: writesNote("the parent's\n") });
    await session.prompt("Begin.");
    const entry = await task().childExtension();
    const failing = await pi({
      bare: true,
      paths: [entry],
      next: () => ({ content: [], stopReason: "error", errorMessage: "bad key" }),
    });
    await failing.prompt("Fail.");
    await failing.dispose();
    const [root, child] = task().agents();
    expect([root?.running, child?.running]).toEqual([true, false]);
    expect(root?.sessionId).toBe(session.session.sessionId);
    expect(await noteOf(session, "found.md")).toContain("the parent's");
    await session.prompt("Go on.");
    expect(session.ui.notices).toEqual([]);
  });
});

// The newest one that npm has; its foreground children run on this host.
describe.runIf(currentHostName() === "1.6.0")("the real pi-subagents 0.67.0 in a session with this package", () => {
  beforeAll(installSubagents, INSTALL_LIMIT_MS);

  it("has a foreground child of the documented setting as an agent of the root task", async () => {
    const provider = "scripted-wired";
    const model = join(scratchFolder(), "model.ts");
    writeFileSync(
      model,
      `import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import { call, scriptedModel } from ${JSON.stringify(join(PACKAGE_DIR, "fixtures/pi/scripted-model.ts"))};
const turns = [
  [call("notes_read_file", { path: "/root/notes/plan.md" })],
  [call("notes_write_file", { path: "found.md", text: "two files" })],
];
export default scriptedModel({
  next: (_request, n) => turns[n] ?? "child done",
  provider: ${JSON.stringify(provider)},
  models: [{ id: "m" }],
  createStream: createAssistantMessageEventStream,
  onRequest: () => undefined,
});
`,
    );
    // The session is opened twice: its entry is only known when it is there, and settings are read when it starts.
    const before = await parentWith({ provider, paths: [REAL_SUBAGENTS], next: writesNote("unused") });
    await before.session.prompt("Begin.");
    const entry = await before.task().childExtension();
    const { sessionFile = "" } = before.session.session;
    expect(before.session.ui.notices.map(({ message }) => message)).toEqual([expect.stringContaining("0.67.0")]);
    expect(before.session.ui.notices[0]?.message).toContain(entry);
    await before.session.dispose();

    const { tools, subagentOnlyExtensions } = agentOverride(entry) as {
      tools: string;
      subagentOnlyExtensions: string[];
    };
    const override = { tools, subagentOnlyExtensions: [...subagentOnlyExtensions, model] };
    const { session, task } = await parentWith({
      provider,
      paths: [REAL_SUBAGENTS],
      session: { path: sessionFile },
      settings: { subagents: { agentOverrides: { delegate: override } } },
      next: (_request, n) => {
        if (n === 0) return [call("notes_write_file", { path: "plan.md", text: "count the files" })];
        if (n === 1) return [call("subagent", { agent: "delegate", task: "Count the files.", async: false })];
        return "parent done";
      },
    });
    await session.prompt("Delegate.");
    expect(session.toolResults().at(-1)).toMatchObject({
      name: "subagent",
      isError: false,
      text: expect.stringContaining("child done"),
    });
    const [root, child, ...others] = task().agents();
    expect(root?.agentName).toBe("/root");
    expect(others).toEqual([]);
    expect(child).toMatchObject({ parentAgentName: "/root" });
    expect(dirname(child?.sessionFile ?? "").startsWith(sessionFile.replace(/\.jsonl$/, ""))).toBe(true);
    expect(await noteOf(session, `${child?.agentName}/notes/found.md`)).toContain("two files");
    const history = await session.callTool("history_search_contents", {
      agent_name: child?.agentName,
      query: "Count the files",
    });
    expect(textOfResult(history)).toContain("item_id");
  });
});

describe("a launcher that uses one extension for several children", () => {
  it("has as many agents, which share neither notes nor names, and outlive each other", async () => {
    const { session, task } = await parentWith({ next: () => "ok" });
    await session.prompt("Begin.");
    const joined = createTokenBudgetExtension({ task: { ...task().context } });
    const open = (text: string) => pi({ bare: true, session: "memory", factories: [joined], next: writesNote(text) });
    const [one, two] = [await open("one\n"), await open("two\n")];
    await one.prompt("Be one.");
    await two.prompt("Be two.");
    const addressOf = ({ session: { sessionId } }: PiSession) =>
      task()
        .agents()
        .find((agent) => agent.sessionId === sessionId)?.agentName ?? "none";
    const [ofOne, ofTwo] = [addressOf(one), addressOf(two)];
    expect(new Set([ofOne, ofTwo, "/root"]).size).toBe(3);
    await one.dispose();
    expect(await noteOf(two, "found.md")).toContain("two");
    expect(await noteOf(two, `${ofOne}/notes/found.md`)).toContain("one");
    expect(await noteOf(session, `${ofTwo}/notes/found.md`)).toContain("two");
    expect(
      task()
        .agents()
        .map(({ running }) => running),
    ).toEqual([true, false, true]);
  });
});

describe("tools of a child", () => {
  it("that its launcher left out are named once, and stay out", async () => {
    const { task, session } = await parentWith({ next: () => "ok" });
    await session.prompt("Begin.");
    const entry = await task().childExtension();
    const tools = ["read", ...TOOL_NAMES.slice(4)];
    const child = await pi({ bare: true, ui: true, paths: [entry], tools, next: () => "ok" });
    await child.prompt("Look around.");
    await child.prompt("And again.");
    expect(child.ui.notices).toHaveLength(1);
    for (const name of TOOL_NAMES.slice(0, 4)) expect(child.ui.notices[0]?.message).toContain(name);
    expect(child.session.getActiveToolNames().sort()).toEqual([...tools].sort());
    const all = await pi({ bare: true, ui: true, paths: [entry], tools: ["read", ...TOOL_NAMES], next: () => "ok" });
    await all.prompt("Look around.");
    expect(all.ui.notices).toEqual([]);
  });
});
