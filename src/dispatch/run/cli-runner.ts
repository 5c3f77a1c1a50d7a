// Runs a task as a Pi child process in JSON mode: no shell, no session file, no interactive question. The prompt goes to its
// standard input; its JSON Lines are parsed as they arrive and not kept. It chooses its own model, so it gets ordinary
// content only.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import { LineReader, parseObject } from "../../json-lines.ts";
import { piCommand } from "../../packages/host.ts";
import { neededPackage } from "../../packages/own.ts";
import { makePrivateDirectory, removeTree, writeNewText } from "../../storage/blobs.ts";
import { beforeEndBy } from "../../storage/signals.ts";
import { writeChildEntry } from "../../subagents/child-entry.ts";
import { taskLayout } from "../../task/layout.ts";
import { childFolder, freshDirectory } from "../files/workspace.ts";
import type { Runner, RunRequest } from "../runner.ts";
import type { ChildProcess, Sandbox, SandboxedProcess } from "../sandbox/sandbox.ts";
import { eventsOf } from "./pi-events.ts";
import { endRun, HAS_GROUPS, noteGroup, runEnvironment, signalGroup } from "./process-group.ts";

/** From SIGTERM to SIGKILL. */
const TERMINATE_LIMIT_MS = 5_000;
/** How long to wait for output after the child's exit: processes that it started may hold it open. */
const CLOSE_LIMIT_MS = 1_000;
/** Longer lines are skipped; the last event of a run repeats the whole conversation. */
const LINE_MAX_BYTES = 64_000_000;
/** Characters of standard error that an error quotes. */
const STDERR_MAX_CHARS = 1_000;

const ARGUMENTS = [
  "--mode",
  "json",
  "--no-session",
  "-p",
  "--no-skills",
  "--no-prompt-templates",
  "--no-context-files",
  "--no-themes",
];

export interface CliRunnerOptions {
  /** Program and first arguments (setting `taskRunnerCommand`); the host that runs us when left out. */
  readonly command?: (() => readonly string[]) | undefined;
  /** More arguments, such as `-e` and a path. */
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The folder of this package, for a bundle that does not know it. */
  readonly packageDirectory?: string | undefined;
  readonly terminateLimitMs?: number | undefined;
  /** Where children run (setting `taskSandbox`); null or left out, with our own rights. Throws for one that is not known. */
  readonly sandbox?: (() => Sandbox | null) | undefined;
}

export function cliRunner(options: CliRunnerOptions = {}): Runner {
  return {
    name: "cli",
    choosesModels: true,
    sandbox: async ({ cwd }) => {
      const sandbox = options.sandbox?.() ?? null;
      if (sandbox === null) return null;
      const { root: packageRoot } = neededPackage(options.packageDirectory);
      const [program = "pi"] = commandOf(options, sandbox);
      await sandbox.assertReady({ cwd, program, packageRoot, env: environmentOf(options) });
      return sandbox.name;
    },
    run: (request) => runCli(options, request),
  };
}

/** Program and first arguments of Pi. */
function commandOf({ command }: CliRunnerOptions, sandbox: Sandbox | null): readonly string[] {
  const given = command?.() ?? [];
  return given.length > 0 ? given : (sandbox?.pi ?? piCommand());
}

function environmentOf({ env }: CliRunnerOptions): Readonly<Record<string, string | undefined>> {
  return { ...process.env, ...env };
}

function promptExtension(systemPrompt: string): string {
  return `// Generated for the children of one task.
const PROMPT = ${JSON.stringify(systemPrompt)};
export default function fixedPrompt(pi) {
  pi.on("before_agent_start", () => ({ systemPrompt: PROMPT }));
}
`;
}

async function runCli(options: CliRunnerOptions, request: RunRequest): Promise<void> {
  request.signal.throwIfAborted();
  const own = neededPackage(options.packageDirectory);
  const { membership } = request;
  const { work } = taskLayout(membership.storageRoot, membership);
  const folder = childFolder(work, request.taskId);
  try {
    removeTree(folder);
    makePrivateDirectory(folder);
    const prompt = join(folder, "prompt.ts");
    writeNewText(prompt, promptExtension(request.systemPrompt));
    const entry = await writeChildEntry({ directory: folder }, own, { ...membership });
    const sandbox = options.sandbox?.() ?? null;
    const [program = "pi", ...first] = commandOf(options, sandbox);
    const model = request.model === null ? [] : ["--model", request.model];
    const args = [...first, ...ARGUMENTS, ...model, ...(options.args ?? []), "-e", prompt, "-e", entry];
    const env = runEnvironment(environmentOf(options), folder);
    const { taskId, cwd, prompt: input } = request;
    const isNamedCwd = cwd !== freshDirectory(work, taskId);
    const place = { cwd, isNamedCwd, folder, membership, packageRoot: own.root, env };
    const child: ChildProcess = { taskId, program, args, prompt: input, ...place };
    const started: SandboxedProcess = sandbox === null ? child : await sandbox.enter(child);
    try {
      // From here to its listener nothing else runs: a cancel until now is heard here, one from then on there.
      request.signal.throwIfAborted();
      await runChild({ ...started, folder, env }, options, request);
    } catch (error) {
      // What the child had made until then is kept where it can be had.
      await started.leave?.().catch(() => undefined);
      throw error;
    }
    await started.leave?.();
  } finally {
    removeTree(folder);
  }
}

