// Whose folders are whose, and what is kept tidy: copies of a session file, one file in two processes, left-overs of killed
// children, and git work trees around a session.
import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { prepareCli } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, scratchFolder } from "../../fixtures/pi/environment.ts";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession, ToolOutput } from "../../fixtures/pi/session.ts";
import { taskLayout } from "../../src/task/layout.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const WAIT_MS = 120_000;
const AN_HOUR_AGO = new Date(Date.now() - 3_600_000);

const writes = (text: string, path = "checkpoint.md"): OpenOptions["next"] => {
  let wrote = false;
  return () => {
    if (wrote) return "done";
    wrote = true;
    return [call("notes_write_file", { path, text })];
  };
};
const textOfResult = ({ content }: ToolOutput) =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");
const noteOf = async (s: PiSession, path = "checkpoint.md") =>
  textOfResult(await s.callTool("notes_read_file", { path }));
const fileOf = (s: PiSession) => s.session.sessionFile ?? "none";

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !condition(); ) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("a copy of a session file in the same folder", () => {
  async function original(): Promise<{ file: string; copy: string }> {
    const one = await pi({ next: writes("of the original") });
    await one.prompt("go");
    await one.dispose();
    const copy = join(dirname(fileOf(one)), "copy.jsonl");
    copyFileSync(fileOf(one), copy);
    return { file: fileOf(one), copy };
  }

  it("gets folders of its own, with the notes copied; afterwards the two are independent", async () => {
    const { file, copy } = await original();
    const two = await pi({ session: { path: copy }, next: writes("of the copy") });
    expect(await noteOf(two)).toContain("of the original");
    await two.prompt("go");
    const one = await pi({ session: { path: file }, next: () => "done" });
    expect(await noteOf(one)).toContain("of the original");
    expect(await noteOf(two)).toContain("of the copy");
    const tasks = readdirSync(join(dirname(file), "pi-token-budget", "tasks"));
    expect(tasks).toHaveLength(2);
    expect(tasks).toContain(one.session.sessionId);
  });

  it("finds its own again, also when the original is gone and when the copy has moved", async () => {
    const { file, copy } = await original();
    const two = await pi({ session: { path: copy }, next: writes("of the copy") });
    await two.prompt("go");
    await two.dispose();
    const again = await pi({ session: { path: copy }, next: () => "done" });
    expect(await noteOf(again)).toContain("of the copy");
    await again.dispose();
    const moved = join(dirname(copy), "moved.jsonl");
    copyFileSync(copy, moved);
    rmSync(copy);
    const third = await pi({ session: { path: moved }, next: () => "done" });
    expect(await noteOf(third)).toContain("of the copy");
    await third.dispose();
    rmSync(file);
    const fourth = await pi({ session: { path: moved }, next: () => "done" });
    expect(await noteOf(fourth)).toContain("of the copy");
  });

  it("is none when the path is another one to the same file", async () => {
    const { file } = await original();
    const linked = join(scratchFolder(), "linked");
    symlinkSync(dirname(file), linked);
    const s = await pi({ session: { path: join(linked, basename(file)) }, next: writes("by the link") });
    await s.prompt("go");
    const other = await pi({ session: { path: file }, next: () => "done" });
    expect(await noteOf(other)).toContain("by the link");
    expect(readdirSync(join(dirname(file), "pi-token-budget", "tasks"))).toHaveLength(1);
  });
});

describe("one session file in two processes", () => {
  it("is told to the second at its start and by the doctor, and forgotten when the first has ended", async () => {
    const one = await pi({ next: writes("one") });
    await one.prompt("go");
    await one.dispose();
    const environment = makeEnvironment();
    // A promise alone keeps no process alive.
    const source = "() => new Promise(() => setInterval(() => {}, 1000))";
    const { command, args, cwd, env } = prepareCli({
      environment,
      model: { source },
      args: ["--session", fileOf(one)],
    });
    const child = spawn(command, [...args, "-p", "go"], { cwd, env: { ...process.env, ...env }, stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    const registry = join(dirname(fileOf(one)), "pi-token-budget", "tasks", one.session.sessionId, "registry.json");
    await until(() => readFileSync(registry, "utf8").includes(`"pid":${child.pid}`), "the first process");

    const open = () => pi({ ui: true, session: { path: fileOf(one) }, next: () => "hello" });
    const two = await open();
    const told = (s: PiSession) => s.ui.notices.filter(({ message }) => message.includes("has this session open"));
    expect(told(two)).toHaveLength(1);
    expect(told(two)[0]?.message).toContain(`another Pi, process ${child.pid}, has this session open too`);
    await two.prompt("/token-budget doctor");
    expect(two.ui.notices.at(-1)?.message).toContain(`✗ processes: process ${child.pid} has this session open too`);
    // The second ends: the first has it still.
    await two.dispose();
    const third = await open();
    expect(told(third)).toHaveLength(1);
    await third.dispose();
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    const last = await open();
    expect(told(last)).toEqual([]);
    await last.prompt("/token-budget doctor");
    expect(last.ui.notices.at(-1)?.message).toContain("✓ processes: this one alone has the session open");
    environment.remove();
  });
});

describe("what a killed child has left beside its notes", () => {
  it("is swept by any session of its task that starts, once it is older than a write can last", async () => {
    const root = await pi({ next: writes("root") });
    await root.prompt("go");
    await root.dispose();
    const { sessionId } = root.session;
    const storageRoot = join(dirname(fileOf(root)), "pi-token-budget");
    const notes = taskLayout(storageRoot, { runId: sessionId, rootSessionId: sessionId }).notes("/root/worker");
    const child = fork(new URL("./children/killed-write.ts", import.meta.url), [notes], {
      execArgv: ["--import", "tsx"],
    });
    await once(child, "message");
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    const left = () => readdirSync(join(`${notes}.meta`, "tmp"));
    expect(left()).toHaveLength(1);

    const early = await pi({ session: { path: fileOf(root) }, next: () => "hello" });
    // It may still be written.
    expect(left()).toHaveLength(1);
    await early.dispose();
    for (const folder of ["tmp", "locks"]) {
      for (const name of readdirSync(join(`${notes}.meta`, folder)))
        utimesSync(join(`${notes}.meta`, folder, name), AN_HOUR_AGO, AN_HOUR_AGO);
    }
    await pi({ session: { path: fileOf(root) }, next: () => "hello" });
    expect(left()).toEqual([]);
    expect(readdirSync(join(`${notes}.meta`, "locks"))).toEqual([]);
  });
});

describe("a session in a git work tree", () => {
  it("has its folder left out of every commit", async () => {
    const project = scratchFolder();
    const git = (...args: string[]) => execFileSync("git", ["-C", project, ...args], { encoding: "utf8" });
    git("init", "-q");
    const sessions = join(project, "sessions");
    mkdirSync(sessions);
    const { codingAgent } = await loadHost();
    const s = await pi({ session: codingAgent.SessionManager.create(project, sessions), next: writes("secret") });
    await s.prompt("go");
    expect(existsSync(join(sessions, "pi-token-budget", "notes"))).toBe(true);
    const untracked = git("status", "--porcelain", "--untracked-files=all");
    expect(untracked).toContain(basename(fileOf(s)));
    expect(untracked).not.toContain("pi-token-budget");
  });
});
