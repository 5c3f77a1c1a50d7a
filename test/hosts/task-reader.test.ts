// A program without a session reads a root task: what real sessions wrote, and only that which is for it. It changes
// nothing on disk.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createTokenBudgetExtension,
  type ErrorCode,
  openTask,
  setAgentCategory,
  type TaskContext,
  type TaskReader,
  TokenBudgetError,
} from "../../api.ts";
import { currentAgentDir, scratchFolder } from "../../fixtures/pi/environment.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { homeStorage, taskLayout } from "../../src/task/layout.ts";
import { treeOf } from "../storage/disks.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const noteFrom =
  (text: string): Script =>
  (_request, n) =>
    n === 0 ? [call("notes_write_file", { path: "deep/found.md", text: `first line\n${text}\n` })] : `done: ${text}`;

function contextOf({ session }: PiSession): TaskContext {
  const { sessionId, sessionFile } = session;
  const storageRoot = homeStorage({ sessionId, sessionFile }, currentAgentDir());
  return { version: 1, runId: sessionId, rootSessionId: sessionId, storageRoot };
}

/** A root and a child of it that have each written a note. */
async function family() {
  const root = await pi({ next: noteFrom("of the root") });
  await root.prompt("Look around.");
  const context = contextOf(root);
  const factories = [createTokenBudgetExtension({ task: { ...context, agentName: "helper" } })];
  const child = await pi({ next: noteFrom("of the helper"), bare: true, factories });
  await child.prompt("Help the root.");
  return { root, child, context };
}

/** Files with what they hold: nothing is created, nothing is changed. */
function snapshot({ storageRoot }: TaskContext): Readonly<Record<string, string>> {
  const files = treeOf(storageRoot).map((name) => {
    try {
      return [name, readFileSync(join(storageRoot, name), "latin1")] as const;
    } catch {
      return [name, "folder"] as const;
    }
  });
  return Object.fromEntries(files);
}

