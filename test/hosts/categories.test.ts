import { readFileSync, writeFileSync } from "node:fs";
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { createTokenBudgetExtension } from "../../api.ts";
import { currentAgentDir } from "../../fixtures/pi/environment.ts";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import { setAgentCategory } from "../../src/category/change.ts";
import { CATEGORY_ENTRY } from "../../src/category/log.ts";
import type { TaskContext } from "../../src/task/context.ts";
import { homeStorage, taskLayout } from "../../src/task/layout.ts";
import { closeAfterEach, pi, SHORT_COMPACTION, whole } from "./support.ts";

closeAfterEach();

const MODELS = [{ id: "plain" }, { id: "safe" }, { id: "safe-2" }];
let providers = 0;

interface Options extends Partial<OpenOptions> {
  readonly labelled?: readonly string[];
}

/** A session with two labelled models and one without, which it starts with. */
function open({ labelled = ["safe", "safe-2"], settings, ...options }: Options = {}): Promise<PiSession> {
  const provider = options.provider ?? `category-${++providers}`;
  const named = labelled.map((id) => `${provider}/${id}`);
  const categories = { s: { models: named }, t: { models: named } };
  return pi({
    next: () => "yes",
    provider,
    models: MODELS,
    settings: { ...settings, tokenBudget: { categories } },
    ui: true,
    ...options,
  });
}

const said = (session: PiSession) => session.ui.notices.map(({ message }) => message).join("\n");
const models = (session: PiSession) => session.requests.map(({ model }) => model);
const marks = (session: PiSession) =>
  session
    .branch()
    .flatMap((entry) => (entry.type === "custom" && entry.customType === CATEGORY_ENTRY ? [entry.data] : []));

/** No request to an unlabelled model held the secret. */
function expectKept(session: PiSession, secret = "the secret"): void {
  const leaked = session.requests.filter((request) => request.model === "plain" && whole(request).includes(secret));
  expect(leaked).toEqual([]);
}

