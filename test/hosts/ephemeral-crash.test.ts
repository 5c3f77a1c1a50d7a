// A session without a file whose process was killed: what it wrote goes when the next session of any kind starts, if it can
// be known that nobody runs it any more, and stays for a day otherwise. Real processes of Pi.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { prepareCli, runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, type PrivateEnvironment } from "../../fixtures/pi/environment.ts";
import { until } from "../../fixtures/pi/wait.ts";
import type { AgentState } from "../../src/task/roster.ts";

let environment: PrivateEnvironment;
const running: ChildProcess[] = [];
beforeEach(() => {
  environment = makeEnvironment();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(killed));
  environment.remove();
});

const memory = () => join(environment.agentDir, "pi-token-budget", "memory");
/** But for what is just being removed. */
const storages = () => (existsSync(memory()) ? readdirSync(memory()).filter((name) => !name.startsWith(".")) : []);

function filesOf(storage: string): string[] {
  try {
    return readdirSync(join(memory(), storage), { recursive: true, encoding: "utf8" });
  } catch {
    // Removed while it was read.
    return [];
  }
}

const hasNote = (storage: string) => filesOf(storage).some((name) => name.endsWith("secret.md"));

/** Writes a note, and then its request is never answered. */
const HANGS = `(_request, n) => n === 0
  ? [{ type: "toolCall", id: "c1", name: "notes_write_file", arguments: { path: "secret.md", text: "4711" } }]
  : new Promise(() => setInterval(() => {}, 1_000))`;

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** A process of Pi that has written a note and goes on, and its storage. */
async function started(): Promise<{ readonly child: ChildProcess; readonly storage: string }> {
  const { command, args, cwd, env } = prepareCli({ environment, model: { source: HANGS }, args: ["--no-session"] });
  const before = new Set(storages());
  const child = spawn(command, [...args, "-p", "go"], { cwd, env: { ...process.env, ...env }, stdio: "ignore" });
  running.push(child);
  const storage = await until("note", () => storages().find((name) => !before.has(name) && hasNote(name)));
  return { child, storage };
}

async function startAnother(): Promise<void> {
  const ran = await runPi({ environment, model: ["hello"], prompt: "go" });
  expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: "" });
}

type RunningState = Extract<AgentState, { type: "running" }>;

/** The registry has it of a session's process as one of a container would have written it. */
function moveToContainer(storage: string): void {
  const file = join(memory(), storage, "tasks", storage, "registry.json");
  const registry = JSON.parse(readFileSync(file, "utf8")) as { agents: { state: RunningState }[] };
  const agents = registry.agents.map(({ state, ...agent }) => {
    const place = state.place && { ...state.place, pids: "pid:[1]" };
    return { ...agent, state: place ? { ...state, place } : state };
  });
  writeFileSync(file, JSON.stringify({ ...registry, agents }));
}

function age(storage: string, hours: number): void {
  const written = new Date(Date.now() - hours * 3_600_000);
  for (const name of filesOf(storage)) utimesSync(join(memory(), storage, name), written, written);
}

/** A place says where an id of a process can be looked for; other systems do not tell. */
const TELLS_PLACES = process.platform === "linux";

describe("a session without a file that was killed", () => {
  it.runIf(TELLS_PLACES)("leaves nothing once any session starts, and one that runs keeps what it has", async () => {
    const { child, storage } = await started();
    await killed(child);
    expect(hasNote(storage)).toBe(true);
    const alive = await started();
    expect(storages()).toEqual([alive.storage]);
    age(alive.storage, 48);
    await startAnother();
    expect(hasNote(alive.storage)).toBe(true);
    await killed(alive.child);
    await startAnother();
    expect(storages()).toEqual([]);
  });

  it("keeps it for a day where its process may run elsewhere", async () => {
    const { child, storage } = await started();
    await killed(child);
    moveToContainer(storage);
    await startAnother();
    expect(hasNote(storage)).toBe(true);
    age(storage, 25);
    await startAnother();
    expect(storages()).toEqual([]);
  });
});