async function failure(doing: () => unknown): Promise<TokenBudgetError> {
  try {
    await doing();
  } catch (error) {
    if (error instanceof TokenBudgetError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("a program without a session", () => {
  it("reads agents, histories and notes, whether their sessions run or have ended, and changes nothing on disk", async () => {
    const { root, child, context } = await family();
    const before = snapshot(context);
    const task = openTask(context);
    expect(task.agents().map(({ agentName, readable, running }) => [agentName, readable, running])).toEqual([
      ["/root", true, true],
      ["/root/helper", true, true],
    ]);
    const [window] = await task.history.windows("helper");
    expect(window).toMatchObject({ windowId: "w1", current: true });
    const { items, next } = await task.history.list("/root/helper");
    expect(next).toBeNull();
    expect(items.filter(({ role }) => role === "user").map(({ preview }) => preview)).toEqual(["Help the root."]);
    const { total, items: found } = await task.history.search("helper", "done: of the helper");
    expect(total).toBe(1);
    const [{ itemId = "", regions = [] } = {}] = found;
    expect(regions[0]?.text).toBe("done: of the helper");
    const whole = await task.history.read("helper", itemId);
    expect(whole).toMatchObject({ text: "done: of the helper", role: "assistant", branch: "current", imageData: [] });
    expect(await task.notes.list("helper", { prefix: "deep/" })).toMatchObject([{ path: "deep/found.md", bytes: 25 }]);
    expect((await task.notes.read("helper", "deep/found.md")).text).toBe("first line\nof the helper\n");
    expect((await task.notes.read("/root", "/root/notes/deep/found.md")).text).toBe("first line\nof the root\n");
    expect(await task.notes.search("/root", "of the")).toEqual({
      total: 1,
      matches: [{ path: "deep/found.md", line: 2, text: "of the root" }],
    });
    expect(snapshot(context)).toEqual(before);
    await child.dispose();
    await root.dispose();
    expect(task.agents().map(({ running }) => running)).toEqual([false, false]);
    expect((await task.history.search("/root", "done: of the root")).total).toBe(1);
  });

  it("pages through a history from either end, and sees what is new with the next call", async () => {
    const { root, context } = await family();
    const task = openTask(context);
    const all = (await task.history.list("/root")).items.map(({ itemId }) => itemId);
    for (const recentFirst of [false, true]) {
      const paged: string[] = [];
      for (let from: string | null = null, asked = 0; asked <= all.length; asked++) {
        const page = await task.history.list("/root", { limit: 1, recentFirst, ...(from && { from }) });
        paged.push(...page.items.map(({ itemId }) => itemId));
        from = page.next;
        if (from === null) break;
      }
      expect(paged).toEqual(recentFirst ? [...all].reverse() : all);
    }
    await root.prompt("Something new.");
    expect((await task.history.search("/root", "Something new.", { role: "user" })).total).toBe(1);
    expect((await task.history.list("/root", { previewChars: 3, role: "user" })).items[1]?.preview).toBe("Som");
  });

  it("is told what is wrong with a task that is not there, and nothing is made there", async () => {
    const folder = scratchFolder();
    const context = { version: 1, runId: "r", rootSessionId: "r", storageRoot: join(folder, "gone") } as const;
    const { code, message } = await failure(() => openTask(context));
    expect(code).toBe("not_found");
    expect(message).toMatch(/no root task "r" in .*; nothing was made there/);
    expect(treeOf(folder)).toEqual([]);
  });

  it("is told what is wrong with an argument", async () => {
    const { context } = await family();
    const task = openTask(context);
    const loose = task as unknown as {
      readonly history: Record<string, (...given: unknown[]) => unknown>;
      readonly notes: Record<string, (...given: unknown[]) => unknown>;
    };
    const open = openTask as (...given: unknown[]) => unknown;
    const cases: readonly [() => unknown, ErrorCode, RegExp][] = [
      [() => open(undefined), "invalid_argument", /context is undefined/],
      [() => open({ ...context, agentName: "x" }), "unknown_field", /agentName/],
      [() => open(context, { categroy: "s" }), "unknown_field", /Did you mean category\?/],
      [() => open(context, { category: 5 }), "invalid_argument", /category is 5/],
      [() => open(context, { category: "none" }), "invalid_argument", /Give null/],
      [() => task.history.list("nobody"), "unknown_agent", /there are \/root, \/root\/helper\./],
      [() => task.notes.list("No Body"), "invalid_address", /agentName is "No Body"; give an address/],
      [() => loose.history.list?.(), "invalid_argument", /agentName is undefined/],
      [() => loose.history.list?.("/root", { limit: 0 }), "invalid_argument", /limit is 0; .*at least 1/],
      [() => loose.history.list?.("/root", { window: "w1" }), "unknown_field", /Did you mean windowId\?/],
      [() => task.history.list("/root", { from: "nothing" }), "unknown_item", /Leave from out/],
      [() => task.history.read("/root", "nothing"), "unknown_item", /history\.list and history\.search/],
      [() => task.history.search("/root", ""), "invalid_argument", /text is ""/],
      [() => task.notes.read("/root", "gone.md"), "not_found", /There is "\/root\/notes\/deep\/found\.md"/],
      [() => task.notes.read("/root", "xyzxyzxyzxyz"), "not_found", /does not exist\. notes\.list lists the notes/],
      [() => task.notes.read("/root", "../../x"), "invalid_path", /is not a name/],
      [() => task.notes.read("/root", "/root/helper/notes/deep/found.md"), "invalid_path", /Name its agent/],
      [() => loose.notes.search?.("/root", "x", { max: 1 }), "unknown_field", /no field "max"/],
    ];
    for (const [doing, code, message] of cases) {
      const error = await failure(doing);
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
    }
  });
});

describe("content of a category", () => {
  const SECRET = "TOPSECRET";

  /** Everything that can be had of the task by every way, as text; refusals too. */
  async function everything(task: TaskReader): Promise<string> {
    const said: unknown[] = [];
    const tried = async (doing: () => Promise<unknown>) => {
      try {
        said.push(await doing());
      } catch (error) {
        if (!(error instanceof TokenBudgetError)) throw error;
        said.push(error.message);
      }
    };
    const agents = task.agents();
    const ids = new Set<string>();
    for (const { agentName } of agents) {
      await tried(() => task.history.windows(agentName));
      await tried(async () => {
        const { items } = await task.history.list(agentName);
        for (const { itemId } of items) ids.add(itemId);
        return items;
      });
      await tried(() => task.history.search(agentName, SECRET));
      await tried(() => task.notes.list(agentName));
      await tried(() => task.notes.search(agentName, SECRET));
      await tried(() => task.notes.read(agentName, "deep/found.md"));
      await tried(() => task.notes.read(agentName, `/root/notes/deep/found.md`));
      await tried(() => task.notes.read(agentName, `/root/helper/notes/deep/found.md`));
      for (const id of SECRET_IDS) await tried(() => task.history.read(agentName, id));
      for (const id of ids) await tried(() => task.history.read(agentName, id));
    }
    return JSON.stringify(said);
  }

  const SECRET_IDS: string[] = [];

  /** A root that is ordinary, with a child whose content is of category s. */
  async function family() {
    const root = await pi({ next: noteFrom("of the root") });
    await root.prompt("Look around.");
    const context = contextOf(root);
    const provider = "reader-secret";
    const factories = [createTokenBudgetExtension({ task: { ...context, agentName: "helper" } })];
    const settings = { tokenBudget: { categories: { s: { models: [`${provider}/m`] } } } };
    const models = [{ id: "m" }];
    const child = await pi({ next: noteFrom(SECRET), bare: true, factories, provider, models, settings });
    await setAgentCategory(context, "helper", "s");
    await child.prompt(`The ${SECRET} is in here.`);
    SECRET_IDS.splice(0, SECRET_IDS.length, ...child.branch().map(({ id }) => id));
    return { root, child, context };
  }

  it("is read with its label, and by no other reader in any way", async () => {
    const { context } = await family();
    const own = await everything(openTask(context, { category: "s" }));
    expect(own.split(SECRET).length).toBeGreaterThan(5);
    for (const task of [
      openTask(context),
      openTask(context, { category: null }),
      openTask(context, { category: "t" }),
    ]) {
      expect(task.agents().map(({ readable }) => readable)).toEqual([true, false]);
      const text = await everything(task);
      expect(text).toContain("of the root");
      expect(text).not.toContain(SECRET);
      const { code, message } = await failure(() => task.notes.list("helper"));
      expect(code).toBe("refused");
      expect(message).toMatch(/restricted: .*openTask\(context, \{ category \}\)/);
    }
  });

  it("stays closed when the registry was changed by hand, and once the reader is open already", async () => {
    const { context } = await family();
    const task = openTask(context);
    const { registry: file } = taskLayout(context.storageRoot, context);
    const registry = JSON.parse(readFileSync(file, "utf8")) as { agents: Record<string, unknown>[] };
    const agents = registry.agents.map(({ decided: _, ...agent }) => ({ ...agent, category: null }));
    writeFileSync(file, JSON.stringify({ ...registry, agents }));
    expect(await everything(task)).not.toContain(SECRET);
    writeFileSync(file, JSON.stringify({ ...registry, agents: agents.map((a) => ({ ...a, category: "t" })) }));
    for (const category of [null, "s", "t"])
      expect(await everything(openTask(context, { category }))).not.toContain(SECRET);
    writeFileSync(file, "not json");
    expect((await failure(() => task.agents())).code).toBe("storage_failed");
    expect((await failure(() => task.history.list("helper"))).code).toBe("storage_failed");
  });

  it("is refused from the moment at which it becomes one", async () => {
    const { context } = await family();
    await setAgentCategory(context, "helper", null);
    const task = openTask(context);
    expect((await task.notes.read("helper", "deep/found.md")).text).toContain(SECRET);
    await setAgentCategory(context, "helper", "s");
    expect(await everything(task)).not.toContain(SECRET);
  });
});