describe("a session of a category", () => {
  it("is put on the labelled default, says so to the model, and writes the category on its log", async () => {
    const session = await open();
    await session.prompt("/category s");
    expect(session.session.model?.id).toBe("safe");
    await session.prompt("the secret");
    expect(models(session)).toEqual(["safe"]);
    expect(session.requests[0]?.systemPrompt).toContain('pass category "s"');
    expect(marks(session)).toEqual([{ category: "s" }]);
    expect(said(session)).toContain("category s");
  });

  it("keeps another labelled model that is chosen, and changes an unlabelled one back", async () => {
    const session = await open();
    await session.prompt("/category s");
    await session.selectModel("safe-2");
    await session.prompt("the secret");
    await session.selectModel("plain");
    expect(session.session.model?.id).toBe("safe");
    await session.prompt("more");
    expect(models(session)).toEqual(["safe-2", "safe"]);
    expect(said(session)).toContain("uses");
    expectKept(session);
  });

  it("sends nothing when no labelled model can be used, and goes on when the category is taken away", async () => {
    const session = await open({ labelled: ["gone"] });
    await session.prompt("/category s");
    expect(said(session)).toMatch(/Nothing was sent to .*\/plain: this content is of category s/);
    await session.prompt("the secret");
    expect(session.requests).toEqual([]);
    expect(said(session)).toMatch(/only .*\/gone may receive it/);
    await session.prompt("/category none");
    await session.prompt("hello");
    expect(models(session)).toEqual(["plain"]);
    expect(marks(session)).toEqual([{ category: "s" }, { category: null }]);
  });

  it("sends nothing to an unlabelled model that is put in during a run", async () => {
    const held: { session?: PiSession } = {};
    const next: Script = async (_request, n) => {
      if (n > 0) return "done";
      // As another extension or a client may do while the model thinks; the guard's own answer to it is undone too.
      const { session } = held;
      if (session) session.session.agent.state.model = { ...session.session.agent.state.model, id: "plain" };
      return [call("get_context_remaining")];
    };
    const session = await open({ next });
    held.session = session;
    await session.prompt("/category s");
    await session.prompt("the secret");
    expectKept(session);
    const expected = currentHostName() === "0.73.1" ? ["safe", "safe"] : ["safe"];
    expect(models(session)).toEqual(expected);
    if (currentHostName() !== "0.73.1") expect(said(session)).toContain("Nothing was sent to");
  });

  it("goes on with the labelled default when a person chooses an unlabelled model during a run", async () => {
    const held: { session?: PiSession } = {};
    const next: Script = async (_request, n) => {
      if (n > 0) return "done";
      await held.session?.selectModel("plain");
      return [call("get_context_remaining")];
    };
    const session = await open({ next });
    held.session = session;
    await session.prompt("/category s");
    await session.prompt("the secret");
    expect(models(session)).toEqual(["safe", "safe"]);
    expectKept(session);
  });

  it("is not changed during a run", async () => {
    const held: { session?: PiSession } = {};
    const next: Script = async () => {
      await held.session?.session.prompt("/category none");
      return "yes";
    };
    const session = await open({ next });
    held.session = session;
    await session.prompt("/category s");
    await session.prompt("the secret");
    expect(said(session)).toContain("not changed during a run");
    expect(marks(session)).toEqual([{ category: "s" }]);
  });

  it("summarizes a left branch with a labelled model only", async () => {
    const session = await open();
    await session.prompt("one");
    const [target] = session.branch().filter((entry) => entry.type === "message");
    await session.prompt("/category s");
    await session.prompt("the secret");
    session.session.agent.state.model = { ...session.session.agent.state.model, id: "plain" };
    await session.session.navigateTree(target?.id ?? "", { summarize: true });
    expect(models(session)).toEqual(["plain", "safe", "safe"]);
    expectKept(session);
  });

  it("does not summarize a left branch without a labelled model", async () => {
    const session = await open({ labelled: ["gone"] });
    await session.prompt("the secret");
    const [target] = session.branch().filter((entry) => entry.type === "message");
    await session.prompt("/category s");
    const before = session.requests.length;
    const { cancelled } = await session.session.navigateTree(target?.id ?? "", { summarize: true });
    expect(cancelled).toBe(true);
    expect(session.requests.length).toBe(before);
    const free = await session.session.navigateTree(target?.id ?? "", { summarize: false });
    expect(free.cancelled).toBe(false);
  });

  it("is not compacted by the host's summarizer on an unlabelled model", async () => {
    const categories = (provider: string) => ({ s: { models: [`${provider}/gone`] } });
    const provider = `category-${++providers}`;
    const session = await pi({
      next: () => "word ".repeat(400),
      provider,
      models: MODELS,
      ui: true,
      settings: { ...SHORT_COMPACTION, tokenBudget: { enabled: false, categories: categories(provider) } },
    });
    await session.prompt("one");
    await session.prompt("two");
    await session.prompt("/category s");
    const before = session.requests.length;
    await expect(session.session.compact()).rejects.toThrow(/cancel/i);
    expect(session.requests.length).toBe(before);
    await session.prompt("/category none");
    await session.session.compact();
    expect(session.requests.length).toBeGreaterThan(before);
  });

  it("is found again on the log when the session is opened again, and by replay on another branch", async () => {
    const provider = `category-${++providers}`;
    const first = await open({ provider });
    await first.prompt("/category s");
    await first.prompt("the secret");
    const path = first.session.sessionFile ?? "";
    await first.dispose();
    const again = await open({ provider, session: { path } });
    await again.prompt("more");
    expect(models(again)).toEqual(["safe"]);
    expect(marks(again)).toEqual([{ category: "s" }]);
  });
});

/** A session's own root task. */
function taskOf({ session }: PiSession): TaskContext {
  const { sessionId, sessionFile } = session;
  const storageRoot = homeStorage({ sessionId, sessionFile }, currentAgentDir());
  return { version: 1, runId: sessionId, rootSessionId: sessionId, storageRoot };
}

function registryOf(session: PiSession): string {
  const task = taskOf(session);
  return taskLayout(task.storageRoot, task).registry;
}

function tamper(session: PiSession, change: (agent: Record<string, unknown>) => Record<string, unknown>): void {
  const file = registryOf(session);
  const registry = JSON.parse(readFileSync(file, "utf8")) as { agents: Record<string, unknown>[] };
  writeFileSync(file, JSON.stringify({ ...registry, agents: registry.agents.map(change) }));
}

