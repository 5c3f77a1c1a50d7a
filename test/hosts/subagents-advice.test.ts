// What messages about pi-subagents advise is done here, and helps: with the stand-in for the versions that npm does not
// have, on every host. And what the doctor says before pi-subagents has answered.
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createTokenBudgetExtension, getTokenBudgetTask, TOOL_NAMES, type TokenBudgetTask } from "../../api.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import { MODULE_VARIABLE } from "../../src/subagents/discovery.ts";
import { INSTALL_LIMIT_MS, installSubagents, REAL_SUBAGENTS } from "./real-subagents.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const DOUBLE = join(PACKAGE_DIR, "test/doubles/pi-subagents");
const REGISTER = "src/api/required-child-extensions.ts";

const delegates: Script = (request) =>
  request.messages.at(-1)?.role === "toolResult" ? "done" : [call("subagent", { task: "look around" })];

/** A copy of the stand-in whose registration module has this text, or is not there. */
function doubleWith(text: string | undefined): string {
  const folder = join(scratchFolder(), "pi-subagents");
  cpSync(DOUBLE, folder, { recursive: true });
  if (text === undefined) rmSync(join(folder, REGISTER));
  else writeFileSync(join(folder, REGISTER), text);
  return folder;
}

interface Parent {
  readonly session: PiSession;
  readonly task: TokenBudgetTask;
}

/** A parent that has delegated once. */
async function delegated(options: Partial<OpenOptions>, env: Readonly<Record<string, string>> = {}): Promise<Parent> {
  let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
  const factories: OpenOptions["factories"] = [
    createTokenBudgetExtension({ env: { ...process.env, ...env } }),
    (api) => {
      events = api.events;
    },
  ];
  const session = await pi({ bare: true, ui: true, next: delegates, paths: [DOUBLE], factories, ...options });
  await session.prompt("Delegate.");
  const task = events && getTokenBudgetTask({ events });
  if (!task) throw new Error("no task in this session");
  return { session, task };
}

/** The files that the newest launch of a session loads into its child. */
function launched(session: PiSession): readonly string[] {
  const details = session.toolResults().at(-1)?.details as { readonly required: readonly { path: string }[] };
  return details.required.map(({ path }) => path);
}

const warnings = (session: PiSession) => session.ui.notices.map(({ message }) => message);

async function doctor(session: PiSession): Promise<string> {
  await session.session.prompt("/token-budget doctor");
  return session.ui.notices.at(-1)?.message ?? "";
}

/** The children of a parent have all tools, and nobody says otherwise. */
async function expectWhole({ session, task }: Parent): Promise<void> {
  expect(warnings(session)).toEqual([]);
  const child = await pi({ bare: true, paths: launched(session), next: () => "done" });
  await child.prompt("Look around.");
  expect(child.requests[0]?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...TOOL_NAMES]));
  expect(task.agents().map(({ sessionId }) => sessionId)).toContain(child.session.sessionId);
  expect(await doctor(session)).toContain("✓ pi-subagents: its children load this package");
}

