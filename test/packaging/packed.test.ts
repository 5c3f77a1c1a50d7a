// The package as people get it: packed, installed into an empty project, loaded by every host, imported by plain Node.
// Nothing but the package itself is left in that project, so whatever it needed at run time would be missed.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../api.ts";
import { run, runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { HOST_NAMES, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { packInto } from "../../fixtures/pi/packed.ts";
import { call, textOf } from "../../fixtures/pi/scripted-model.ts";

const MINUTES = 60_000;
const place = mkdtempSync(join(tmpdir(), "pi-token-budget-packed-"));
const consumer = join(place, "consumer");
const installed = join(consumer, "node_modules", "pi-token-budget");
let packedFiles: readonly string[] = [];

async function succeeds(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, { cwd, limitMs: 5 * MINUTES });
  expect(code, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  const { tarball, files } = await packInto(place);
  packedFiles = files;
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  await succeeds("npm", ["install", "--prefer-offline", "--no-save", "--no-audit", "--no-fund", tarball], consumer);
  for (const name of readdirSync(join(consumer, "node_modules"))) {
    if (name !== "pi-token-budget" && name !== ".bin")
      rmSync(join(consumer, "node_modules", name), { recursive: true });
  }
}, 6 * MINUTES);

afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("the packed package", () => {
  it("holds the bundle, the types and the papers, and no sources", () => {
    for (const file of [
      "package.json",
      "extension.js",
      "dist/core.cjs",
      "dist/api.js",
      "dist/acp.js",
      "dist/types/api.d.ts",
    ])
      expect(packedFiles).toContain(file);
    for (const file of ["docs/launcher-api.md", "docs/examples/parent-and-child.mjs"])
      expect(packedFiles).toContain(file);
    expect(packedFiles.filter((file) => /^(src|test|fixtures|bench|\.ci|\.hosts)\//.test(file))).toEqual([]);
    expect(existsSync(join(installed, "src"))).toBe(false);
  });

  it("requires nothing at run time but Node's own modules", () => {
    const parts = readdirSync(join(installed, "dist")).filter((file) => file.endsWith(".cjs"));
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) {
      const source = readFileSync(join(installed, "dist", part), "utf8");
      const required = [...source.matchAll(/\brequire\(["`]([^"`]+)["`]\)/g)].map((match) => match[1] ?? "");
      expect(required.length).toBeGreaterThan(0);
      expect(
        required.filter((name) => !isBuiltin(name) && !/^\.\/(core|\$\{name\}-[0-9a-f]{10})\.cjs$/.test(name)),
      ).toEqual([]);
    }
  });

  it("names no host package in its types", () => {
    const types = join(installed, "dist/types");
    const files = readdirSync(types, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".d.ts"));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      expect(readFileSync(join(types, file), "utf8")).not.toMatch(/@mariozechner|@earendil-works/);
  });

  it.each(HOST_NAMES)("works with `pi -e` on Pi %s: all tools are there, a note and a new window too", async (host) => {
    const ran = await runPi({
      host,
      extensions: [installed],
      model: [
        [call("notes_write_file", { path: "checkpoint.md", text: "half done ½" })],
        [call("new_context")],
        [call("notes_read_file", { path: "checkpoint.md" })],
        "all done",
      ],
      prompt: "Begin.",
    });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "all done\n" });
    expect(ran.requests[0]?.tools.map((tool) => tool.name)).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    expect(ran.requests).toHaveLength(4);
    expect(ran.requests[2]?.messages.map((message) => message.role)).toEqual(["user"]);
    expect(textOf(ran.requests[3]?.messages.at(-1))).toContain("half done ½");
    ran.environment.remove();
  });

  it.each(HOST_NAMES)("works after `pi install <folder>` on Pi %s", async (host) => {
    const environment = makeEnvironment();
    const { node, cli } = hostNamed(host);
    const env = environment.variables;
    const install = await run(node, [cli, "install", installed], { cwd: consumer, env });
    expect(install.code, install.stderr).toBe(0);
    const ran = await runPi({ host, environment, extensions: [], model: ["hello"], prompt: "Begin." });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(ran.requests[0]?.tools.map((tool) => tool.name)).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    environment.remove();
  });
});

const runtimes = [
  ["the current Node", () => process.execPath],
  ["the newer Node", () => hostNamed("1.6.0").node],
] as const;

describe("the packed command", () => {
  it("is installed under its name and passes a bridge's end on", async () => {
    const command = join(consumer, "node_modules", ".bin", "pi-token-budget-acp");
    const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as { version: string };
    expect(await succeeds(command, ["--version"], consumer)).toBe(`${version}\n`);
    const ran = await run(command, ["--", "sh", "-c", "echo $PI_TOKEN_BUDGET_ACP_SOCKET; exit 5"], { cwd: consumer });
    expect(ran).toMatchObject({ code: 5, stderr: "", stdout: expect.stringMatching(/plan\.sock\n$/) });
  });

  it.each(runtimes)("runs in %s", async (_name, node) => {
    expect(await succeeds(node(), [join(installed, "dist/acp.js"), "--help"], consumer)).toContain("Usage:");
  });
});

describe("the packed launcher API", () => {
  it.each(runtimes)("is imported by plain JavaScript in %s", async (_name, node) => {
    const script =
      'const api = await import("pi-token-budget/api"); console.log(typeof api.createTokenBudgetExtension, api.TOOL_NAMES.length);';
    const printed = await succeeds(node(), ["--input-type=module", "-e", script], consumer);
    expect(printed).toBe(`function ${TOOL_NAMES.length}\n`);
  });

  it("typechecks in a strict project that has no types of Node or of a host", async () => {
    const source = `import { createTokenBudgetExtension, type ToolName } from "pi-token-budget/api";
import type { TokenBudgetExtension } from "pi-token-budget";
const name: ToolName = "history_read_item";
const extension: TokenBudgetExtension = createTokenBudgetExtension();
// @ts-expect-error a tool that does not exist
const wrong: ToolName = "history_forget_item";
console.log(name, wrong, extension);
`;
    writeFileSync(join(consumer, "consumer.ts"), source);
    const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
    const compilerOptions = { ...strict, module: "nodenext", target: "es2022", lib: ["es2023", "dom"], types: [] };
    writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    const tsc = join(PACKAGE_DIR, "node_modules/typescript/bin/tsc");
    await succeeds(process.execPath, [tsc, "-p", consumer], consumer);
  });
});
