// One root task: a root and its children, in this process and in others, read and write each other's notes and read each
// other's history, whatever becomes of their session files.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createTokenBudgetExtension,
  getTokenBudgetTask,
  type TaskMembership,
  type TokenBudgetTask,
} from "../../api.ts";
import { type RunResult, runPi } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import { type OpenOptions, openPi, type PiSession, type ToolOutput } from "../../fixtures/pi/session.ts";
import { ownPackage } from "../../src/packages/own.ts";
import { childEntryText } from "../../src/subagents/child-entry.ts";
import { closeAfterEach, first, pi } from "./support.ts";

closeAfterEach();

const MINUTES = 60_000;
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Rooted {
  readonly session: PiSession;
  readonly task: () => TokenBudgetTask | undefined;
}

/** A session with the package, and how a program finds its task. */
async function rooted(options: OpenOptions, open = pi): Promise<Rooted> {
  let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
  const factories = [
    (api: { readonly events: typeof events }) => {
      events = api.events;
    },
    ...(options.factories ?? []),
  ];
  const session = await open({ ...options, factories: factories as NonNullable<OpenOptions["factories"]> });
  return { session, task: () => (events ? getTokenBudgetTask({ events }) : undefined) };
}

function taskOf({ task }: Rooted): TokenBudgetTask {
  const found = task();
  if (!found) throw new Error("no task in this session");
  return found;
}

/** A child in this process, joined by a launcher. */
function childOf(membership: TaskMembership, options: OpenOptions): Promise<PiSession> {
  return pi({ ...options, bare: true, factories: [createTokenBudgetExtension({ task: membership })] });
}

const noteFrom =
  (name: string): Script =>
  (_request, n) =>
    n === 0 ? [call("notes_write_file", { path: "found.md", text: `${name} was here\n` })] : `${name} is done`;

const textOfResult = ({ content }: ToolOutput) =>
  content.map((block) => (block.type === "text" ? block.text : `(${block.type})`)).join("\n");

const imagesOf = ({ content }: ToolOutput) => content.flatMap((block) => (block.type === "image" ? [block.data] : []));

async function textFrom(session: PiSession, tool: string, args: Record<string, unknown>): Promise<string> {
  return textOfResult(await session.callTool(tool, args));
}

/** The ids of an agent's user items, as its history tells them. */
async function userItems(session: PiSession, agent_name: string): Promise<{ item_id: string; window_id: string }[]> {
  const listed = await textFrom(session, "history_list_items", { agent_name, role: "user" });
  return listed
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes('"item_id"'))
    .map((line) => JSON.parse(line) as { item_id: string; window_id: string })
    .map(({ item_id, window_id }) => ({ item_id, window_id }));
}

async function readItem(session: PiSession, agent_name: string): Promise<ToolOutput> {
  const [item] = await userItems(session, agent_name);
  return session.callTool("history_read_item", { agent_name, ...item, limit_chars: 500 });
}

/** The model of a child process: it writes a note, reads its siblings' and its parent's, and the parent's history. */
const PROCESS_CHILD = `(request, n) => {
  const call = (name, args) => [{ type: "toolCall", id: "c" + n, name, arguments: args }];
  const results = request.messages.filter((message) => message.role === "toolResult");
  const newest = results.at(-1)?.content?.map?.((block) => block.text ?? "").join("") ?? "";
  switch (n) {
    case 0: return call("notes_write_file", { path: "found.md", text: "a process was here\\n" });
    case 1: return call("notes_read_file", { path: "/root/notes/plan.md" });
    case 2: return call("notes_read_file", { path: "/root/one/notes/found.md" });
    case 3: return call("history_list_items", { agent_name: "/root", role: "user" });
    case 4: {
      const row = newest.split("\\n").find((line) => line.includes('"item_id"'));
      const { item_id, window_id } = JSON.parse(row);
      return call("history_read_item", { agent_name: "/root", item_id, window_id });
    }
    case 5: return call("notes_append_to_file", { path: "/root/notes/plan.md", text: "and a child's line\\n" });
    default: return "a process is done";
  }
}`;