describe("what a message about pi-subagents advises helps:", () => {
  const places: readonly (readonly [string, () => Partial<OpenOptions>, Readonly<Record<string, string>>, RegExp])[] = [
    [
      "a place where nothing is",
      () => ({}),
      { [MODULE_VARIABLE]: "/nowhere/at/all" },
      /Name the folder of pi-subagents/,
    ],
    ["another package", () => ({}), { [MODULE_VARIABLE]: PACKAGE_DIR }, /Name the folder of pi-subagents/],
    [
      "no function",
      () => ({ paths: [doubleWith("export const other = 1;\n")] }),
      {},
      /Name the folder of pi-subagents/,
    ],
    [
      "a module that is not there",
      () => ({ paths: [doubleWith(undefined)] }),
      {},
      new RegExp(`name the folder of one that is whole in ${MODULE_VARIABLE}`),
    ],
  ];
  it.each(places)("%s: its folder, and its module, in the variable", async (_what, options, env, advice) => {
    const wrong = await delegated(options(), env);
    expect(warnings(wrong.session)).toEqual([expect.stringMatching(advice)]);
    expect(await doctor(wrong.session)).toMatch(/✗ pi-subagents/);
    for (const named of [DOUBLE, join(DOUBLE, REGISTER)]) {
      await expectWhole(await delegated({}, { ...env, [MODULE_VARIABLE]: named }));
    }
  });

  /** Another extension that registers this list for the session before this package does. */
  function otherOwner(list: string): string {
    const path = join(scratchFolder(), "other.ts");
    writeFileSync(
      path,
      `import { registerRequiredChildExtensions } from ${JSON.stringify(join(DOUBLE, REGISTER))};
export default (pi) => {
  let registration;
  pi.on("session_shutdown", () => registration.dispose());
  pi.on("session_start", (_event, ctx) => {
    registration = registerRequiredChildExtensions({ sessionId: ctx.sessionManager.getSessionId(), extensions: ${list} });
  });
};
`,
    );
    return path;
  }

  it("another owner: the entry on its list, or one of its own under that id", async () => {
    const options = { ui: true, bare: true, next: delegates } as const;
    const first = await pi({ ...options, paths: [DOUBLE, otherOwner("[]"), PACKAGE_DIR] });
    await first.prompt("Delegate.");
    const [message = ""] = warnings(first);
    const { id, path } = JSON.parse(/\{"id".*?\}/.exec(message)?.[0] ?? "") as { id: string; path: string };
    const { sessionFile = "", sessionId } = first.session;
    await first.dispose();

    const own = join(scratchFolder(), "own.ts");
    const context = { version: 1, runId: sessionId, rootSessionId: sessionId, storageRoot: path.split("/tasks/")[0] };
    writeFileSync(
      own,
      `import { createTokenBudgetExtension } from ${JSON.stringify(join(PACKAGE_DIR, "api.ts"))};
export default createTokenBudgetExtension({ task: ${JSON.stringify(context)} });
`,
    );
    for (const entry of [path, own]) {
      const list = JSON.stringify([{ id, path: entry }]);
      const paths = [DOUBLE, otherOwner(list), PACKAGE_DIR];
      const again = await pi({ ...options, session: { path: sessionFile }, paths });
      await again.prompt("Delegate again.");
      expect(warnings(again)).toEqual([]);
      const child = await pi({ bare: true, paths: launched(again), next: () => "done" });
      await child.prompt("Look around.");
      expect(child.requests[0]?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...TOOL_NAMES]));
      const { content } = await again.callTool("get_context_remaining");
      expect(JSON.stringify(content)).toContain("Look around.");
      await again.dispose();
    }
  });

  it("a list of tools of a session that is no agent of pi-subagents: the names on that list", async () => {
    const { task } = await delegated({});
    const child = (tools: readonly string[]) =>
      pi({
        bare: true,
        ui: true,
        session: "memory",
        tools,
        factories: [createTokenBudgetExtension({ task: task.context })],
        next: () => "done",
      });
    const short = await child(["read", ...TOOL_NAMES.slice(3)]);
    const [message = ""] = warnings(short);
    const [, names = ""] = /add to that list: (.*)$/.exec(message) ?? [];
    const whole = await child(["read", ...TOOL_NAMES.slice(3), ...names.split(", ")]);
    expect(warnings(whole)).toEqual([]);
    await whole.prompt("Look around.");
    expect(whole.requests[0]?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...TOOL_NAMES]));
  });
});

describe("the doctor", () => {
  it("asked right after the start says what the start is about to warn of", async () => {
    const late = 'await new Promise((resolve) => setTimeout(resolve, 150));\nthrow new Error("out of order");\n';
    const session = await pi({ ui: true, next: () => "hello", paths: [doubleWith(late)] });
    const report = await doctor(session);
    expect(report).toContain("✗ pi-subagents");
    expect(report).toContain("out of order");
    expect(report).not.toContain("Nothing is wrong");
  });
});

describe.runIf(hostNamed(currentHostName()).scope === "@mariozechner")("on this host", () => {
  beforeAll(installSubagents, INSTALL_LIMIT_MS);

  it("pi-subagents of npm does not load, and the doctor says which Pi it needs", async () => {
    const session = await pi({ ui: true, next: () => "hello", paths: [REAL_SUBAGENTS], tolerateLoadErrors: true });
    expect(session.loadErrors.join("\n")).toContain("@earendil-works/");
    expect(await doctor(session)).toMatch(/pi-subagents: .*need Pi of @earendil-works/);
  });
});
