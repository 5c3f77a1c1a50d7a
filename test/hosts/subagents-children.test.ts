// Children of the real pi-subagents, as npm has it and in a copy with the export for required child extensions: what a
// parent calls them, what is said when one runs without this package's tools, and that following what is said helps.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../api.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call, type Request, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import { childEntryText } from "../../src/subagents/child-entry.ts";
import { INSTALL_LIMIT_MS, installSubagents, patchedSubagents, REAL_SUBAGENTS } from "./real-subagents.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const PROVIDER = "scripted-kids";

/** A project with agents, and the model that its children get as an extension. */
class Project {
  readonly folder = scratchFolder();
  readonly #requests = join(this.folder, "requests.jsonl");
  readonly #model = join(this.folder, "model.ts");

  /** `next` is the source text of the children's script. */
  constructor(next: string) {
    mkdirSync(join(this.folder, ".pi/agents"), { recursive: true });
    writeFileSync(this.#requests, "");
    writeFileSync(
      this.#model,
      `import { appendFileSync } from "node:fs";
import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import { call, scriptedModel } from ${JSON.stringify(join(PACKAGE_DIR, "fixtures/pi/scripted-model.ts"))};
export default scriptedModel({
  next: ${next},
  provider: ${JSON.stringify(PROVIDER)},
  models: [{ id: "m" }],
  createStream: createAssistantMessageEventStream,
  onRequest: (request) => appendFileSync(${JSON.stringify(this.#requests)}, JSON.stringify(request) + "\\n"),
});
`,
    );
  }

  agent(name: string, fields = ""): void {
    const path = join(this.folder, ".pi/agents", `${name.replace(/\W/g, "-")}.md`);
    const head = `name: ${name}\ndescription: one\nextensions: ${this.#model}\n${fields}`;
    writeFileSync(path, `---\n${head}---\n\nYou are ${name}.\n`);
  }

  /** The tools of each request of a child since the last look. */
  taken(): readonly (readonly string[])[] {
    const lines = readFileSync(this.#requests, "utf8").trim();
    writeFileSync(this.#requests, "");
    if (lines === "") return [];
    return lines.split("\n").map((line) => (JSON.parse(line) as Request).tools.map(({ name }) => name));
  }
}

const ANSWERS = '() => "child done"';

/** A parent that delegates to these agents, one after another. */
const delegating =
  (...agents: readonly string[]): Script =>
  (_request, n) => {
    const agent = agents[n];
    return agent === undefined
      ? "parent done"
      : [call("subagent", { agent, task: `Look around (${n}).`, async: false })];
  };

function parent(project: Project, subagents: string, options: Partial<OpenOptions>): Promise<PiSession> {
  const common = { provider: PROVIDER, project: project.folder, ui: true, paths: [subagents], next: () => "hello" };
  return pi({ ...common, ...options });
}

/** What a command answers. */
async function said(session: PiSession, command: string): Promise<string> {
  const before = session.ui.notices.length;
  await session.session.prompt(command);
  return session.ui.notices
    .slice(before)
    .map(({ message }) => message)
    .join("\n");
}

const warnings = (session: PiSession) =>
  session.ui.notices.filter(({ type }) => type === "warning").map(({ message }) => message);

/** The setting that a message says Pi's settings.json can have, for an agent. */
function settingIn(message: string | undefined, agent: string): Readonly<Record<string, unknown>> {
  const [setting = ""] = /\{.*\}/.exec(message ?? "") ?? [];
  return JSON.parse(setting.replaceAll("<agent>", agent)) as Readonly<Record<string, unknown>>;
}

const isNewest = currentHostName() === "1.6.0";

describe.runIf(isNewest)("children of the real pi-subagents", () => {
  let withExport = "";
  beforeAll(async () => {
    await installSubagents();
    withExport = patchedSubagents();
  }, INSTALL_LIMIT_MS);
  afterAll(() => rmSync(withExport, { recursive: true, force: true }));

  it("as npm has it get the tools when the setting of the message at start is followed", async () => {
    const project = new Project(ANSWERS);
    project.agent("kid");
    project.agent("listed", `tools: read, bash, ${TOOL_NAMES.join(", ")}\n`);
    const before = await parent(project, REAL_SUBAGENTS, { next: delegating("kid", "listed") });
    await before.prompt("Delegate.");
    const doctor = await said(before, "/token-budget doctor");
    expect(doctor).toContain("2 children of pi-subagents ran without this package");
    for (const tools of project.taken()) expect(tools).not.toContain("notes_write_file");
    const { sessionFile = "" } = before.session;
    const [message, ...others] = warnings(before);
    expect(others).toEqual([]);
    await before.dispose();

    const overrides = ["kid", "listed"].map((agent) => {
      const { subagents } = settingIn(message, agent) as { subagents: { agentOverrides: object } };
      return subagents.agentOverrides;
    });
    const after = await parent(project, REAL_SUBAGENTS, {
      session: { path: sessionFile },
      settings: { subagents: { agentOverrides: Object.assign({}, ...overrides) } },
      next: delegating("kid", "listed"),
    });
    await after.prompt("Delegate again.");
    const taken = project.taken();
    expect(taken).toHaveLength(2);
    for (const tools of taken) expect(tools).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    expect(await said(after, "/token-budget doctor")).toContain("✓ children: none runs without this package");
  });

  it("with a list of tools lack this package's, its parent says so once, and what it says helps", async () => {
    const project = new Project(ANSWERS);
    project.agent("listed", `tools: read, bash, ${TOOL_NAMES.join(", ")}\n`);
    const before = await parent(project, withExport, { next: delegating("listed", "listed") });
    await before.prompt("Delegate.");
    const [notice, ...others] = warnings(before);
    expect(others).toEqual([]);
    expect(notice).toMatch(/ listed_[0-9a-f]{8} has none of the tools/);
    for (const tools of project.taken()) expect(tools).not.toContain("notes_write_file");
    const without =
      / {2}listed_[0-9a-f]{8} \((?:ended, )?without the tools of this package\): Task: Look around \(0\)\./;
    expect(await said(before, "/context")).toMatch(without);
    const doctor = await said(before, "/token-budget doctor");
    expect(doctor).toMatch(/✗ children: listed_[0-9a-f]{8} runs without the tools of this package/);
    expect(doctor).toContain("✓ pi-subagents");
    const { sessionFile = "" } = before.session;
    await before.dispose();

    const settings = settingIn(notice, "listed");
    expect(settingIn(doctor, "listed")).toEqual(settings);
    const ways: readonly (() => Partial<OpenOptions>)[] = [
      () => ({ settings }),
      () => {
        project.agent("listed");
        return {};
      },
    ];
    for (const way of ways) {
      const after = await parent(project, withExport, {
        session: { path: sessionFile },
        next: delegating("listed"),
        ...way(),
      });
      await after.prompt("Delegate again.");
      const [tools] = project.taken();
      expect(tools).toEqual(expect.arrayContaining([...TOOL_NAMES]));
      expect(warnings(after)).toEqual([]);
      expect(await said(after, "/token-budget doctor")).toContain("✓ children: none runs without this package");
      await after.dispose();
    }
  });

  it("whose registration fails get the tools when the setting of the message is followed", async () => {
    const failing = patchedSubagents();
    const module = join(failing, "src/api/required-child-extensions.ts");
    const throws = 'export function registerRequiredChildExtensions() {\n  throw new Error("not today");\n}\n';
    writeFileSync(module, throws);
    const project = new Project(ANSWERS);
    project.agent("kid");
    const before = await parent(project, failing, { next: delegating("kid") });
    await before.prompt("Delegate.");
    expect(project.taken()[0]).not.toContain("notes_write_file");
    const [message, ...others] = warnings(before);
    expect([message, others]).toEqual([expect.stringContaining("not today"), []]);
    const { sessionFile = "" } = before.session;
    await before.dispose();

    const settings = settingIn(message, "kid");
    const options = { session: { path: sessionFile }, settings, next: delegating("kid") } as const;
    const after = await parent(project, failing, options);
    await after.prompt("Delegate again.");
    expect(project.taken()[0]).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    expect(await said(after, "/token-budget doctor")).toContain("✓ children: none runs without this package");
    await after.dispose();
    rmSync(failing, { recursive: true });
  });

  it("are called what pi-subagents calls them, below the child that started them, with their first request", async () => {
    const inner = `call("subagent", { agent: "kid", task: "Count the tests.", async: false })`;
    const project = new Project(
      `(request, n) => n === 0 && request.tools.some(({ name }) => name === "subagent") ? [${inner}] : "child done"`,
    );
    project.agent("kid");
    project.agent("Lead Reviewer", "allowNestedSubagents: true\n");
    const session = await parent(project, withExport, { next: delegating("kid", "Lead Reviewer") });
    await session.prompt("Delegate.");
    expect(session.toolResults().map(({ isError }) => isError)).toEqual([false, false]);
    const { content } = await session.callTool("get_context_remaining");
    const answer = JSON.parse(content.map((block) => (block.type === "text" ? block.text : "")).join("")) as {
      agents: string[];
      first_requests: Record<string, string>;
    };
    const [, kid = "", lead = "", nested = "", ...others] = answer.agents;
    expect(others).toEqual([]);
    expect(kid).toMatch(/^\/root\/kid_[0-9a-f]{8}$/);
    expect(lead).toMatch(/^\/root\/lead_reviewer_[0-9a-f]{8}$/);
    expect(nested.startsWith(`${lead}/kid_`)).toBe(true);
    const requests = [answer.first_requests[kid], answer.first_requests[lead], answer.first_requests[nested]];
    expect(requests.map((request) => /(Look around \(\d\)|Count the tests)/.exec(request ?? "")?.[1])).toEqual([
      "Look around (0)",
      "Look around (1)",
      "Count the tests",
    ]);
    const context = await said(session, "/context");
    expect(context.replaceAll(" (ended)", "")).toContain(`${nested.replace("/root/", "")}: `);
  });

  it("that could not load this package are told of by their parent, who would otherwise not know", async () => {
    const project = new Project(ANSWERS);
    project.agent("kid");
    const session = await parent(project, withExport, { next: delegating("kid", "kid") });
    const entry = join(
      session.sessionManager.getSessionFile()?.replace(/[^/]+$/, "") ?? "",
      `pi-token-budget/tasks/${session.session.sessionId}/child-extension.ts`,
    );
    await expect.poll(() => readFileSync(entry, "utf8")).toContain(PACKAGE_DIR);
    const gone = join(scratchFolder(), "gone");
    writeFileSync(entry, childEntryText({ root: gone, api: join(gone, "api.ts") }, {}));
    await session.prompt("Delegate.");
    const [notice, ...others] = warnings(session);
    expect(others).toEqual([]);
    expect(notice).toContain("1 child of pi-subagents ran without this package");
    expect(await said(session, "/token-budget doctor")).toContain("2 children of pi-subagents ran without");
    const { sessionFile = "" } = session.session;
    await session.dispose();

    // "start this session again"
    const again = await parent(project, withExport, { session: { path: sessionFile }, next: delegating("kid") });
    await again.prompt("Delegate again.");
    expect(warnings(again)).toEqual([]);
    expect(await said(again, "/token-budget doctor")).toContain("✓ children: none runs without this package");
  });
});