const resultsOf = ({ requests }: RunResult) =>
  (requests.at(-1)?.messages ?? []).filter((message) => message.role === "toolResult");

describe("a parent and four children, two of them in processes of their own", () => {
  it(
    "read and write each other's notes and read each other's history, also when the children's sessions are gone",
    async () => {
      const root = await rooted({ models: [{ id: "m", input: ["text", "image"] }], next: noteFrom("the root") });
      const { session: parent } = root;
      await parent.prompt("Look at this picture.", { images: [{ type: "image", data: PIXEL, mimeType: "image/png" }] });
      await parent.callTool("notes_write_file", { path: "plan.md", text: "the plan\n" });
      const { context, agentName, childExtension } = taskOf(root);
      expect(agentName).toBe("/root");
      const entry = await childExtension();

      const one = await childOf({ ...context, agentName: "one" }, { next: noteFrom("one") });
      const two = await childOf({ ...context, agentName: "two" }, { next: noteFrom("two"), session: "memory" });
      await one.prompt("Be the first child.", { images: [{ type: "image", data: PIXEL, mimeType: "image/png" }] });
      await two.prompt("Be the second child.");
      const processes = await Promise.all(
        ["third", "fourth"].map((name) =>
          runPi({
            extensions: [entry],
            model: { source: PROCESS_CHILD },
            prompt: `Be the ${name} child.`,
            mode: "json",
          }),
        ),
      );

      for (const ran of processes) {
        expect(ran.code, ran.stderr).toBe(0);
        expect(ran.stderr).toBe("");
        const shown = resultsOf(ran).map(({ content }) => JSON.stringify(content));
        expect(shown).toHaveLength(6);
        expect(shown[1]).toContain("the plan");
        expect(shown[2]).toContain("one was here");
        expect(shown[4]).toContain("Look at this picture.");
        expect(resultsOf(ran).some(({ isError }) => isError)).toBe(false);
      }
      // Both processes' lines are in the parent's note.
      const plan = await textFrom(parent, "notes_read_file", { path: "plan.md" });
      expect(plan.match(/and a child's line/g)).toHaveLength(2);

      const agents = taskOf(root).agents();
      expect(agents.map(({ agentName: name }) => name).slice(0, 3)).toEqual(["/root", "/root/one", "/root/two"]);
      expect(agents.map(({ running }) => running)).toEqual([true, true, true, false, false]);
      const [third = "", fourth = ""] = agents.slice(3).map(({ agentName: name }) => name);
      expect(third).toMatch(/^\/root\/agent_[0-9a-f]{12}$/);

      // The sessions of the children vanish, and with them everything their launchers keep.
      await one.dispose();
      for (const ran of processes) ran.environment.remove();
      rmSync(one.directory, { recursive: true });

      for (const reader of [parent, two]) {
        const seen = await textFrom(reader, "notes_read_file", { path: "/root/one/notes/found.md" });
        expect(seen).toContain("one was here");
        for (const name of [third, fourth]) {
          expect(await textFrom(reader, "notes_read_file", { path: `${name}/notes/found.md` })).toContain(
            "a process was",
          );
        }
        const item = await readItem(reader, "/root/one");
        expect(textOfResult(item)).toContain("Be the first child.");
        const prompts = [third, fourth].map(async (name) => textOfResult(await readItem(reader, name)));
        const asked = (await Promise.all(prompts)).join("\n");
        expect(asked).toContain("Be the third child.");
        expect(asked).toContain("Be the fourth child.");
      }
      expect(imagesOf(await readItem(parent, "/root/one"))).toEqual([PIXEL]);
      expect(textOfResult(await readItem(parent, "two"))).toContain("Be the second child.");
      const remaining = await textFrom(parent, "get_context_remaining", {});
      expect(JSON.parse(remaining).agents).toEqual(["/root", "/root/one", "/root/two", third, fourth]);
    },
    5 * MINUTES,
  );
});

describe("a new window", () => {
  it("names the children that have not ended, by address and first line of their task", async () => {
    const next: Script = (_request, n) =>
      n === 0 ? [call("read", { path: "x" })] : n === 1 ? [call("new_context")] : "ok";
    const root = await rooted({ next });
    const { context } = taskOf(root);
    const child = await childOf({ ...context, agentName: "reviewer" }, { next: () => "ok" });
    await child.prompt("Review the parser.\nThen its tests.");
    await root.session.prompt("Start.");
    const bootstrap = first(root.session.requests[2]);
    expect(bootstrap).toContain("/root/reviewer — Review the parser.");
    expect(bootstrap).not.toContain("Then its tests");
  });
});

describe("the task of a session", () => {
  const answered = (options: Partial<OpenOptions> = {}) => rooted({ next: noteFrom("the root"), ...options }, openPi);

  it("is there from its start to its end", async () => {
    const root = await answered();
    expect(taskOf(root).context.runId).toBe(root.session.session.sessionId);
    await root.session.dispose();
    expect(root.task()).toBeUndefined();
  });

  it("is found again when the session is opened again, from another directory, and beside a running one", async () => {
    const root = await answered();
    await root.session.prompt("Begin.");
    const { context } = taskOf(root);
    const child = await childOf({ ...context, agentName: "one" }, { next: noteFrom("one") });
    await child.prompt("Be a child.");
    const { sessionFile = "" } = root.session.session;
    const beside = await answered({ session: { path: sessionFile } });
    expect(taskOf(beside).context).toEqual(context);
    await beside.session.dispose();
    await root.session.dispose();

    const moved = join(scratchFolder(), basename(sessionFile));
    renameSync(sessionFile, moved);
    const again = await answered({ session: { path: moved } });
    expect(taskOf(again).context).toEqual(context);
    expect(await textFrom(again.session, "notes_read_file", { path: "found.md" })).toContain("the root was here");
    expect(await textFrom(again.session, "notes_read_file", { path: "/root/one/notes/found.md" })).toContain("one was");
    await again.session.dispose();
  });

  it("is not shared with another root of the same directory", async () => {
    const one = await answered();
    await one.session.prompt("Begin.");
    const { context } = taskOf(one);
    const child = await childOf({ ...context, agentName: "one" }, { next: noteFrom("one") });
    await child.prompt("Be a child.");
    const { sessionFile = "" } = one.session.session;
    const folder = dirname(sessionFile);
    const { SessionManager } = await import("../../fixtures/pi/hosts.ts").then(({ loadHost }) =>
      loadHost().then((host) => host.codingAgent),
    );
    const manager = SessionManager.create(one.session.project, folder);
    const two = await answered({ session: manager, project: one.session.project });
    await two.session.prompt("Begin.");
    expect(dirname(two.session.session.sessionFile ?? "")).toBe(folder);
    expect(taskOf(two).context.runId).not.toBe(context.runId);
    await expect(two.session.callTool("notes_read_file", { path: "/root/one/notes/found.md" })).rejects.toThrow(
      /No agent "\/root\/one" in this root task/,
    );
    await expect(two.session.callTool("history_list_items", { agent_name: "one" })).rejects.toThrow(/No agent/);
    for (const session of [one.session, two.session]) await session.dispose();
  });

  it("of a fork is its own, and starts with a copy of the notes", async () => {
    const root = await answered();
    await root.session.prompt("Begin.");
    await root.session.prompt("Go on.");
    const { sessionFile = "" } = root.session.session;
    const { codingAgent } = await (await import("../../fixtures/pi/hosts.ts")).loadHost();
    const manager = codingAgent.SessionManager.forkFrom(sessionFile, root.session.project, dirname(sessionFile));
    const fork = await answered({ session: manager, project: root.session.project, next: () => "ok" });
    expect(taskOf(fork).context.runId).toBe(fork.session.session.sessionId);
    expect(taskOf(fork).context.runId).not.toBe(taskOf(root).context.runId);
    expect(await textFrom(fork.session, "notes_read_file", { path: "found.md" })).toContain("the root was here");

    await fork.session.callTool("notes_write_file", { path: "found.md", text: "the fork's own\n" });
    await root.session.callTool("notes_append_to_file", { path: "found.md", text: "more\n" });
    expect(await textFrom(root.session, "notes_read_file", { path: "found.md" })).toContain("more");
    const forkFile = fork.session.session.sessionFile ?? "";
    await fork.session.prompt("Say something, so that the file is there.");
    await fork.session.dispose();
    const again = await answered({ session: { path: forkFile } });
    expect(await textFrom(again.session, "notes_read_file", { path: "found.md" })).toContain("the fork's own");
    for (const { session } of [root, again]) await session.dispose();
  });

  it("of a fork is named where a copied window names the old one, in every request", async () => {
    const next: Script = (_request, n) =>
      n === 0 ? [call("notes_write_file", { path: "a.md", text: "a" })] : n === 1 ? [call("new_context")] : "ok";
    const root = await answered({ next });
    await root.session.prompt("Begin.");
    const { sessionFile = "" } = root.session.session;
    const { codingAgent } = await (await import("../../fixtures/pi/hosts.ts")).loadHost();
    const manager = codingAgent.SessionManager.forkFrom(sessionFile, root.session.project, dirname(sessionFile));
    const fork = await answered({ session: manager, project: root.session.project, next: () => "ok" });
    for (const text of ["Go on.", "And on."]) await fork.session.prompt(text);
    const [lead, again] = fork.session.requests.map(first);
    expect(lead).toContain(first(root.session.requests[2]));
    expect(lead).toContain(
      `agent /root, window w2, root task ${fork.session.session.sessionId}. This branch was copied`,
    );
    expect(again).toBe(lead);
    for (const { session } of [root, fork]) await session.dispose();
  });

  it("of a fork starts without notes where the setting says so", async () => {
    const root = await answered();
    await root.session.prompt("Begin.");
    const { sessionFile = "" } = root.session.session;
    const { codingAgent } = await (await import("../../fixtures/pi/hosts.ts")).loadHost();
    const manager = codingAgent.SessionManager.forkFrom(sessionFile, root.session.project, dirname(sessionFile));
    const fork = await answered({ session: manager, settings: { tokenBudget: { forkCopiesNotes: false } } });
    await expect(fork.session.callTool("notes_read_file", { path: "found.md" })).rejects.toThrow(/found\.md/);
    for (const { session } of [root, fork]) await session.dispose();
  });
});

describe("a session with an installed copy and a child entry", () => {
  const entryOf = (task: TaskMembership) => {
    const own = ownPackage();
    if (!own) throw new Error("this checkout has no package.json");
    const path = join(scratchFolder(), "child-extension.ts");
    writeFileSync(path, childEntryText(own, { ...task }));
    return path;
  };

  it("is the child, whichever of them was loaded first", async () => {
    const root = await rooted({ next: noteFrom("the root") });
    const { context } = taskOf(root);
    for (const [bare, name] of [
      [false, "first"],
      [true, "last"],
    ] as const) {
      const entry = entryOf({ ...context, agentName: name });
      const paths = bare ? [entry, ownPackage()?.root ?? ""] : [entry];
      const child = await rooted({ bare, paths, next: noteFrom(name) });
      expect(taskOf(child)).toMatchObject({ context, agentName: `/root/${name}`, parentAgentName: "/root" });
      await child.session.prompt("Be a child.");
      expect(await textFrom(root.session, "notes_read_file", { path: `/root/${name}/notes/found.md` })).toContain(name);
    }
  });

  it("says so when two entries name different places", async () => {
    const root = await rooted({ next: noteFrom("the root") });
    const { context } = taskOf(root);
    const paths = [entryOf({ ...context, agentName: "a" }), entryOf({ ...context, agentName: "b" })];
    const child = await rooted({ bare: true, ui: true, paths, next: () => "ok" });
    expect(taskOf(child).agentName).toBe("/root/a");
    expect(child.session.ui.notices).toEqual([
      { type: "warning", message: expect.stringContaining("does not join its root task") },
    ]);
  });
});

describe("a registry that cannot be read", () => {
  const FAULTS: Readonly<Record<string, string>> = {
    "cut off": '{"version":1,"agents":[',
    "of a newer version": '{"version":99}',
    "something else": '["hello"]',
  };

  for (const [what, content] of Object.entries(FAULTS)) {
    it(`because it is ${what} hides other agents, stays as it is, and the session goes on`, async () => {
      const root = await rooted({ next: noteFrom("the root") }, openPi);
      await root.session.prompt("Begin.");
      const { context } = taskOf(root);
      const child = await childOf({ ...context, agentName: "one" }, { next: noteFrom("one") });
      await child.prompt("Be a child.");
      const { sessionFile = "" } = root.session.session;
      await root.session.dispose();

      const registry = join(context.storageRoot, "tasks", context.runId, "registry.json");
      writeFileSync(registry, content);
      const again = await rooted({ session: { path: sessionFile }, ui: true, next: () => "ok" });
      await expect(again.session.callTool("notes_read_file", { path: "/root/one/notes/found.md" })).rejects.toThrow(
        /registry/i,
      );
      await expect(again.session.callTool("history_list_items", { agent_name: "one" })).rejects.toThrow(/registry/i);
      expect(await textFrom(again.session, "notes_read_file", { path: "found.md" })).toContain("the root was here");
      await again.session.callTool("notes_write_file", { path: "new.md", text: "still here" });
      await again.session.prompt("Go on.");
      expect(readFileSync(registry, "utf8")).toBe(content);
      const shown = again.session.ui.notices.map(({ message }) => message);
      expect(shown.filter((message) => message.includes(registry))).toHaveLength(1);
      const remaining = JSON.parse(await textFrom(again.session, "get_context_remaining", {}));
      expect(remaining.agents).toEqual(["/root"]);
      expect(remaining.warnings[0]).toContain("registry");
    });
  }
});

describe("a journal that cannot be written", () => {
  it("is reported once, and the session goes on", async () => {
    const root = await rooted({ next: noteFrom("the root"), ui: true });
    const { context } = taskOf(root);
    // A file where the folder of the journals should be.
    const task = join(context.storageRoot, "tasks", context.runId);
    mkdirSync(task, { recursive: true });
    writeFileSync(join(task, "history"), "");
    await root.session.prompt("Begin.");
    await root.session.prompt("Go on.");
    const shown = root.session.ui.notices.filter(({ message }) => message.includes("journal"));
    expect(shown).toHaveLength(1);
    expect(await textFrom(root.session, "notes_read_file", { path: "found.md" })).toContain("the root was here");
  });
});

describe("a membership", () => {
  it("that is none is refused where it is given", () => {
    for (const task of [null, 1, {}, { version: 1 }, { version: 2, runId: "r", rootSessionId: "r", storageRoot: "/x" }])
      expect(() => createTokenBudgetExtension({ task: task as unknown as TaskMembership })).toThrow(/task/);
  });

  it("with a name that another session has leaves the session a root of its own, with one notice", async () => {
    const root = await rooted({ next: noteFrom("the root") });
    const { context } = taskOf(root);
    const one = await childOf({ ...context, agentName: "one" }, { next: noteFrom("one") });
    await one.prompt("Be a child.");
    const other = await childOf({ ...context, agentName: "one" }, { next: noteFrom("another"), ui: true });
    await other.prompt("Be another child.");
    expect(other.ui.notices).toEqual([{ type: "warning", message: expect.stringContaining("/root/one") }]);
    expect(await textFrom(root.session, "notes_read_file", { path: "/root/one/notes/found.md" })).toContain(
      "one was here",
    );
    expect(await textFrom(other, "notes_read_file", { path: "found.md" })).toContain("another was here");
  });
});

describe("sessions of one process", () => {
  it("leave nothing in the project's directory", async () => {
    const session = await pi({ next: noteFrom("the root"), session: "memory" });
    await session.prompt("Begin.");
    expect(readdirSync(session.project)).toEqual([]);
  });
});