describe("registry and log", () => {
  it("disagreeing mean the stricter of the two, which the registry gets back", async () => {
    const session = await open();
    await session.prompt("/category s");
    await session.prompt("the secret");
    tamper(session, ({ decided: _, ...agent }) => ({ ...agent, category: null }));
    session.session.agent.state.model = { ...session.session.agent.state.model, id: "plain" };
    await session.prompt("more");
    expect(models(session)).toEqual(["safe", "safe"]);
    expect(readFileSync(registryOf(session), "utf8")).toContain('"category":"s"');
  });

  it("disagreeing mean the stricter of the two for dispatched tasks too", async () => {
    const session = await open({ ui: false });
    await session.prompt("/category s");
    await session.prompt("the secret");
    const lose = () => tamper(session, ({ decided: _, ...agent }) => ({ ...agent, category: null }));
    lose();
    await session.prompt("/task Count to three");
    expect(session.requests).toHaveLength(2);
    expect(whole(session.requests[1])).toContain("Count to three");
    expect(whole(session.requests[1])).not.toContain("the secret");
    lose();
    await session.prompt("/task --category s Count to four");
    expect(models(session).at(-1)).toBe("safe");
    expect(session.requests).toHaveLength(3);
    expect(whole(session.requests[2])).toContain("the secret");
    expect(readFileSync(registryOf(session), "utf8").match(/"category":"s"/g)).toHaveLength(2);
  });

  it("naming two categories stop every request until a person decides", async () => {
    const session = await open();
    await session.prompt("/category s");
    tamper(session, ({ decided: _, ...agent }) => ({ ...agent, category: "t" }));
    await session.prompt("the secret");
    expect(session.requests).toEqual([]);
    expect(said(session)).toMatch(/log says .*"s".*registry .*"t".*\/category/);
    await session.prompt("/category s");
    await session.prompt("more");
    expect(models(session)).toEqual(["safe"]);
  });

  it("follow a decision that another program made", async () => {
    const session = await open();
    await session.prompt("/category s");
    await session.prompt("the secret");
    const context = taskOf(session);
    await setAgentCategory(context, "/root", null);
    await session.selectModel("plain");
    await session.prompt("ordinary now");
    expect(models(session)).toEqual(["safe", "plain"]);
    expect(marks(session)).toEqual([{ category: "s" }, { category: null }]);
    await setAgentCategory(context, "/root", "s");
    await session.prompt("the secret");
    expect(models(session)).toEqual(["safe", "plain", "safe"]);
  });

  it.each(["not json", JSON.stringify({ version: 99 })])(
    "with a registry of %j a session of a category is stopped",
    async (content) => {
      const session = await open();
      await session.prompt("/category s");
      writeFileSync(registryOf(session), content);
      await session.prompt("the secret");
      expect(session.requests).toEqual([]);
      expect(said(session)).toMatch(/not known which category.*registry/);
      await session.prompt("/category none");
      expect(said(session)).toContain("The category was not changed");
    },
  );

  it("with an unreadable registry leave an ordinary session alone", async () => {
    const session = await open();
    await session.prompt("/category s");
    await session.prompt("/category none");
    writeFileSync(registryOf(session), "not json");
    await session.selectModel("plain");
    await session.prompt("hello");
    expect(models(session)).toEqual(["plain"]);
  });
});

