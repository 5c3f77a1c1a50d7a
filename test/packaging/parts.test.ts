// The parts that the packed form is in (.ci/parts.mjs), as files: what is in which, how they lead into each other, what an
// import of the API reads, and what it throws where a part is gone.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Metafile } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { PartsBuild } from "../../.ci/parts.mjs";
import { run } from "../../fixtures/pi/cli.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { installedDirectory } from "../../fixtures/pi/installed.ts";

const place = mkdtempSync(join(tmpdir(), "pi-token-budget-parts-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const DIST = join(installedDirectory(), "dist");
const PARTS = ["acp", "core", "dispatch", "people", "reader", "session"];

const partOf = (file: string) => file.replace(/(-[0-9a-f]{10})?\.cjs$/, "");
const files = readdirSync(DIST).filter((file) => file.endsWith(".cjs"));

const PART_OPTIONS = {
  ...{
    bundle: true,
    platform: "node",
    target: "node20.6",
    metafile: true,
    absWorkingDir: PACKAGE_DIR,
    charset: "utf8",
  },
  external: ["@mariozechner/*", "@earendil-works/*"],
};
const ENTRY = 'export { default } from "./src/index.ts";\nexport * from "./api.ts";\n';

/** The sources that each part holds, by what the builder says. */
async function sourcesByPart(): Promise<Map<string, readonly string[]>> {
  const parts = new PartsBuild({ build, root: PACKAGE_DIR, common: PART_OPTIONS });
  const metafiles = (await parts.write(place, ENTRY)) as Metafile[];
  return new Map(
    metafiles.flatMap(({ outputs }) =>
      Object.entries(outputs).map(([file, { inputs }]) => {
        const held = Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
        return [file.replace(/(-[^-]*)?\.cjs$/, ""), held.map(([name]) => name).filter((name) => !name.includes(":"))];
      }),
    ),
  );
}

const sources = await sourcesByPart();
const sourcesOf = (part: string) => sources.get(part) ?? [];

describe("the parts", () => {
  it("are files of one build, which their names say", () => {
    expect(files.map(partOf).sort()).toEqual(PARTS);
    const builds = files.filter((file) => file !== "core.cjs").map((file) => /-([0-9a-f]{10})\.cjs$/.exec(file)?.[1]);
    expect(new Set(builds).size).toBe(1);
    expect(builds[0]).toBeDefined();
  });

  it("hold dispatch, documents, the doctor, the reader and ACP apart from what every session reads", () => {
    for (const part of ["core", "session"])
      expect(
        sourcesOf(part).filter((source) => /^src\/(dispatch|extract|doctor|reader|acp\/publisher)/.test(source)),
      ).toEqual([]);
    // The core writes nothing, so it needs no library that does.
    expect(sourcesOf("core").filter((source) => /^node_modules\/(?!@sinclair)/.test(source))).toEqual([]);
    expect(sourcesOf("dispatch")).toContain("src/extract/extract.ts");
    expect(sourcesOf("people")).toContain("src/doctor/checks.ts");
  });

  it("hold each source once", () => {
    const all = PARTS.flatMap((part) => [...new Set(sourcesOf(part))]);
    expect(all.filter((source, at) => all.indexOf(source) !== at)).toEqual([]);
    expect(all).toContain("src/session/session.ts");
  });

  it("export as functions all that begins like one, which is how they are called before they are read", () => {
    const core = createRequire(import.meta.url)(join(DIST, "core.cjs")) as {
      modules: Record<string, Record<string, unknown>>;
      part(name: string): Record<string, Record<string, unknown>>;
    };
    const others = PARTS.filter((part) => part !== "core").map((part) => core.part(part));
    const exported = [core.modules, ...others].flatMap((modules) =>
      Object.entries(modules).flatMap(([source, module]) =>
        Object.entries(module).map(([name, value]) => ({ source, name, is: typeof value })),
      ),
    );
    expect(exported.length).toBeGreaterThan(100);
    expect(exported.filter(({ name, is }) => /^[a-z]/.test(name) && is !== "function")).toEqual([]);
  });
});

const TASK = `{ version: 1, runId: "r", rootSessionId: "r", storageRoot: ${JSON.stringify(place)} }`;
const READ = 'Object.keys(require.cache).map((f) => require("node:path").basename(f)).join()';

async function printed(program: string, folder = installedDirectory()): Promise<string> {
  const start = `const { createRequire } = await import("node:module"); const require = createRequire(import.meta.url);
const api = await import(${JSON.stringify(join(folder, "dist/api.js"))});\n`;
  const args = ["--input-type=module", "-e", `${start}${program}`];
  const { code, stdout, stderr } = await run(process.execPath, args, { cwd: place });
  expect(code, stderr).toBe(0);
  return stdout.trimEnd();
}

describe("an import of the API", () => {
  it("reads the core alone, whatever is taken from it", async () => {
    expect(await printed(`const taken = Object.values(api); console.log(taken.length > 10, ${READ});`)).toBe(
      "true core.cjs",
    );
  });

  it("reads a part when something in it is called", async () => {
    const read = await printed(`try { api.openTask(${TASK}); } catch {} console.log(${READ});`);
    expect(read.split(",").map(partOf)).toEqual(["core", "reader", "session"]);
  });

  it("throws and rejects with a typed error where the parts are gone", async () => {
    const folder = join(place, "updated");
    mkdirSync(folder);
    for (const name of ["package.json", "dist"])
      cpSync(join(installedDirectory(), name), join(folder, name), { recursive: true });
    const program = `
const { readdirSync, rmSync } = require("node:fs");
for (const file of readdirSync(${JSON.stringify(join(folder, "dist"))}))
  if (/-[0-9a-f]+\\.cjs$/.test(file)) rmSync(${JSON.stringify(join(folder, "dist/"))} + file);
try { api.openTask(${TASK}); } catch (error) { console.log(error instanceof api.TokenBudgetError, error.code, error.message); }
let isLater = false;
const rejected = api.setAgentCategory(${TASK}, "/root", null).catch((error) => console.log(isLater, error.code));
isLater = true;
await rejected;`;
    const [thrown = "", rejected] = (await printed(program, folder)).split("\n");
    expect(thrown).toMatch(
      /^true package_changed pi-token-budget was updated or removed while this program runs: .*Restart/,
    );
    expect(rejected).toBe("true package_changed");
  });
});
