// The programs of docs/examples as people run them: with plain Node, in a folder of their own that holds nothing but the
// packed package and a Pi. Their TypeScript is compiled with the code in the documents (doc-snippets.test.ts).
import { cpSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { currentAgentDir, makeEnvironment, scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { startProvider } from "../../fixtures/pi/http-provider.ts";
import { packedProject } from "../../fixtures/pi/packed.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";
import { openPi } from "../../fixtures/pi/session.ts";
import { homeStorage } from "../../src/task/layout.ts";

const EXAMPLES = join(PACKAGE_DIR, "docs/examples");
const MINUTES = 60_000;
const host = hostNamed(currentHostName());

let project = "";

/** A project that has installed this package and a Pi, and copied the examples. */
function consumer(): string {
  const folder = scratchFolder();
  for (const name of ["package.json", "node_modules"]) symlinkSync(join(project, name), join(folder, name), "junction");
  cpSync(EXAMPLES, folder, { recursive: true });
  return folder;
}

async function succeeds(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, { cwd, limitMs: 3.5 * MINUTES });
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect(stderr).toBe("");
  return stdout;
}

beforeAll(() => {
  project = packedProject(host);
}, 5 * MINUTES);

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("the example of a parent and a child", () => {
  it("runs with plain Node: each reads the other's note", async () => {
    expect(await succeeds(host.node, ["parent-and-child.mjs"], consumer())).toBe(
      [
        "agent /root, running: true",
        "agent /root/helper, running: true",
        "the child read: Look for long functions.",
        "the parent read: Two functions are too long.",
        "",
      ].join("\n"),
    );
  });
});

describe("the example of a launcher", () => {
  it("has a parent, two children in worker processes, and a reader without a model", async () => {
    const provider = await startProvider();
    const environment = makeEnvironment();
    writeFileSync(join(environment.agentDir, "models.json"), JSON.stringify(provider.modelsJson(["obedient-200k"])));
    const defaults = { defaultProvider: "local", defaultModel: "obedient-200k" };
    writeFileSync(join(environment.agentDir, "settings.json"), JSON.stringify(defaults));
    const write = (path: string, text: string) => `call notes_write_file ${JSON.stringify({ path, text })}`;
    const parts = [write("plan.md", "Two halves."), write("found.md", "Half one."), write("found.md", "Half two.")];
    const ran = await run(host.node, ["launcher.mjs", ...parts], { cwd: consumer(), env: environment.variables });
    await provider.close();
    expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: "" });
    const agents = ran.stdout.split(/^(?=\/root)/m).map((text) => text.replace(/^(\S+): .*/, "$1"));
    expect(agents.sort()).toEqual([
      "/root\n  plan.md: Two halves.\n",
      "/root/helper_1\n  found.md: Half one.\n",
      "/root/helper_2\n  found.md: Half two.\n",
    ]);
    expect(ran.stdout).not.toMatch(/undefined/);
    environment.remove();
  });
});

describe("the example of a program without a model", () => {
  it("reads the task of a session that has ended, with plain Node", async () => {
    const [savePlan, answer] = [
      call("notes_write_file", { path: "plan.md", text: "Read the parser.\n" }),
      "All planned.",
    ];
    const session = await openPi({ next: (_request, n) => (n === 0 ? [savePlan] : answer) });
    await session.prompt("Make a plan.");
    const { sessionId, sessionFile } = session.session;
    const storageRoot = homeStorage({ sessionId, sessionFile }, currentAgentDir());
    await session.dispose();
    const folder = consumer();
    const context = { version: 1, runId: sessionId, rootSessionId: sessionId, storageRoot };
    writeFileSync(join(folder, "task.json"), JSON.stringify(context));
    expect(await succeeds(host.node, ["read-a-task.mjs", "task.json"], folder)).toBe(
      ["/root", "  last: assistant: All planned.", "  note plan.md: Read the parser.", ""].join("\n"),
    );
    const found = await succeeds(host.node, ["read-a-task.mjs", "task.json", "a plan"], folder);
    expect(found).toMatch(/^\/root\n {2}w1 \S+: Make a plan\.\n$/);
    writeFileSync(join(folder, "gone.json"), JSON.stringify({ ...context, storageRoot: join(folder, "gone") }));
    const gone = await run(host.node, ["read-a-task.mjs", "gone.json"], { cwd: folder });
    expect([gone.code, gone.stdout]).toEqual([1, ""]);
    expect(gone.stderr).toMatch(/^There is no root task .*; nothing was made there\./);
  });
});
