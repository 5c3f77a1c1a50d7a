// Tasks under bubblewrap, as the setting `taskSandbox` has them: real Pi processes in a real sandbox. Where bwrap is not
// installed, or the kernel allows no user namespaces, there is none to try: these tests are skipped there.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text as textOfStream } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { noBwrapReason, type SandboxBench, sandboxBench } from "../../fixtures/pi/sandboxed.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { taskText } from "../../src/ui/task-text.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function bench(...given: Parameters<typeof sandboxBench>): Promise<SandboxBench> {
  const opened = await sandboxBench(...given);
  closers.push(opened.close);
  return opened;
}

/** The shell script of the first answer, then what it printed. */
const shell = (script: string) => `(request) => {
  const results = request.messages.filter((message) => message.role === "toolResult");
  if (results.length === 0) return [call("bash", { command: ${JSON.stringify(script)} })];
  return [text(results.map(textOf).join("\\n"))];
}`;

/** Writes a file, and its folder. */
function put(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

describe.skipIf(noBwrapReason() !== undefined)("a task under bubblewrap", () => {
  it("reads its attachment and writes its product, and neither sees nor writes anything of a home", async () => {
    const script = `cat attachments/*/*rows.txt > output/copy.txt
echo "home: $(ls -A ~)"
cat "$OTHER/secret.txt" || true
cat "$PI_CODING_AGENT_DIR/sessions/old.jsonl" || true
touch "$OTHER/written" /usr/written "$PI_CODING_AGENT_DIR/written" || true
touch ~/written
echo "login: $(cat "$PI_CODING_AGENT_DIR/auth.json")"
echo "sees $(ls /proc | grep -c '^[0-9]') processes"`;
    const { dispatcher, environment, pi, task: root } = await bench(["bwrap"], shell(script));
    const { home, agentDir, directory } = environment;
    const other = join(directory, "other");
    process.env.OTHER = other;
    closers.push(async () => void delete process.env.OTHER);
    put(join(other, "secret.txt"), "SECRET of another");
    put(join(home, "diary.txt"), "SECRET of the home");
    put(join(agentDir, "sessions", "old.jsonl"), "SECRET of a session");
    put(join(agentDir, "auth.json"), "{}");
    const attachment = put(join(pi.project, "rows.txt"), "a,b\n1,2\n");
    const handle = await dispatcher.dispatch({
      ...{ goal: "Copy rows.txt", model: "scripted/m", attachments: [attachment], category: null },
    });
    expect(handle.task.sandbox).toBe("bwrap");
    const task = await handle.result;
    expect(task.error).toBeNull();
    expect(task).toMatchObject({ status: "completed", runner: "cli", sandbox: "bwrap" });
    expect(task.result).not.toContain("SECRET");
    expect(task.result).toMatch(/^home: *$/m);
    expect(task.result).toMatch(/login: \{\}/);
    expect(task.result).toMatch(/sees \d processes/);
    const written = [join(other, "written"), join(home, "written"), join(agentDir, "written"), "/usr/written"];
    expect(written.filter((path) => existsSync(path))).toEqual([]);
    const [copy] = task.outputs;
    const { stream } = await dispatcher.openFile(task.id, copy?.id ?? "");
    expect(await textOfStream(stream as never)).toBe("a,b\n1,2\n");
    expect(taskText(task)).toContain("confined by bwrap");
    // It is an agent of the root task as any other one, and it has ended.
    expect(root.agents().at(-1)).toMatchObject({ agentName: task.agent, running: false });
  });

  it("keeps notes that others read, and sees no file of another task", async () => {
    const next = `(request) => {
  const results = request.messages.filter((message) => message.role === "toolResult");
  if (results.length === 0) return [call("notes_write_file", { path: "found.md", text: "found it" })];
  if (results.length === 1) return [call("bash", { command: "cd ../..; find . -type f | sort; echo x > history/x; echo x > records/x" })];
  return [text(results.map(textOf).join("\\n"))];
}`;
    const { dispatcher, pi, task: root } = await bench(["bwrap"], next);
    const attachment = put(join(pi.project, "private.txt"), "p");
    const one = { model: "scripted/m", category: null } as const;
    await (await dispatcher.dispatch({ ...one, goal: "First", attachments: [attachment] })).result;
    const task = await (await dispatcher.dispatch({ ...one, goal: "Second" })).result;
    expect(task.error).toBeNull();
    expect(task.result).toContain("registry.json");
    expect(task.result).not.toMatch(/records\/[0-9a-f]/);
    const { storageRoot } = root.context;
    const folder = join(storageRoot, "tasks", root.context.runId);
    expect(existsSync(join(folder, "history", "x")) || existsSync(join(folder, "records", "x"))).toBe(false);
    const notes = readdirSync(join(folder, "notes"), { recursive: true, encoding: "utf8" });
    const found = notes.filter((name) => name.endsWith("found.md"));
    expect(found).toHaveLength(2);
    expect(readFileSync(join(folder, "notes", found[0] ?? ""), "utf8")).toBe("found it");
  });

  it("is stopped with all that it has started", async () => {
    const script = "sleep 300 & touch begun; sleep 300";
    const { dispatcher, task: root } = await bench(["bwrap"], shell(script));
    const handle = await dispatcher.dispatch({ goal: "Wait", model: "scripted/m", category: null });
    const begun = join(root.context.storageRoot, "tasks", root.context.runId, "work", handle.task.id, "begun");
    await until("the child's file", () => existsSync(begun));
    await handle.cancel();
    expect(await handle.result).toMatchObject({ status: "cancelled", sandbox: "bwrap" });
    expect(root.agents().at(-1)).toMatchObject({ agentName: handle.task.agent, running: false });
  });

  it("works in a directory of a person's, sees what the setting adds, and not a directory that holds the home", async () => {
    const { directory } = (await bench([], "() => ''")).environment;
    const data = put(join(directory, "data", "table.csv"), "1,2,3");
    const more = ["--ro-bind", dirname(data), dirname(data)];
    const { dispatcher, environment, pi } = await bench(["bwrap", ...more], shell(`cp ${data} project.csv; ls`));
    const one = { goal: "Change it", model: "scripted/m", category: null } as const;
    const task = await (await dispatcher.dispatch({ ...one, cwd: pi.project })).result;
    expect(task.error).toBeNull();
    expect(readFileSync(join(pi.project, "project.csv"), "utf8")).toBe("1,2,3");
    const refusal = dispatcher.dispatch({ ...one, cwd: dirname(environment.home) });
    await expect(refusal).rejects.toThrow(/holds .*home.*Nothing was stored/s);
    expect(await dispatcher.ids()).toHaveLength(1);
  });
});
