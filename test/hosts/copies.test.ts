// The package loaded more than once into one session, in every form it has and in every order: there is exactly one set
// of tools, and each hook runs once. And the other way round: several sessions of one loaded copy know nothing of each
// other, and a reload starts afresh.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTokenBudgetExtension, TOOL_NAMES } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { loadHost, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { installedDirectory } from "../../fixtures/pi/installed.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import { GUIDANCE_OPEN } from "../../src/prompts.ts";
import { childEntryText } from "../../src/subagents/child-entry.ts";
import { closeAfterEach, controls, first, pi, roles, using } from "./support.ts";

closeAfterEach();

const MINUTES = 60_000;
const place = mkdtempSync(join(tmpdir(), "pi-token-budget-copies-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const checkout = join(place, "checkout");
const packed = join(place, "packed");

/** Another checkout, which was never built, and the package as it is installed. */
beforeAll(() => {
  mkdirSync(checkout);
  for (const name of ["extension.js", "api.ts", "src", "package.json", "tsconfig.json", ".ci"])
    cpSync(join(PACKAGE_DIR, name), join(checkout, name), { recursive: true });
  symlinkSync(join(PACKAGE_DIR, "node_modules"), join(checkout, "node_modules"));
  cpSync(installedDirectory(), packed, { recursive: true });
}, 4 * MINUTES);

const TASK = { version: 1, runId: "run-1", rootSessionId: "run-1", storageRoot: join(place, "task") };

/** A generated child entry that imports the package from here. */
function entryOf(root: string, api: string): string {
  const path = join(mkdtempSync(join(place, "entry-")), "child-extension.ts");
  writeFileSync(path, childEntryText({ root, api: join(root, api) }, TASK));
  return path;
}

/** Each form as the path that Pi loads. */
const FORMS: Readonly<Record<string, () => string>> = {
  "this checkout": () => PACKAGE_DIR,
  "another checkout": () => checkout,
  "the packed form": () => packed,
  "a child entry of this checkout": () => entryOf(PACKAGE_DIR, "api.ts"),
  "a child entry of the packed form": () => entryOf(packed, "dist/api.js"),
};
const NAMES = Object.keys(FORMS);

function pathsOf(names: readonly string[]): string[] {
  return names.map((name) => FORMS[name]?.() ?? name);
}

interface StateSeen {
  readonly sessionId: string;
  readonly sequence: number;
}

/** Listens to what copies publish, as another extension of the session would. */
function listener(seen: StateSeen[]): ExtensionFactory {
  return (api) => {
    const stop = api.events.on("pi-token-budget:coordination:state", (state) => void seen.push(state as StateSeen));
    api.on("session_shutdown", () => stop());
  };
}

const factory = createTokenBudgetExtension() as ExtensionFactory;

/** Far enough to be reminded once, then a new window. */
const story: Script = (_request, n) => {
  if (n === 0) return using(160_000, call("notes_append_to_file", { path: "log.md", text: "once\n" }));
  if (n === 1) return using(161_000, call("new_context"));
  return "done";
};

async function opened(options: Omit<OpenOptions, "next">): Promise<{ session: PiSession; seen: StateSeen[] }> {
  const seen: StateSeen[] = [];
  const factories = [listener(seen), ...(options.factories ?? [])];
  return { session: await pi({ bare: true, next: story, ...options, factories }), seen };
}

const toolsOf = (session: PiSession, n = 0) => session.requests[n]?.tools.map((tool) => tool.name) ?? [];

/** The file that a session's copy was loaded from. */
function ownerOf({ session }: PiSession): string | undefined {
  return session.getAllTools().find(({ name }) => name === TOOL_NAMES[0])?.sourceInfo.path;
}

/** What a session looks like in which every hook ran exactly once. */
async function expectOneCopy({ session, seen }: Awaited<ReturnType<typeof opened>>): Promise<void> {
  await session.prompt("Begin.");
  expect(session.loadErrors).toEqual([]);
  expect(toolsOf(session).filter((name) => TOOL_NAMES.some((own) => own === name))).toEqual([...TOOL_NAMES]);
  expect(session.requests).toHaveLength(3);
  expect(session.requests[0]?.systemPrompt.split(GUIDANCE_OPEN)).toHaveLength(2);
  expect(controls(session, "reminder")).toHaveLength(1);
  // Exactly the bootstrap: a second copy would put its own beside it.
  expect(roles(session.requests[2])).toEqual(["user"]);
  expect(first(session.requests[2])).toContain("log.md");
  expect((await session.callTool("notes_read_file", { path: "log.md" })).content).toMatchObject([{ text: /once/ }]);
  // A second copy would count for itself.
  const sequences = seen.flatMap(({ sessionId, sequence }) =>
    sessionId === session.session.sessionId ? [sequence] : [],
  );
  expect(sequences).toEqual(sequences.map((_sequence, i) => (sequences[0] ?? 0) + i));
  expect(sequences.length).toBeGreaterThan(0);
}

describe("copies in one session: one set of tools, every hook once", () => {
  it("alone, as a measure", async () => {
    await expectOneCopy(await opened({ paths: [PACKAGE_DIR] }));
  });

  it.each(NAMES)("%s first, then all the others, an ambient one and a launcher's factory", async (name) => {
    const at = NAMES.indexOf(name);
    const order = [...NAMES.slice(at), ...NAMES.slice(0, at)];
    const paths = pathsOf(order);
    const settings = { extensions: [join(checkout, "extension.js")] };
    const copies = await opened({ paths, settings, factories: [factory] });
    await expectOneCopy(copies);
    expect(ownerOf(copies.session)?.startsWith(paths[0] ?? "none")).toBe(true);
  });

  it.each(NAMES)("%s last, after all the others", async (name) => {
    const at = NAMES.indexOf(name);
    await expectOneCopy(
      await opened({ paths: pathsOf([...NAMES.slice(at + 1), ...NAMES.slice(0, at + 1)].reverse()) }),
    );
  });

  it("an ambient copy and a launcher's factory, and two factories", async () => {
    const settings = { extensions: [join(packed, "extension.js")] };
    await expectOneCopy(await opened({ settings, factories: [factory] }));
    const another = createTokenBudgetExtension() as ExtensionFactory;
    await expectOneCopy(await opened({ factories: [factory, another, factory] }));
  });

  it("on the command line, which refuses to start when two copies register the same tool", async () => {
    const extensions = pathsOf(["the packed form", "another checkout", "a child entry of this checkout"]);
    const ran = await runPi({ extensions, model: [[call("new_context")], "done"], prompt: "Begin." });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
    expect(ran.requests).toHaveLength(2);
    expect(ran.requests[0]?.systemPrompt.split(GUIDANCE_OPEN)).toHaveLength(2);
    ran.environment.remove();
  });
});

describe("several sessions of one loaded copy", () => {
  it("each has its tools, its notes and its windows, while others start and end", async () => {
    const one = await opened({ factories: [factory] });
    const two = await opened({ factories: [factory], session: "memory" });
    await expectOneCopy(one);
    const three = await opened({ factories: [factory] });
    await expectOneCopy(two);
    await two.session.dispose();
    await expectOneCopy(three);
    await one.session.prompt("Go on.");
    expect(toolsOf(one.session, 3)).toEqual(toolsOf(one.session));
    expect(one.session.errors).toEqual([]);
    expect(two.seen.map(({ sessionId }) => sessionId)).toEqual(two.seen.map(() => two.session.session.sessionId));
  });
});

describe("sessions that a launcher gives one event bus", () => {
  it("each have their copy, whether or not the sessions before them were shut down", async () => {
    const eventBus = (await loadHost()).codingAgent.createEventBus();
    const one = await opened({ eventBus, paths: pathsOf(NAMES) });
    const two = await opened({ eventBus, factories: [factory] });
    await expectOneCopy(two);
    one.session.session.dispose();
    await expectOneCopy(await opened({ eventBus, paths: pathsOf(NAMES.toReversed()), factories: [factory] }));
  });
});

describe("a reload", () => {
  const loads: readonly (readonly [string, () => Omit<OpenOptions, "next">])[] = [
    ["one copy", () => ({ paths: [PACKAGE_DIR] })],
    ["a factory", () => ({ factories: [factory] })],
    ["several copies", () => ({ paths: pathsOf(NAMES), factories: [factory] })],
  ];
  it.each(loads)("of a session with %s leaves exactly one", async (_name, load) => {
    const { session, seen } = await opened(load());
    await session.session.reload();
    await session.session.reload();
    seen.length = 0;
    await expectOneCopy({ session, seen });
    await session.session.reload();
    await session.prompt("Go on.");
    expect(toolsOf(session, 3)).toEqual(toolsOf(session));
  });
});
