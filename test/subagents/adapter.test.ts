// The adapter over the stand-in for pi-subagents: how it is found, what is registered, and what is said otherwise.
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../api.ts";
import { run } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { type AdapterInputs, EXTENSION_ID, SubagentsAdapter } from "../../src/subagents/adapter.ts";
import { lackingNotice, missingTools } from "../../src/subagents/diagnostics.ts";
import { resolveSubagentLaunchContract } from "../doubles/pi-subagents/src/api/preflight.ts";
import { registerRequiredChildExtensions } from "../doubles/pi-subagents/src/api/required-child-extensions.ts";

const DOUBLE = join(PACKAGE_DIR, "test/doubles/pi-subagents");
const SESSION_ID = "0192d1f0-7a3c-7000-8000-00000000abcd";

const adapters: SubagentsAdapter[] = [];
afterEach(() => {
  for (const adapter of adapters.splice(0)) adapter.close();
  Reflect.deleteProperty(globalThis, Symbol.for("pi-subagents.required-child-extensions.v1"));
});

function entryFile(): string {
  const path = join(scratchFolder(), "child-extension.ts");
  writeFileSync(path, "export default () => {};\n");
  return path;
}

const toolOf = (path: string) => ({ name: "subagent", sourceInfo: { path } });

/** Starts an adapter; what it answers, and how often it wrote the entry. */
async function start(inputs: Partial<AdapterInputs>) {
  const adapter = new SubagentsAdapter();
  adapters.push(adapter);
  const entry = entryFile();
  let written = 0;
  const result = await adapter.start({
    tools: [],
    modulePath: undefined,
    env: {},
    sessionId: SESSION_ID,
    writeEntry: async () => {
      written++;
      return entry;
    },
    ...inputs,
  });
  return { adapter, entry, result, written, diagnostic: result.type === "unavailable" ? result.diagnostic : "" };
}

const requiredIn = (parentSessionId: string) =>
  resolveSubagentLaunchContract({ agent: "scout", cwd: "/", parentSessionId }).contract.tools.requiredExtensionIds;

/** A package of this name with these files. */
function packageAt(manifest: Record<string, unknown>, files: Readonly<Record<string, string>> = {}): string {
  const root = join(scratchFolder(), "node_modules", "pi-subagents");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "package.json"), JSON.stringify({ name: "pi-subagents", type: "module", ...manifest }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  return root;
}

describe("finding pi-subagents", () => {
  const own = { name: "read", sourceInfo: { path: "<builtin:read>" } };
  const places: readonly (readonly [string, Partial<AdapterInputs>])[] = [
    ["the source path of its tool", { tools: [own, { name: "odd" }, toolOf(join(DOUBLE, "index.ts"))] }],
    ["a file deeper in the package", { tools: [toolOf(join(DOUBLE, "src/api/preflight.ts"))] }],
    ["the option: a package directory", { modulePath: DOUBLE }],
    ["the option: a module", { modulePath: join(DOUBLE, "src/api/required-child-extensions.ts") }],
    ["the option: a file URL", { modulePath: pathToFileURL(DOUBLE).href }],
    ["the environment", { env: { PI_TOKEN_BUDGET_SUBAGENTS_MODULE: DOUBLE } }],
    ["the option before the environment", { modulePath: DOUBLE, env: { PI_TOKEN_BUDGET_SUBAGENTS_MODULE: "/none" } }],
    [
      "the tools when the variable is empty",
      { tools: [toolOf(join(DOUBLE, "index.ts"))], env: { PI_TOKEN_BUDGET_SUBAGENTS_MODULE: "" } },
    ],
  ];
  it.each(places)("takes %s", async (_name, inputs) => {
    const { result, entry } = await start(inputs);
    expect(result).toEqual({ type: "registered", entry });
    expect(requiredIn(SESSION_ID)).toEqual([EXTENSION_ID]);
  });

  it("says and writes nothing in a session without it", async () => {
    const other = join(PACKAGE_DIR, "node_modules/typescript/lib/typescript.js");
    const { result, written } = await start({ tools: [own, { name: "odd" }, toolOf(other), toolOf("/x.ts")] });
    expect(result).toEqual({ type: "absent" });
    expect(written).toBe(0);
  });

  it("follows conditions of the export", async () => {
    const module = "export const registerRequiredChildExtensions = () => ({ dispose() {} });";
    const target = { types: "./none.d.ts", node: { require: "./none.cjs", import: "./src/required.mjs" } };
    const root = packageAt({ exports: { "./required-child-extensions": target } }, { "src/required.mjs": module });
    expect((await start({ modulePath: root })).result.type).toBe("registered");
  });
});