describe("other requests and other extensions", () => {
  it("stop in sessions without anybody to see it, and in runs that an extension starts", async () => {
    let start: (() => void) | undefined;
    const other: ExtensionFactory = (extension) => {
      start = () =>
        extension.sendMessage({ customType: "other", content: "the secret", display: true }, { triggerTurn: true });
    };
    const session = await open({ labelled: ["gone"], factories: [other], ui: false });
    await session.prompt("/category s");
    start?.();
    await session.settled();
    await session.prompt("the secret");
    expect(session.requests).toEqual([]);
  });

  it("stop behind an extension that changes the messages", async () => {
    const other: ExtensionFactory = (extension) => {
      extension.on("context", ({ messages }) => ({ messages: messages.filter(({ role }) => role !== "custom") }));
    };
    const session = await open({ labelled: ["gone"], factories: [other] });
    await session.prompt("/category s");
    await session.prompt("the secret");
    expect(session.requests).toEqual([]);
    // The host reports the other handler: it could not read what nobody may send.
    (session.errors as string[]).length = 0;
  });

  const newest = currentHostName() === "1.6.0";

  // Only 1.x has virtual models.
  it.runIf(newest)("is not routed by a virtual model, whatever name is labelled", async () => {
    const routed: unknown[] = [];
    const provider = `category-${++providers}`;
    const other: ExtensionFactory = (extension) => {
      const { registerVirtualModel } = extension as unknown as {
        registerVirtualModel(model: Record<string, unknown>): void;
      };
      registerVirtualModel({
        provider,
        id: "virtual",
        name: "virtual",
        route: (request: { messages: unknown }) => {
          routed.push(request.messages);
          return { model: { provider, id: "plain" }, thinkingLevel: "off" };
        },
      });
    };
    const session = await open({ provider, labelled: ["virtual"], factories: [other] });
    await session.selectModel("virtual");
    await session.prompt("ordinary");
    expect(models(session)).toEqual(["plain"]);
    expect(routed).toHaveLength(1);
    await session.prompt("/category s");
    await session.prompt("the secret");
    expect(routed).toHaveLength(1);
    expect(models(session)).toEqual(["plain"]);
    expect(said(session)).toContain("Nothing was sent to");
  });

  // Only 1.x keeps caches warm.
  it.runIf(newest)("are not repeated to an unlabelled model to keep a cache warm", async () => {
    const session = await open({ labelled: ["gone"] });
    const runner = session.session.extensionRunner as unknown as {
      emitCacheWarmingDecision(event: Record<string, unknown>): Promise<string>;
    };
    const decision = () => runner.emitCacheWarmingDecision({ type: "cache_warming_decision", action: "warm" });
    await session.prompt("the secret");
    expect(await decision()).toBe("warm");
    await session.prompt("/category s");
    expect(await decision()).toBe("stop");
    const labelled = await open();
    await labelled.prompt("/category s");
    await labelled.prompt("the secret");
    const other = labelled.session.extensionRunner as unknown as typeof runner;
    expect(await other.emitCacheWarmingDecision({ type: "cache_warming_decision", action: "warm" })).toBe("warm");
  });
});

describe("agents of one task", () => {
  /** A root of a category that said something, and how children of it are opened. */
  async function family() {
    const root = await open();
    await root.prompt("/category s");
    await root.prompt("the secret");
    const child = (agentName: string, category: string | null | undefined) => {
      const declared = category === undefined ? {} : { category };
      const task = { ...taskOf(root), parentAgentName: "/root", agentName, ...declared };
      return open({ bare: true, factories: [createTokenBudgetExtension({ task })] });
    };
    return { root, child };
  }

  const readRoot = (session: PiSession) =>
    session.callTool("history_search_contents", { agent_name: "/root", query: "the secret" }).then(
      ({ content }) => JSON.stringify(content),
      (error: unknown) => String(error),
    );

  it("read what is of their category, in labelled models only, and an ordinary one nothing of it", async () => {
    const { child } = await family();
    const [same, inherits, ordinary] = [
      await child("same", "s"),
      await child("inherits", undefined),
      await child("ordinary", null),
    ];
    for (const session of [same, inherits]) {
      expect(session.session.model?.id).toBe("safe");
      expect(await readRoot(session)).toContain("the secret");
      await session.prompt("more");
      expect(models(session)).toEqual(["safe"]);
      expect(marks(session)).toEqual([{ category: "s" }]);
    }
    expect(await readRoot(ordinary)).toMatch(/restricted/);
    await ordinary.prompt("hello");
    expect(models(ordinary)).toEqual(["plain"]);
  });

  it("read nothing of it when the registry was changed to say that it is ordinary", async () => {
    const { root, child } = await family();
    const ordinary = await child("ordinary", null);
    tamper(root, ({ decided: _, ...agent }) => ({ ...agent, category: null, categoryOwn: true }));
    expect(await readRoot(ordinary)).toMatch(/restricted/);
  });

  it("are changed from below only towards the parent's category or none, and from above all together", async () => {
    const { root, child } = await family();
    const ordinary = await child("ordinary", null);
    await ordinary.prompt("/category t");
    expect(said(ordinary)).toMatch(/was not changed: .*another category than its parent \/root/);
    await ordinary.prompt("/category s");
    await ordinary.prompt("/category none");
    await ordinary.prompt("hello");
    await root.prompt("/category s");
    await ordinary.prompt("now of the category");
    expect(models(ordinary).at(-1)).toBe("safe");
    expect(marks(ordinary).at(-1)).toEqual({ category: "s" });
  });
});
