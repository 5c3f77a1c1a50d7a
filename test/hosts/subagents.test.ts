// Children of pi-subagents: the registration of the children's entry in real sessions, children that load it, and the
// real pi-subagents, whose newest version here cannot be asked to load anything into its children.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call, type Request, textOf } from "../../fixtures/pi/scripted-model.ts";
import { type OpenOptions, openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { type OwnPackage, ownPackage } from "../../src/packages/own.ts";
import { type AdapterResult, EXTENSION_ID, SubagentsAdapter } from "../../src/subagents/adapter.ts";
import { writeChildEntry } from "../../src/subagents/child-entry.ts";
import { agentOverride, missingTools } from "../../src/subagents/diagnostics.ts";
import { INSTALL_LIMIT_MS, installSubagents, REAL_SUBAGENTS } from "./real-subagents.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const DOUBLE = join(PACKAGE_DIR, "test/doubles/pi-subagents");
const place = mkdtempSync(join(tmpdir(), "pi-token-budget-subagents-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

function own(): OwnPackage {
  const found = ownPackage();
  if (!found) throw new Error("this checkout has no package.json");
  return found;
}

/** A task whose storage is in this folder. */
const taskIn = (directory: string, runId = "run-1") => ({
  version: 1,
  runId,
  rootSessionId: runId,
  storageRoot: directory,
});

/** The entry of such a task. */
function entryOf(from: Pick<OwnPackage, "root" | "api"> = own()): Promise<string> {
  const directory = scratchFolder();
  return writeChildEntry({ directory }, from, taskIn(directory));
}

interface Parent {
  readonly directory: string;
  readonly results: AdapterResult[];
  readonly extension: ExtensionFactory;
}

/** The adapter alone as an extension, with a task whose storage is in `directory`. */
function adapterIn(directory: string): Parent {
  const results: AdapterResult[] = [];
  const extension: ExtensionFactory = (api) => {
    let adapter: SubagentsAdapter | undefined;
    api.on("session_start", async (_event, ctx) => {
      adapter = new SubagentsAdapter();
      const sessionId = ctx.sessionManager.getSessionId();
      const writeEntry = () => writeChildEntry({ directory }, own(), taskIn(directory, sessionId));
      const tools = api.getAllTools();
      results.push(await adapter.start({ tools, modulePath: undefined, env: {}, sessionId, writeEntry }));
    });
    api.on("session_shutdown", () => adapter?.close());
  };
  return { directory, results, extension };
}

const launching = (parent: Parent): Omit<OpenOptions, "session"> => ({
  bare: true,
  paths: [DOUBLE],
  factories: [parent.extension],
  next: (_request, n) => (n % 2 === 0 ? [call("subagent", { task: "look around" })] : "done"),
});

interface Required {
  readonly id: string;
  readonly path: string;
}

/** What the newest launch of a session would have loaded into its child. */
function launched(session: PiSession): readonly Required[] {
  const details = session.toolResults().at(-1)?.details as { readonly required: readonly Required[] } | undefined;
  return details?.required ?? [];
}

const toolNames = (request: Request | undefined) => request?.tools.map((tool) => tool.name) ?? [];

describe("a session with pi-subagents", () => {
  it("has its children load this package, for as long as it lasts", async () => {
    const parent = adapterIn(scratchFolder());
    const session = await openPi(launching(parent));
    await session.prompt("Delegate.");
    const entry = join(parent.directory, "child-extension.ts");
    expect(parent.results).toEqual([{ type: "registered", entry }]);
    expect(launched(session)).toEqual([{ id: EXTENSION_ID, path: realpathSync(entry) }]);
    const paths = launched(session).map(({ path }) => path);
    await session.dispose();
    expect(session.errors).toEqual([]);

    // Launches of a child in the background may still be to come: the file outlives the session.
    const child = await pi({
      bare: true,
      session: "memory",
      paths,
      next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "seen.md", text: "all is well" })] : "done"),
    });
    await child.prompt("Look around.");
    expect(toolNames(child.requests[0])).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    expect(child.toolResults()).toMatchObject([{ name: "notes_write_file", isError: false }]);
    expect(missingTools(child.session.getActiveToolNames())).toEqual([]);
  });

  it("is found by its runtime id when the name of its file says nothing of it", async () => {
    const first = await openPi({ bare: true, next: () => "hello" });
    await first.prompt("hello");
    const { sessionFile = "", sessionId } = first.session;
    await first.dispose();
    const path = join(dirname(sessionFile), "a session with another name.jsonl");
    renameSync(sessionFile, path);

    const parent = adapterIn(scratchFolder());
    const session = await pi({ ...launching(parent), session: { path } });
    expect(session.session.sessionId).toBe(sessionId);
    expect(session.session.sessionFile).not.toContain(sessionId);
    await session.prompt("Delegate.");
    expect(launched(session).map(({ id }) => id)).toEqual([EXTENSION_ID]);
  });

  it("registers anew after a reload", async () => {
    const parent = adapterIn(scratchFolder());
    const session = await pi(launching(parent));
    await session.session.reload();
    await session.prompt("Delegate.");
    expect(parent.results.map(({ type }) => type)).toEqual(["registered", "registered"]);
    expect(launched(session)).toHaveLength(1);
  });

  it("shares nothing with another session of its process", async () => {
    const [one, two] = [adapterIn(scratchFolder()), adapterIn(scratchFolder())];
    const first = await openPi(launching(one));
    const second = await pi(launching(two));
    await first.dispose();
    await second.prompt("Delegate.");
    expect(launched(second)).toEqual([
      { id: EXTENSION_ID, path: realpathSync(join(two.directory, "child-extension.ts")) },
    ]);
  });
});