/** Turns a child's standard output into events, and keeps what an error has to quote. */
class Output {
  readonly #onEvent: RunRequest["onEvent"];
  readonly #lines = new LineReader(LINE_MAX_BYTES);
  events = 0;
  answers = 0;
  garbage = 0;
  stderr = "";

  constructor(onEvent: RunRequest["onEvent"]) {
    this.#onEvent = onEvent;
  }

  take(piece: Buffer): void {
    this.#lines.read(piece, (text) => this.#line(text()?.trim() ?? ""));
  }

  /** The last line may lack its line feed. */
  end(): void {
    this.take(Buffer.from("\n"));
  }

  takeError(piece: Buffer): void {
    this.stderr = `${this.stderr}${piece.toString("utf8")}`.slice(-STDERR_MAX_CHARS);
  }

  #line(line: string): void {
    if (line === "") return;
    const event = parseObject(line);
    if (event === undefined || !("type" in event)) {
      this.garbage++;
      return;
    }
    this.events++;
    for (const each of eventsOf(event)) {
      if (each.type === "answer") this.answers++;
      this.#onEvent(each);
    }
  }
}

interface Program extends SandboxedProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of what belongs to this child alone. */
  readonly folder: string;
}

function runChild(
  { program, args, env, folder, holdsInput }: Program,
  options: CliRunnerOptions,
  request: RunRequest,
): Promise<void> {
  const { signal, cwd, prompt } = request;
  return new Promise((resolve, reject) => {
    const output = new Output(request.onEvent);
    const child = spawn(program, args, {
      cwd,
      shell: false,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
      detached: HAS_GROUPS,
      env,
    });
    let killTimer: NodeJS.Timeout | undefined;
    let closeTimer: NodeJS.Timeout | undefined;
    const signalAll = (by: NodeJS.Signals) => {
      if (child.pid !== undefined) signalGroup(child.pid, by);
    };
    const endAll = () => {
      if (child.pid !== undefined) endRun(child.pid, folder);
    };
    const terminate = () => {
      signalAll("SIGTERM");
      killTimer ??= setTimeout(endAll, options.terminateLimitMs ?? TERMINATE_LIMIT_MS);
    };
    const finish = (problem: string | undefined) => {
      clearTimeout(killTimer);
      clearTimeout(closeTimer);
      signal.removeEventListener("abort", terminate);
      process.off("exit", endAll);
      endSignals();
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
      // What the child has started ends with it.
      endAll();
      if (signal.aborted) reject(signal.reason);
      else if (problem === undefined) resolve();
      else reject(new Error(problem));
    };
    const ended = (code: number | null, by: NodeJS.Signals | null) => {
      output.end();
      finish(problemOf(output, code, by));
    };
    // The child leads a group of its own, so what ends this process does not reach it.
    process.once("exit", endAll);
    const endSignals = beforeEndBy(["SIGINT", "SIGTERM", "SIGHUP"], endAll);
    signal.addEventListener("abort", terminate, { once: true });
    child.on("error", (error) => finish(startProblem(program, error)));
    child.stdout.on("data", (piece: Buffer) => output.take(piece));
    child.stderr.on("data", (piece: Buffer) => output.takeError(piece));
    child.on("close", ended);
    child.on("exit", (code, by) => {
      closeTimer = setTimeout(() => ended(code, by), CLOSE_LIMIT_MS);
    });
    // A child that ended early reports that by its exit code, not by its closed input.
    child.stdin.on("error", () => undefined);
    if (!holdsInput) child.stdin.end(prompt);
    try {
      if (child.pid !== undefined) noteGroup(folder, child.pid);
    } catch (error) {
      // Nobody could end it after a kill of this process.
      finish(`the runner's process could not be noted: ${messageOf(error)}`);
    }
  });
}

function startProblem(program: string, error: NodeJS.ErrnoException): string {
  const problem = `the runner could not be started: ${messageOf(error)}`;
  if (error.code !== "ENOENT") return problem;
  return `${problem}. There is no program ${JSON.stringify(program)} on the PATH: name Pi's own in the setting taskRunnerCommand (such as ["node", "<Pi>/dist/cli.js"]), or use the runner session`;
}

function problemOf(
  { events, answers, garbage, stderr }: Output,
  code: number | null,
  by: NodeJS.Signals | null,
): string | undefined {
  const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`;
  if (by !== null) return `the runner was ended by ${by}${said}`;
  if (code !== 0) return `the runner ended with code ${code}${said}`;
  // Some hosts say only there why nothing was sent to a model.
  if (answers === 0 && events > 0 && said !== "") return `the runner ended without an answer${said}`;
  if (events > 0) return undefined;
  return garbage > 0
    ? `the runner printed ${garbage} lines that are no events of Pi's JSON mode${said}`
    : `the runner ended without a word${said}`;
}
