// Ctrl-C on `pi -p "/task …"`: the process ends soon, with all that the task had started, and the record says what became of it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type CliStart, prepareCli, run } from "../../fixtures/pi/cli.ts";
import { currentHostName, hostNamed } from "../../fixtures/pi/hosts.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { isRunning, type ProcessName, processNamed } from "../../src/storage/processes.ts";

const LIMIT_MS = 60_000;
const MODEL = `(request) => request.systemPrompt.startsWith("You carry out one task")
  ? { content: [{ type: "text", text: "late" }], delayMs: ${LIMIT_MS} }
  : "hello"`;

interface Started {
  readonly cli: CliStart;
  readonly child: ChildProcess;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly by: NodeJS.Signals | null;
    readonly stderr: string;
  }>;
}

function started(prompt: string, settings: Readonly<Record<string, unknown>> = {}): Started {
  const cli = prepareCli({ model: { source: MODEL }, settings: { tokenBudget: settings } });
  onTestFinished(() => cli.environment.remove());
  const child = spawn(cli.command, [...cli.args, "-p", prompt], {
    ...{ cwd: cli.cwd, env: { ...process.env, ...cli.env }, stdio: ["ignore", "ignore", "pipe"], detached: true },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (piece: string) => {
    stderr += piece;
  });
  const ended = new Promise<Awaited<Started["ended"]>>((resolve) => {
    child.once("close", (code, by) => resolve({ code, by, stderr }));
  });
  return { cli, child, ended };
}

/** The child may just be writing down what it was asked. */
function asked(cli: CliStart): number {
  try {
    return cli.requests().length;
  } catch {
    return 0;
  }
}

/** As a terminal does it: to the whole group of the foreground. */
const interrupt = ({ child }: Started) => process.kill(-(child.pid ?? 0), "SIGINT");

function recordsBelow(
  folder: string,
): { task: Record<string, unknown>; files: { path: string; partial: boolean }[] }[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const records = names.filter((name) => /\/records\/\w{16}\.json$/.test(name));
  return records.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
}

it("interrupts a task in the process itself, and its session is found again", { timeout: 2 * LIMIT_MS }, async () => {
  const pi = started("/task Think for a long time");
  await until("its request", () => asked(pi.cli) > 0);
  interrupt(pi);
  const { code, stderr } = await pi.ended;
  expect(code).toBe(130);
  expect(stderr).toMatch(/stopped task \w+ \(Think for a long time\)/);
  const [record] = recordsBelow(pi.cli.environment.directory);
  expect(record?.task).toMatchObject({ status: "failed", error: "interrupted", process: null });
  const { command, args, cwd, env } = pi.cli;
  const again = await run(command, [...args, "-p", "-c", "/tasks"], { cwd, env });
  expect(again.stderr).toMatch(/failed .*Think for a long time/);
});

it("ends the process group of a task in a process of its own, and keeps what that had written", {
  timeout: 2 * LIMIT_MS,
}, async () => {
  const folder = prepareFolder();
  const pi = started("/task --runner cli Think for a long time", {
    taskRunnerCommand: [hostNamed(currentHostName()).node, folder.script],
  });
  const runs = await until("its processes", () => folder.processes());
  for (const each of runs) expect(isRunning(each)).toBe(true);
  interrupt(pi);
  expect((await pi.ended).code).toBe(130);
  for (const each of runs) await until("its end", () => !isRunning(each), { limitMs: 5_000 });
  const [record] = recordsBelow(pi.cli.environment.directory);
  expect(record?.task).toMatchObject({ status: "failed", error: "interrupted", process: null });
  expect(record?.files).toMatchObject([{ path: "half.txt", partial: true }]);
});

it("leaves Ctrl-C as it was where no task runs", { timeout: 2 * LIMIT_MS }, async () => {
  const slow = `{ content: [{ type: "text", text: "late" }], delayMs: ${LIMIT_MS} }`;
  const cli = prepareCli({
    model: { source: `(request) => request.systemPrompt.startsWith("You carry out one task") ? "done" : ${slow}` },
  });
  onTestFinished(() => cli.environment.remove());
  const child = spawn(cli.command, [...cli.args, "-p", "/task Be quick", "now think"], {
    ...{ cwd: cli.cwd, env: { ...process.env, ...cli.env }, stdio: "ignore" },
  });
  const ended = new Promise((resolve) => child.once("exit", (code, by) => resolve(by ?? code)));
  await until("the second request", () => asked(cli) > 1);
  child.kill("SIGINT");
  expect(await ended).toBe("SIGINT");
});

/** A runner that writes half a product, starts another process, and goes on. */
function prepareFolder(): { readonly script: string; processes(): readonly ProcessName[] | undefined } {
  const cli = prepareCli({ model: { source: MODEL } });
  onTestFinished(() => cli.environment.remove());
  const script = join(cli.environment.directory, "runner.cjs");
  const pids = join(cli.environment.directory, "pids");
  writeFileSync(
    script,
    `const { spawn } = require("node:child_process");
const { writeFileSync, renameSync } = require("node:fs");
const ignoring = "process.on('SIGINT', () => {}); process.on('SIGTERM', () => {}); setInterval(() => {}, 1_000)";
writeFileSync("output/half.txt", "half");
const child = spawn(process.execPath, ["-e", ignoring], { stdio: "ignore" });
process.on("SIGINT", () => {});
writeFileSync(${JSON.stringify(`${pids}.tmp`)}, [process.pid, child.pid].join("\\n"));
renameSync(${JSON.stringify(`${pids}.tmp`)}, ${JSON.stringify(pids)});
setInterval(() => console.log(JSON.stringify({ type: "tick" })), 100);
`,
  );
  const processes = () =>
    existsSync(pids)
      ? readFileSync(pids, "utf8")
          .split("\n")
          .map((pid) => processNamed(Number(pid)))
      : undefined;
  return { script, processes };
}