describe("a child", () => {
  it("runs on when the package has moved away, and says so once", async () => {
    const moved = join(place, "moved");
    for (const name of ["api.ts", "package.json", "src"])
      cpSync(join(PACKAGE_DIR, name), join(moved, name), { recursive: true });
    const entry = await entryOf({ root: moved, api: join(moved, "api.ts") });
    rmSync(moved, { recursive: true });
    const child = await pi({ bare: true, ui: true, paths: [entry], next: () => "hello" });
    await child.prompt("hello");
    expect(child.loadErrors).toEqual([]);
    expect(toolNames(child.requests[0])).not.toContain(TOOL_NAMES[0]);
    expect(child.ui.notices).toEqual([{ type: "warning", message: expect.stringContaining(`no longer in ${moved}`) }]);
  });

  it("runs on in print mode too, with one line on standard error", async () => {
    const gone = join(place, "gone");
    const entry = await entryOf({ root: gone, api: join(gone, "api.ts") });
    const ran = await runPi({ extensions: [entry], model: ["hello"], prompt: "hello" });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(ran.stderr.match(/no longer in/g)).toHaveLength(1);
    ran.environment.remove();
  });

  it("as a process of its own gets the tools with `pi -e child-extension.ts`", async () => {
    const entry = await entryOf();
    const ran = await runPi({ extensions: [entry], model: ["hello"], prompt: "hello", args: ["--no-session"] });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(toolNames(ran.requests[0])).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    ran.environment.remove();
  });

  it("with a list of tools that leaves some out has the others", async () => {
    const entry = await entryOf();
    const tools = ["read", ...TOOL_NAMES.slice(4)];
    const child = await pi({ bare: true, paths: [entry], tools, next: () => "hello" });
    await child.prompt("hello");
    expect(toolNames(child.requests[0]).sort()).toEqual([...tools].sort());
    expect(missingTools(child.session.getActiveToolNames())).toEqual(TOOL_NAMES.slice(0, 4));
  });
});

/** The model of a child: an extension file, because a foreground child loads nothing but what it is given. */
function childModel(directory: string, provider: string, requestsPath: string): string {
  const path = join(directory, "model.ts");
  writeFileSync(requestsPath, "");
  writeFileSync(
    path,
    `import { appendFileSync } from "node:fs";
import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import { call, scriptedModel } from ${JSON.stringify(join(PACKAGE_DIR, "fixtures/pi/scripted-model.ts"))};
export default scriptedModel({
  next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "found.md", text: "two files" })] : "child done"),
  provider: ${JSON.stringify(provider)},
  models: [{ id: "m" }],
  createStream: createAssistantMessageEventStream,
  onRequest: (request) => appendFileSync(${JSON.stringify(requestsPath)}, JSON.stringify(request) + "\\n"),
});
`,
  );
  return path;
}

describe.runIf(currentHostName() === "1.6.0")("the real pi-subagents 0.67.0", () => {
  beforeAll(installSubagents, INSTALL_LIMIT_MS);

  it("is found by its tool, and one diagnostic names the setting; with it, a foreground child has the tools", async () => {
    const directory = join(scratchFolder(), "task");
    mkdirSync(directory);
    const parent = adapterIn(directory);
    const provider = "scripted-subagents";
    const requestsPath = join(directory, "requests.jsonl");
    const entry = join(directory, "child-extension.ts");
    const { tools, subagentOnlyExtensions } = agentOverride(entry) as {
      tools: string;
      subagentOnlyExtensions: string[];
    };
    const model = childModel(directory, provider, requestsPath);
    const override = { tools, subagentOnlyExtensions: [...subagentOnlyExtensions, model] };
    const session = await pi({
      bare: true,
      provider,
      paths: [REAL_SUBAGENTS],
      factories: [parent.extension],
      settings: { subagents: { agentOverrides: { delegate: override } } },
      next: (_request, n) =>
        n === 0 ? [call("subagent", { agent: "delegate", task: "Count the files.", async: false })] : "parent done",
    });
    const subagent = session.session.getAllTools().find(({ name }) => name === "subagent");
    expect(subagent?.sourceInfo.path).toBe(join(REAL_SUBAGENTS, "index.ts"));
    expect(parent.results).toMatchObject([{ type: "unavailable", diagnostic: expect.stringContaining("0.67.0") }]);
    expect(JSON.stringify(parent.results)).toContain(entry);

    await session.prompt("Delegate.");
    expect(session.toolResults()).toMatchObject([{ name: "subagent", isError: false, text: /child done/ }]);
    const lines = readFileSync(requestsPath, "utf8").trim().split("\n");
    const requests = lines.map((line) => JSON.parse(line) as Request);
    expect(requests).toHaveLength(2);
    expect(toolNames(requests[0])).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    const written = requests[1]?.messages.at(-1);
    expect(written).toMatchObject({ role: "toolResult", toolName: "notes_write_file", isError: false });
    expect(textOf(written)).toContain("found.md");
  });
});
