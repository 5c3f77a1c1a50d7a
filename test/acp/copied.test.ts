// What docs/acp.md tells people to paste works when it is pasted: its commands are run as they stand, and each entry for an
// editor's settings starts an agent that shows the plan. Only names change: the package is the one that was packed here.
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { packInto } from "../../fixtures/pi/packed.ts";
import { type AgentServer, type Editor, openEditor, piScript, processesAtHome, until } from "./editor.ts";

const MINUTES = 60_000;
const PAGE = readFileSync(join(PACKAGE_DIR, "docs/acp.md"), "utf8");
const place = mkdtempSync(join(tmpdir(), "pi-token-budget-copied-"));
/** Where `npm install -g` puts commands, beside Node's own. */
const bin = join(place, "global/bin");
const SYSTEM = "/usr/bin:/bin";
const PATH = `${bin}:${SYSTEM}`;
let tarball = "";

function blocks(language: string): readonly string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);
}

/** The package by the name that it has for npm, where a test has it as a file. */
function fromTarball(text: string): string {
  return text.replace(/\bpi-token-budget(?=[" ]|$)(?!-)/gm, tarball);
}

interface Settings {
  readonly agent_servers: { readonly pi: AgentServer };
}

function pasted(index: number, change = (text: string) => text): AgentServer {
  return (JSON.parse(change(blocks("json")[index] ?? "{}")) as Settings).agent_servers.pi;
}

const TODOS = [{ content: "read the code", status: "in_progress" }];
const model = {
  source: `(request, n) => n === 0
    ? [{ type: "toolCall", id: "call_1", name: "todo_write", arguments: ${JSON.stringify({ todos: TODOS })} }]
    : "done"`,
};

const opened: Editor[] = [];

/** An editor with these settings, whose own environment has this PATH, is shown the plan. */
async function showsPlan(agent: AgentServer, path: string): Promise<void> {
  const environment = makeEnvironment();
  // The person's Pi, which has this package already.
  copyFileSync(piScript(environment, { model }), join(bin, "pi"));
  chmodSync(join(bin, "pi"), 0o755);
  const editor = await openEditor({ environment, model, agent: { ...agent, env: { PATH: path, ...agent.env } } });
  opened.push(editor);
  const id = await editor.newSession();
  expect(await editor.prompt(id, "Begin.")).toBe("end_turn");
  expect(await editor.planned(id, 1)).toEqual([TODOS.map((todo) => ({ ...todo, priority: "medium" }))]);
  await editor.quit();
  expect(editor.running.stderr()).toBe("");
  await until("the end of Pi", () => processesAtHome(environment.home).length === 0);
  environment.remove();
}

beforeAll(async () => {
  ({ tarball } = await packInto(place));
  mkdirSync(bin, { recursive: true });
  for (const name of ["node", "npm", "npx"]) symlinkSync(join(dirname(process.execPath), name), join(bin, name));
  const [install = ""] = blocks("sh");
  const command = fromTarball(install.trim()).replace("npm install", `npm install --prefix '${dirname(bin)}'`);
  const { code, stderr } = await run("sh", ["-c", command], { cwd: place, env: { PATH }, limitMs: 4 * MINUTES });
  expect(code, `${command}\n${stderr}`).toBe(0);
}, 8 * MINUTES);

afterEach(async () => {
  await Promise.all(opened.splice(0).map((editor) => editor.quit()));
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("an editor with the settings of docs/acp.md", { timeout: 4 * MINUTES }, () => {
  it("that was started from a shell finds the command by its name", () => showsPlan(pasted(0), PATH));

  it("that was not started from a shell finds everything by absolute paths", async () => {
    expect(PAGE).toContain("/usr/local/bin/pi-token-budget-acp");
    const agent = pasted(1, (text) => text.replaceAll("/usr/local/bin", bin));
    await showsPlan(agent, join(place, "nowhere"));
  });

  it("runs both by npx", () => showsPlan(pasted(2, fromTarball), PATH));

  it("runs the bridge by npx behind --", async () => {
    expect(PAGE).toContain("`pi-token-budget-acp -- npx -y pi-acp`");
    await showsPlan({ command: "pi-token-budget-acp", args: ["--", "npx", "-y", "pi-acp"], env: {} }, PATH);
  });
});