describe("the registration", () => {
  it("is under the runtime session id and goes with the session", async () => {
    const { adapter } = await start({ modulePath: DOUBLE });
    expect(requiredIn(SESSION_ID)).toEqual([EXTENSION_ID]);
    adapter.close();
    adapter.close();
    expect(requiredIn(SESSION_ID)).toEqual([]);
    expect((await start({ modulePath: DOUBLE })).result.type).toBe("registered");
  });

  it("is made for each session of a process", async () => {
    const one = await start({ modulePath: DOUBLE, sessionId: "one" });
    await start({ modulePath: DOUBLE, sessionId: "two" });
    one.adapter.close();
    expect([requiredIn("one"), requiredIn("two")]).toEqual([[], [EXTENSION_ID]]);
  });

  it("is not made when the session has ended meanwhile", async () => {
    const adapter = new SubagentsAdapter();
    const entry = entryFile();
    const writeEntry = async () => {
      adapter.close();
      return entry;
    };
    const inputs = { tools: [], modulePath: DOUBLE, env: {}, sessionId: SESSION_ID, writeEntry };
    expect(await adapter.start(inputs)).toEqual({ type: "closed" });
    expect(requiredIn(SESSION_ID)).toEqual([]);
  });

  it("of another owner is neither replaced nor disposed, and the owner is told what to add", async () => {
    const theirs = registerRequiredChildExtensions({
      sessionId: SESSION_ID,
      extensions: [{ id: "other", path: entryFile() }],
    });
    const { adapter, entry, diagnostic } = await start({ modulePath: DOUBLE });
    expect(diagnostic).toContain(JSON.stringify({ id: EXTENSION_ID, path: entry }));
    expect(diagnostic).toContain("createTokenBudgetExtension");
    adapter.close();
    expect(requiredIn(SESSION_ID)).toEqual(["other"]);
    theirs.dispose();
  });

  it("of another owner that lists our entry is as good as ours", async () => {
    const path = entryFile();
    registerRequiredChildExtensions({ sessionId: SESSION_ID, extensions: [{ id: EXTENSION_ID, path }] });
    const { adapter, result } = await start({ modulePath: DOUBLE });
    expect(result.type).toBe("registered");
    adapter.close();
    expect(requiredIn(SESSION_ID)).toEqual([EXTENSION_ID]);
  });
});

