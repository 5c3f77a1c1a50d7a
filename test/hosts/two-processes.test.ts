// Two Pi processes on one session file: whoever has it open is told when another one comes, the footer says so as long as it
// is true, and what the session leaves is not forgotten under the other's hands.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { prepareCli } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const footer = (s: PiSession) => s.ui.statuses.get("pi-token-budget");
const told = (s: PiSession) => s.ui.notices.filter(({ message }) => message.includes("has this session open too"));
const taskOf = (s: PiSession) =>
  join(dirname(s.session.sessionFile ?? ""), "pi-token-budget", "tasks", s.session.sessionId);

/** Another Pi that has the session open, and waits for its model until it is killed. */
async function otherPi(s: PiSession): Promise<{ readonly child: ChildProcess; end(): Promise<void> }> {
  const environment = makeEnvironment();
  const source = "() => new Promise(() => setInterval(() => {}, 1000))";
  const start = prepareCli({ environment, model: { source }, args: ["--session", s.session.sessionFile ?? ""] });
  const child = spawn(start.command, [...start.args, "-p", "go"], {
    cwd: start.cwd,
    env: { ...process.env, ...start.env },
    stdio: "ignore",
  });
  const gone = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await gone;
    environment.remove();
  });
  const registry = join(taskOf(s), "registry.json");
  await until("the other process", () => readFileSync(registry, "utf8").includes(`"pid":${child.pid}`));
  // Killed with the registry's lock in its hands it would hold up whoever waits for that.
  await until("the lock let go", () => readdirSync(join(taskOf(s), "registry.meta", "locks")).length === 0);
  return {
    child,
    end: async () => {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

const stateOf = (s: PiSession) =>
  (JSON.parse(readFileSync(join(taskOf(s), "registry.json"), "utf8")) as { agents: { state: unknown }[] }).agents[0]
    ?.state;

const opened = async () => {
  const s = await pi({
    ui: true,
    next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "a.md", text: "kept" })] : "done"),
  });
  await s.prompt("go");
  return s;
};

it("the first is told when a second comes, once, and its footer says so until that one has ended", async () => {
  const s = await opened();
  const before = footer(s) ?? "";
  const { child, end } = await otherPi(s);
  await until("the footer's word", () => footer(s) === `${before} · open in another Pi too`, { limitMs: 5_000 });
  expect(told(s).map(({ message }) => message)).toEqual([
    expect.stringContaining(`another Pi, process ${child.pid}, has this session open too`),
  ]);
  await end();
  await until("the footer as it was", () => footer(s) === before, { limitMs: 5_000 });
  expect(told(s)).toHaveLength(1);
});

it("forgetting is refused with the reason while another has it, and asked for with the harmless answer first", async () => {
  const s = await opened();
  s.ui.confirms = true;
  const { child, end } = await otherPi(s);
  await s.session.prompt("/token-budget forget");
  expect(s.ui.notices.at(-1)?.message).toContain(`Nothing will be removed: another Pi, process ${child.pid}, has`);
  expect(s.ui.questions).toEqual([]);
  await end();
  await s.session.prompt("/token-budget forget");
  expect(s.ui.questions[0]?.split("\n").slice(-2)).toEqual(["No, keep it all", "Yes, remove it"]);
  expect(s.ui.notices.at(-1)?.message).toContain("goes when it ends");
  await s.dispose();
  expect(existsSync(taskOf(s))).toBe(false);
});

it("what was to be forgotten and cannot, since another came meanwhile, is told at the end", async () => {
  const s = await opened();
  s.ui.confirms = true;
  await s.session.prompt("/token-budget forget");
  const { child } = await otherPi(s);
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => void written.mockRestore());
  await s.dispose();
  const words = written.mock.calls.map(([text]) => String(text)).join("");
  expect(words).toContain(`Nothing was removed: the session is open, process ${child.pid}`);
  expect(existsSync(taskOf(s))).toBe(true);
});

it("a session whose second process was killed counts as running again, and still does without a screen", async () => {
  for (const ui of [true, false]) {
    const s = await pi({
      ui,
      next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "a.md", text: "kept" })] : "done"),
    });
    await s.prompt("go");
    const { child, end } = await otherPi(s);
    await end();
    expect(stateOf(s)).toMatchObject({ type: "running", pid: child.pid });
    if (!ui) await s.prompt("and on");
    await until("its own process", () => (stateOf(s) as { pid?: number }).pid === process.pid, { limitMs: 5_000 });
    await s.dispose();
    expect(stateOf(s)).toEqual({ type: "ended" });
  }
});
