// The children's entry: what is written, and that loading it never throws, whatever has become of the package.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { ownPackage } from "../../src/packages/own.ts";
import { CHILD_ENTRY_FILE, childEntryText, writeChildEntry } from "../../src/subagents/child-entry.ts";

const TASK = {
  version: 1,
  runId: "0192-run",
  title: `quote " ' \` ${"$"}{process.exit()} \u2028 \\ </script> // 一 🙂`,
  nested: { list: [1, null, true] },
};

/** A package whose API module is this text. */
function packageWith(text: string): { root: string; api: string } {
  const root = join(scratchFolder(), "odd 'name' ü");
  mkdirSync(root);
  const api = join(root, "api.mjs");
  writeFileSync(api, text);
  return { root, api };
}

/** Loads an entry as a host does and starts a session with it, in a process of its own; answers what was shown. */
async function loaded(entry: string): Promise<unknown> {
  const script = `
    const { default: factory } = await import(${JSON.stringify(pathToFileURL(entry).href)});
    const handlers = [], notices = [];
    const pi = { on: (name, handler) => handlers.push([name, handler]) };
    await factory(pi);
    const ctx = { hasUI: true, ui: { notify: (text, type) => notices.push([type, text]) } };
    for (const [, handler] of handlers) await handler({ type: "session_start" }, ctx);
    console.log(JSON.stringify({ hooks: handlers.map(([name]) => name), notices, options: globalThis.got ?? null }));`;
  const ran = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: scratchFolder() });
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  return JSON.parse(ran.stdout);
}

/** The text, as a file that plain Node of any version takes. */
function asModule(text: string): string {
  const path = join(scratchFolder(), "child-extension.mjs");
  writeFileSync(path, text);
  return path;
}

const WORKING = "export const createTokenBudgetExtension = (options) => () => { globalThis.got = options; };";

describe("a loaded child entry", () => {
  it("makes the extension of this package with exactly the task that was written", async () => {
    const entry = asModule(childEntryText(packageWith(WORKING), TASK));
    expect(await loaded(entry)).toEqual({ hooks: [], notices: [], options: { task: TASK } });
  });

  it("carries keys that an object literal would take for something else", async () => {
    const task = JSON.parse('{"__proto__":{"a":1},"runId":"r"}') as Record<string, unknown>;
    const working =
      "export const createTokenBudgetExtension = ({ task }) => () => { globalThis.got = Object.keys(task); };";
    const entry = asModule(childEntryText(packageWith(working), task));
    expect(await loaded(entry)).toMatchObject({ options: ["__proto__", "runId"] });
  });

  const broken: readonly (readonly [string, string, RegExp])[] = [
    ["cannot be parsed", "export const = ;", /notes: /],
    ["throws when loaded", "throw new Error('broken build');", /broken build/],
    ["has no such function", "export const other = 1;", /createTokenBudgetExtension/],
    [
      "throws when called",
      "export const createTokenBudgetExtension = () => { throw new Error('bad task'); };",
      /bad task/,
    ],
    ["fails later", "export const createTokenBudgetExtension = () => async () => { throw 'no'; };", /notes: no$/],
  ];
  it.each(broken)("reports once and stands down when the package %s", async (_name, text, message) => {
    const entry = asModule(childEntryText(packageWith(text), TASK));
    expect(await loaded(entry)).toEqual({
      hooks: ["session_start"],
      notices: [["warning", expect.stringMatching(message)]],
      options: null,
    });
  });

  it("hands over what only Pi's own loader can import, where that is there", async () => {
    const own =
      "export const createTokenBudgetExtension = (options) => () => { globalThis.got = Object.keys(options); };";
    const entry = asModule(childEntryText(packageWith(own), TASK));
    expect(await loaded(entry)).toMatchObject({ options: ["task"] });
    const host = join(dirname(entry), "node_modules/@mariozechner/pi-ai");
    mkdirSync(host, { recursive: true });
    writeFileSync(join(host, "package.json"), JSON.stringify({ type: "module", exports: "./index.js" }));
    writeFileSync(join(host, "index.js"), "export const isContextOverflow = () => true;");
    expect(await loaded(entry)).toMatchObject({ options: ["task", "isContextOverflow"] });
  });

  it("says where the package was when it has moved, and what to do", async () => {
    const gone = join(scratchFolder(), "gone");
    const entry = asModule(childEntryText({ root: gone, api: join(gone, "dist", "api.js") }, TASK));
    const { notices } = (await loaded(entry)) as { notices: [string, string][] };
    expect(notices).toHaveLength(1);
    expect(notices[0]?.[1]).toContain(`no longer in ${gone}`);
    expect(notices[0]?.[1]).toContain("Start the root session again");
  });
});

describe("writing the child entry", () => {
  const own = { root: PACKAGE_DIR, api: join(PACKAGE_DIR, "api.ts") };

  it("finds this package's own place and version", () => {
    const { version } = JSON.parse(readFileSync(join(PACKAGE_DIR, "package.json"), "utf8")) as { version: string };
    expect(ownPackage()).toEqual({ ...own, version });
  });

  it("makes a private file in a private directory, and leaves nothing else", async () => {
    const directory = join(scratchFolder(), "tasks", "run-1");
    const path = await writeChildEntry({ directory }, own, TASK);
    expect(path).toBe(join(directory, CHILD_ENTRY_FILE));
    expect(readFileSync(path, "utf8")).toBe(childEntryText(own, TASK));
    if (process.platform !== "win32") {
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(directory).mode & 0o777).toBe(0o700);
    }
    expect(readdirSync(join(directory, "tmp"))).toEqual([]);
  });

  it("leaves a file alone that says the same, and replaces one that does not", async () => {
    const directory = scratchFolder();
    const path = await writeChildEntry({ directory }, own, TASK);
    const { ino } = statSync(path);
    await writeChildEntry({ directory }, own, TASK);
    expect(statSync(path).ino).toBe(ino);
    await writeChildEntry({ directory }, { root: "/elsewhere", api: "/elsewhere/api.ts" }, TASK);
    expect(readFileSync(path, "utf8")).toContain("/elsewhere");
    writeFileSync(path, "half a fi");
    await writeChildEntry({ directory }, own, TASK);
    expect(readFileSync(path, "utf8")).toBe(childEntryText(own, TASK));
  });

  it("refuses a file of a newer format and leaves it as it is", async () => {
    const directory = scratchFolder();
    const newer = "// pi-token-budget child entry, format 2. Whatever.\n";
    writeFileSync(join(directory, CHILD_ENTRY_FILE), newer);
    await expect(writeChildEntry({ directory }, own, TASK)).rejects.toMatchObject({
      code: "newer_format",
      message: expect.stringContaining("Update pi-token-budget"),
    });
    expect(readFileSync(join(directory, CHILD_ENTRY_FILE), "utf8")).toBe(newer);
  });

  it("does not follow a link in its place", async () => {
    const directory = scratchFolder();
    const target = join(scratchFolder(), "target");
    symlinkSync(target, join(directory, CHILD_ENTRY_FILE));
    await expect(writeChildEntry({ directory }, own, TASK)).rejects.toMatchObject({ code: "refused" });
    expect(existsSync(target)).toBe(false);
  });

  it("names the file when the directory cannot be made", async () => {
    const inTheWay = join(scratchFolder(), "file");
    writeFileSync(inTheWay, "");
    chmodSync(inTheWay, 0o600);
    await expect(writeChildEntry({ directory: join(inTheWay, "run") }, own, TASK)).rejects.toMatchObject({
      code: "storage_failed",
      message: expect.stringContaining(CHILD_ENTRY_FILE),
    });
  });
});