describe("one diagnostic, and the session goes on", () => {
  it("where the installed version has no such export: the setting that a person can write", async () => {
    const root = packageAt({ version: "0.67.0", exports: { ".": "./index.ts" } });
    const { diagnostic, entry } = await start({ tools: [toolOf(join(root, "index.ts"))] });
    const setting = JSON.parse(diagnostic.slice(diagnostic.indexOf("{"))) as unknown;
    expect(setting).toEqual({
      subagents: { agentOverrides: { "<agent>": { tools: "inherit", subagentOnlyExtensions: [entry] } } },
    });
    expect(diagnostic).toContain("pi-subagents 0.67.0");
    expect(diagnostic).toContain("0.68.0");
  });

  const at = (manifest: Record<string, unknown>, files: Readonly<Record<string, string>>) => ({
    modulePath: packageAt({ exports: { "./required-child-extensions": "./required.mjs" }, ...manifest }, files),
  });
  const wrong: readonly (readonly [string, () => Partial<AdapterInputs>, RegExp])[] = [
    [
      "nothing is at the place named",
      () => ({ modulePath: "/no/such/place" }),
      /subagents\.modulePath leads to \/no\/such/,
    ],
    [
      "the variable names another package",
      () => ({ env: { PI_TOKEN_BUDGET_SUBAGENTS_MODULE: PACKAGE_DIR } }),
      /PI_TOKEN_BUDGET_SUBAGENTS_MODULE .*the package there is pi-token-budget/,
    ],
    ["a folder inside it is named", () => ({ modulePath: join(DOUBLE, "src") }), /no module and no package/],
    ["the module is missing", () => at({}, {}), /could not be loaded/],
    ["the module throws", () => at({}, { "required.mjs": "throw new Error('wrong Pi');" }), /wrong Pi/],
    ["the module lacks the function", () => at({}, { "required.mjs": "export const x = 1;" }), /exports no function/],
    ["the registration is refused", () => ({ modulePath: DOUBLE, sessionId: "" }), /did not take .*sessionId must be/],
    [
      "the entry cannot be written",
      () => ({ modulePath: DOUBLE, writeEntry: () => Promise.reject(new Error("disk full")) }),
      /disk full/,
    ],
    [
      "the function answers nothing",
      () => at({}, { "required.mjs": "export const registerRequiredChildExtensions = () => { throw null; };" }),
      /did not take .*: null/,
    ],
  ];
  it.each(wrong)("when %s", async (_name, inputs, message) => {
    const { adapter, diagnostic } = await start(inputs());
    expect(diagnostic).toMatch(message);
    expect(diagnostic.split("\n")).toHaveLength(1);
    expect(() => adapter.close()).not.toThrow();
  });
});

describe("an installed pi-subagents, whose sources are TypeScript below node_modules", () => {
  it("is loaded by its own loader where plain Node refuses to", async () => {
    const root = join(scratchFolder(), "node_modules", "pi-subagents");
    mkdirSync(dirname(root));
    cpSync(DOUBLE, root, { recursive: true });
    symlinkSync(join(PACKAGE_DIR, "node_modules/jiti"), join(dirname(root), "jiti"));
    const discovery = join(scratchFolder(), "discovery.mjs");
    const { build } = await import("esbuild");
    await build({
      entryPoints: [join(PACKAGE_DIR, "src/subagents/discovery.ts")],
      outfile: discovery,
      bundle: true,
      platform: "node",
      format: "esm",
    });
    const module = join(root, "src/api/required-child-extensions.ts");
    const script = `const { loadModule } = await import(${JSON.stringify(pathToFileURL(discovery).href)});
      const plain = await import(${JSON.stringify(pathToFileURL(module).href)}).catch((error) => error.code);
      console.log(plain, typeof (await loadModule(${JSON.stringify(module)})).registerRequiredChildExtensions);`;
    const ran = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: dirname(root) });
    expect(ran.stderr).toBe("");
    expect(ran.stdout).toMatch(/^ERR_\w+ function\n$/);
  });
});

describe("tools that a child lacks", () => {
  it("are named once, with what to add to its list", () => {
    const lacks = missingTools(["read", ...TOOL_NAMES.slice(2)]);
    expect(lacks).toEqual(TOOL_NAMES.slice(0, 2));
    const notice = lackingNotice({ agent: "/root/scout", subagent: undefined, lacks });
    expect(notice).toContain("scout has not all tools");
    expect(notice).toContain(TOOL_NAMES.slice(0, 2).join(", "));
    expect(notice).not.toContain(TOOL_NAMES[2]);
    const all = missingTools([]);
    expect(lackingNotice({ agent: "/root/scout", subagent: undefined, lacks: all })).toContain("none of the tools");
  });

  it("of an agent of pi-subagents come back by the setting that the message names, never by adding to its list", () => {
    const notice = lackingNotice({ agent: "/root/my_scout_1", subagent: 'my "scout"', lacks: missingTools([]) });
    const [setting = ""] = /\{.*\}/.exec(notice) ?? [];
    expect(JSON.parse(setting)).toEqual({ subagents: { agentOverrides: { 'my "scout"': { tools: "inherit" } } } });
    expect(notice).not.toContain("add to that list");
  });

  it("are no matter when there are none", () => {
    expect(missingTools([...TOOL_NAMES, "read"])).toEqual([]);
  });
});
