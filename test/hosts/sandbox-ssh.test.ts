// Tasks on another machine over ssh, as the setting `taskSandbox` has them: a real sshd of this machine alone stands for it. Where
// sshd is not installed there is none to try: these tests are skipped there.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as textOfStream } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { currentHostName, hostNamed } from "../../fixtures/pi/hosts.ts";
import { type SandboxBench, sandboxBench } from "../../fixtures/pi/sandboxed.ts";
import { freePort, noSshReason, sshServer } from "../../fixtures/pi/ssh-server.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { isRunning } from "../../src/storage/processes.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The other machine has folders of its own for its home, its agent directory and its temporary files. */
async function bench(words: readonly string[], next: string): Promise<SandboxBench & { readonly there: string }> {
  const host = hostNamed(currentHostName());
  const command: string[] = [];
  const opened = await sandboxBench(["ssh", ...words], next, { settings: { taskRunnerCommand: command } });
  closers.push(opened.close);
  const { directory } = opened.environment;
  const there = mkdtempSync(join(directory, "there-"));
  for (const name of ["home", "agent", "tmp"]) mkdirSync(join(there, name));
  const variables = { HOME: join(there, "home"), PI_CODING_AGENT_DIR: join(there, "agent"), PI_OFFLINE: "1" };
  const program = join(there, "pi");
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`);
  writeFileSync(program, `#!/bin/sh\n${lines.join("")}exec '${host.node}' '${host.cli}' "$@"\n`, { mode: 0o755 });
  command.push(program);
  return { ...opened, there };
}

describe.skipIf(noSshReason() !== undefined)("a task on another machine", () => {
  it("has its files copied there and back, and is an agent of the root task with its history and notes", async () => {
    const server = await sshServer();
    closers.push(server.close);
    const next = `(request) => {
  const results = request.messages.filter((message) => message.role === "toolResult");
  if (results.length === 0) return [call("bash", { command: "cat attachments/*/*rows.txt > output/copy.txt; mkdir -p output/site; echo page > output/site/index.html; pwd" })];
  if (results.length === 1) return [call("notes_write_file", { path: "found.md", text: "found it" })];
  return [text(results.map(textOf).join("\\n") + " prompt:" + request.messages.map(textOf).join().includes("Copy rows.txt"))];
}`;
    const { dispatcher, pi, task: root } = await bench(server.words, next);
    await pi.prompt("earlier words");
    const attachment = join(pi.project, "rows.txt");
    writeFileSync(attachment, "a,b\n1,2\n");
    const handle = await dispatcher.dispatch({
      ...{ goal: "Copy rows.txt", model: "scripted/m", attachments: [attachment], category: null },
    });
    const task = await handle.result;
    expect(task.error).toBeNull();
    expect(task).toMatchObject({ status: "completed", sandbox: expect.stringMatching(/^ssh .*@127\.0\.0\.1$/) });
    expect(task.result).toContain("prompt:true");
    const far = /^(\/\S+)\/work$/m.exec(task.result ?? "")?.[1] ?? "";
    expect(far).not.toBe("");
    expect(existsSync(far)).toBe(false);
    expect(task.outputs.map(({ path }) => path).sort()).toEqual(["copy.txt", "site/index.html"]);
    const copy = task.outputs.find(({ path }) => path === "copy.txt");
    const { stream } = await dispatcher.openFile(task.id, copy?.id ?? "");
    expect(await textOfStream(stream as never)).toBe("a,b\n1,2\n");
    expect(root.agents().at(-1)).toMatchObject({ agentName: task.agent, running: false });
    const folder = join(root.context.storageRoot, "tasks", root.context.runId);
    const notes = readdirSync(join(folder, "notes"), { recursive: true, encoding: "utf8" });
    const found = notes.find((name) => name.endsWith("found.md"));
    expect(readFileSync(join(folder, "notes", found ?? ""), "utf8")).toBe("found it");
    expect(readdirSync(join(folder, "history"), { recursive: true }).join()).toMatch(/journal/);
  });

  it("ends there when it is stopped here, and what it had written is kept", async () => {
    const server = await sshServer();
    closers.push(server.close);
    const next = `(request) => [call("bash", { command: "echo half > output/half.txt; echo $PPID $$ > ~/begun.txt; sleep 300" })]`;
    const { dispatcher, there } = await bench(server.words, next);
    const handle = await dispatcher.dispatch({ goal: "Wait", model: "scripted/m", category: null });
    const begun = join(there, "home", "begun.txt");
    await until("the child's file", () => existsSync(begun) && readFileSync(begun, "utf8").endsWith("\n"));
    const pids = readFileSync(begun, "utf8").trim().split(" ").map(Number);
    await handle.cancel();
    const task = await handle.result;
    expect(task).toMatchObject({ status: "cancelled", outputs: [{ filename: "half.txt", partial: true }] });
    await until("the end of all there", () => pids.every((pid) => !isRunning({ pid, start: null })));
  });

  it("is refused before anything is stored where the machine or Pi there cannot be had, and for a directory of this one", async () => {
    const server = await sshServer();
    closers.push(server.close);
    const one = { goal: "g", model: "scripted/m", category: null } as const;
    const gone = [...server.words.slice(0, 3), `${await freePort()}`, ...server.words.slice(4)];
    const { dispatcher: unreached } = await bench(gone, "() => ''");
    await expect(unreached.dispatch(one)).rejects.toThrow(/cannot run a task \(.*refused.*Nothing was stored/s);
    expect(await unreached.ids()).toEqual([]);
    const { dispatcher, pi } = await bench(server.words, "() => ''");
    await expect(dispatcher.dispatch({ ...one, cwd: pi.project })).rejects.toThrow(/is not there.*attach the files/s);
    const without = await sandboxBench(["ssh", ...server.words], "() => ''", {
      settings: { taskRunnerCommand: ["no-such-pi"] },
    });
    closers.push(without.close);
    await expect(without.dispatcher.dispatch(one)).rejects.toThrow(/cannot run a task \(no no-such-pi\)/);
    expect(await without.dispatcher.ids()).toEqual([]);
  });
});
