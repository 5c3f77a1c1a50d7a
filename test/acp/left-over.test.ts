// What a killed command leaves, and what is said when no extension has anything to do with it.
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { ACP_SOCKET_VARIABLE } from "../../src/acp/wire.ts";
import { startCommand, until } from "./editor.ts";

const bridge = (source: string) => ["--", process.execPath, "-e", source];

/** Makes every folder here look as old as one that a killed command has left. */
function age(folder: string): void {
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0);
}

describe("a socket folder", () => {
  it("of a killed command goes with the next start of any; those of running ones, and others' folders, stay", async () => {
    const TMPDIR = scratchFolder();
    mkdirSync(join(TMPDIR, "somebody-else"));
    const others = ["pi-token-budget-acp-of-mine", "pi-token-budget-acp-abc123", "pi-token-budget-acp-empty"];
    for (const name of others) mkdirSync(join(TMPDIR, name));
    for (const name of others.slice(0, 2)) writeFileSync(join(TMPDIR, name, "draft.md"), "mine");
    const before = readdirSync(TMPDIR);
    const isNew = (name: string) => !before.includes(name);
    const waits = bridge("process.stdin.resume(); process.stdin.on('end', () => process.exit(0));");
    const killed = startCommand(waits, { env: { TMPDIR } });
    await until("the first folder", () => readdirSync(TMPDIR).some(isNew));
    const [left = ""] = readdirSync(TMPDIR).filter(isNew);
    killed.child.kill("SIGKILL");
    await killed.exit;
    expect(readdirSync(TMPDIR)).toContain(left);

    const running = startCommand(waits, { env: { TMPDIR } });
    await until("the second folder", () => readdirSync(TMPDIR).filter(isNew).length === 2);
    const kept = readdirSync(TMPDIR).filter((name) => name !== left);
    age(TMPDIR);
    const next = startCommand(bridge("process.exit(0)"), { env: { TMPDIR } });
    await next.exit;
    expect(readdirSync(TMPDIR).sort()).toEqual([...kept].sort());
    running.child.stdin?.end();
    expect(await running.exit).toMatchObject({ code: 0 });
    expect(readdirSync(TMPDIR).sort()).toEqual([...before].sort());
    for (const name of others.slice(0, 2)) expect(readdirSync(join(TMPDIR, name))).toEqual(["draft.md"]);
  });
});

/** Answers each request; with `connects`, an extension says that there is no list. */
function answering(connects: boolean): string {
  const push = 'JSON.stringify({ sessionId: "s", entries: [] }) + "\\n"';
  const extension = `require("node:net").connect(process.env.${ACP_SOCKET_VARIABLE}).end(${push});`;
  return `${connects ? extension : ""}
const answers = (id) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: { stopReason: "end_turn" } }) + "\\n");
setTimeout(() => {
  require("node:readline").createInterface(process.stdin).on("line", (line) => answers(JSON.parse(line).id));
}, 150);`;
}

describe("when the first turn ends", () => {
  const prompt = (id: number) =>
    `${JSON.stringify({ jsonrpc: "2.0", id, method: "session/prompt", params: { sessionId: "s", prompt: [] } })}\n`;

  it.each([
    [false, 1],
    [true, 0],
  ])("and an extension has connected: %s, standard error names what is missing %d times", async (connects, times) => {
    const { child, stderr, exit } = startCommand(bridge(answering(connects)));
    let output = "";
    child.stdout?.on("data", (chunk) => {
      output += chunk;
    });
    child.stdin?.write(prompt(1));
    await until("the first answer", () => output.includes('"id":1'));
    child.stdin?.end(prompt(2));
    await exit;
    expect(output).toContain('"id":2');
    expect(stderr().match(/pi install npm:pi-token-budget/g) ?? []).toHaveLength(times);
  });
});
