// The published form as other module systems see it: required from CommonJS, compiled by strict TypeScript, taken into a
// bundle, and installed with links. Packed once and installed as its users do.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../api.ts";
import { run, runPi } from "../../fixtures/pi/cli.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { packInto } from "../../fixtures/pi/packed.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";

const MINUTES = 60_000;
const place = mkdtempSync(join(tmpdir(), "pi-token-budget-modules-"));
const consumer = join(place, "consumer");
const installed = join(consumer, "node_modules", "pi-token-budget");
const host = hostNamed(currentHostName());

async function succeeds(command: string, args: readonly string[], cwd = consumer): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, { cwd, limitMs: 5 * MINUTES });
  expect(code, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

beforeAll(async () => {
  const { tarball } = await packInto(place);
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ name: "consumer", private: true }));
  const options = [
    "--install-strategy=linked",
    "--prefer-offline",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--omit=optional",
  ];
  await succeeds("npm", ["install", ...options, tarball]);
  symlinkSync(host.root, join(consumer, "node_modules", host.scope), "junction");
}, 6 * MINUTES);

afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("an installation with links", () => {
  it("gives its tools to a Pi that loads it from there", async () => {
    expect(readdirSync(join(consumer, "node_modules"))).toContain(".store");
    const model = [[call("notes_write_file", { path: "plan.md", text: "½" })], "all done"];
    const ran = await runPi({ extensions: [installed], model, prompt: "Begin." });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "all done\n" });
    expect(ran.requests[1]?.messages.at(-1)).toMatchObject({ toolName: "notes_write_file", isError: false });
    ran.environment.remove();
  });
});

describe("CommonJS", () => {
  it.each([
    ["the current Node", process.execPath],
    ["the newer Node", hostNamed("1.6.0").node],
  ])("requires the very same classes and functions that a module imports, in %s", async (_name, node) => {
    const program = `const required = require("pi-token-budget/api");
const main = require("pi-token-budget");
import("pi-token-budget/api").then((imported) => {
  const names = Object.keys(imported);
  const isSame = names.every((name) => imported[name] === required[name] && imported[name] === main[name]);
  let caught;
  try { required.createTokenBudgetExtension({ task: 5 }); } catch (error) { caught = error; }
  console.log(names.length === Object.keys(required).length, isSame, caught instanceof imported.TokenBudgetError);
  console.log(required.TOOL_NAMES.length, typeof require("pi-token-budget/plan").todosToPlan);
});
`;
    writeFileSync(join(consumer, "program.cjs"), program);
    expect(await succeeds(node, ["program.cjs"])).toBe(`true true true\n${TOOL_NAMES.length} function\n`);
  });
});

const SOURCE = `import { createTokenBudgetExtension, TokenBudgetError, type ToolName } from "pi-token-budget/api";
import { type PlanEntry, todosToPlan } from "pi-token-budget/plan";
const name: ToolName = "history_read_item";
// @ts-expect-error a tool that does not exist
const wrong: ToolName = "history_forget_item";
const entries: PlanEntry[] = todosToPlan([{ content: "one", status: "pending" }]);
export const used = [createTokenBudgetExtension, TokenBudgetError, name, wrong, entries];
`;

describe("strict TypeScript", () => {
  const systems = [
    ["nodenext", "nodenext", ["a.mts", "b.cts"]],
    ["node16", "node16", ["a.mts", "b.cts"]],
    ["esnext", "bundler", ["a.mts"]],
  ] as const;
  it.each(systems)(
    "compiles modules and CommonJS under module %s, resolution %s",
    async (module, resolution, files) => {
      for (const file of files) writeFileSync(join(consumer, file), SOURCE);
      const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
      const where = { module, moduleResolution: resolution, target: "es2022", lib: ["es2023", "dom"], types: [] };
      writeFileSync(
        join(consumer, "tsconfig.json"),
        JSON.stringify({ compilerOptions: { ...strict, ...where }, files }),
      );
      await succeeds(process.execPath, [join(PACKAGE_DIR, "node_modules/typescript/bin/tsc"), "-p", consumer]);
    },
  );
});

/** The example of docs/examples, whose parent may name the package's folder and asks for the children's entry. */
function bundledExample(options: string): string {
  const text = readFileSync(join(PACKAGE_DIR, "docs/examples/parent-and-child.mjs"), "utf8")
    .replace("createTokenBudgetExtension(),", `createTokenBudgetExtension(${options}),`)
    .replace(
      "await endSession(child);",
      "console.log(await task.childExtension().catch((error) => [error.code, error.message].join(': ')));\nawait endSession(child);",
    );
  const end = text.lastIndexOf('from "pi-token-budget/api";\n') + 'from "pi-token-budget/api";\n'.length;
  // CommonJS has no await at the top.
  return `${text.slice(0, end)}async function main() {\n${text.slice(end)}}\nmain();\n`;
}

async function bundled(source: string, format: "esm" | "cjs"): Promise<string> {
  const entry = join(consumer, `entry-${format}.mjs`);
  const outfile = join(consumer, `out-${format}.${format === "esm" ? "mjs" : "cjs"}`);
  writeFileSync(entry, source);
  const external = ["@mariozechner/*", "@earendil-works/*"];
  const common = { bundle: true, platform: "node", external, absWorkingDir: consumer, logLevel: "silent" } as const;
  const { warnings } = await build({ ...common, entryPoints: [entry], outfile, format });
  expect(warnings).toEqual([]);
  return outfile;
}

describe("a bundle of esbuild", () => {
  it.each(["esm", "cjs"] as const)(
    "as %s runs parent and child, and names the option that starting a child needs",
    async (format) => {
      const outfile = await bundled(bundledExample(""), format);
      // Nothing of this package is beside it any more.
      const alone = mkdtempSync(join(place, "alone-"));
      mkdirSync(join(alone, "node_modules"));
      symlinkSync(host.root, join(alone, "node_modules", host.scope), "junction");
      const program = join(alone, `program.${format === "esm" ? "mjs" : "cjs"}`);
      writeFileSync(program, readFileSync(outfile));
      const printed = await succeeds(host.node, [program], alone);
      expect(printed).toContain(
        "the child read: Look for long functions.\nthe parent read: Two functions are too long.\n",
      );
      expect(printed).toMatch(/missing_field: packageDirectory is missing: .*Give the absolute path of the folder/);

      const directory = JSON.stringify({ packageDirectory: installed });
      const named = await succeeds(host.node, [await bundled(bundledExample(directory), format)]);
      expect(named).toMatch(/^\/.*child-extension\.ts$/m);
      const nowhere = await run(
        host.node,
        [await bundled(bundledExample('{ packageDirectory: "/nowhere" }'), format)],
        { cwd: consumer },
      );
      expect(nowhere.stderr).toContain('packageDirectory is \\"/nowhere\\"'.replaceAll("\\", ""));
    },
  );

  it("holds todosToPlan alone, with its check, in a few kilobytes", async () => {
    const source =
      'import { todosToPlan } from "pi-token-budget/plan";\nconsole.log(JSON.stringify(todosToPlan([{ content: "one", status: "pending" }])));\n';
    const outfile = await bundled(source, "esm");
    expect(statSync(outfile).size).toBeLessThan(8_000);
    expect(await succeeds(host.node, [outfile])).toBe('[{"content":"one","status":"pending","priority":"medium"}]\n');
  });
});
