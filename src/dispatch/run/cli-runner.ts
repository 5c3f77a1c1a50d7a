// Runs a task as a Pi child process in JSON mode: no shell, no session file, nobody to ask. The prompt goes to its standard
// input; its JSON Lines are parsed as they arrive and not kept. It chooses its own model, so it gets ordinary content only.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { messageOf } from "../../errors.ts";
import { piCommand } from "../../host/pi-command.ts";
import { makePrivateDirectory, removeTree, writeNewText } from "../../storage/blobs.ts";
import { writeChildEntry } from "../../subagents/child-entry.ts";
import { neededPackage } from "../../subagents/packages.ts";
import { taskLayout } from "../../task/layout.ts";
import { eventsOf } from "./run-log.ts";
import type { Runner, RunRequest } from "./runner.ts";

export const CLI_RUNNER = "cli";

/** A child that is told to end has so long before it is killed. */
const TERMINATE_LIMIT_MS = 5_000;
/** After its end, output that others hold open is waited for so long. */
const CLOSE_LIMIT_MS = 1_000;
/** A line longer than this is skipped; ends of runs repeat whole conversations. */
const LINE_MAX_CHARS = 64_000_000;
/** Of standard error, in an error. */
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
  /** The folder of this package, where a bundle does not know it. */
  readonly packageDirectory?: string | undefined;
  readonly terminateLimitMs?: number | undefined;
}

export function cliRunner(options: CliRunnerOptions = {}): Runner {
  return { name: CLI_RUNNER, choosesModels: true, run: (request) => runCli(options, request) };
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
  const { work } = taskLayout(request.membership.storageRoot, request.membership);
  const folder = join(work, `${request.taskId}.child`);
  try {
    removeTree(folder);
    makePrivateDirectory(folder);
    const prompt = join(folder, "prompt.ts");
    writeNewText(prompt, promptExtension(request.systemPrompt));
    const entry = await writeChildEntry({ directory: folder }, own, { ...request.membership });
    const given = options.command?.() ?? [];
    const [program = "pi", ...first] = given.length > 0 ? given : piCommand();
    const model = request.model === null ? [] : ["--model", request.model];
    const args = [...first, ...ARGUMENTS, ...model, ...(options.args ?? []), "-e", prompt, "-e", entry];
    await runChild(program, args, options, request);
  } finally {
    removeTree(folder);
  }
}

/** What a child's output came to. */
class Output {
  readonly #onEvent: RunRequest["onEvent"];
  readonly #decoder = new StringDecoder("utf8");
  #line: string[] = [];
  #length = 0;
  #tooLong = false;
  events = 0;
  garbage = 0;
  stderr = "";

  constructor(onEvent: RunRequest["onEvent"]) {
    this.#onEvent = onEvent;
  }

  take(piece: Buffer): void {
    const [rest = "", ...lines] = this.#decoder.write(piece).split("\n");
    this.#append(rest);
    for (const next of lines) {
      this.#endLine();
      this.#append(next);
    }
  }

  end(): void {
    this.#append(this.#decoder.end());
    this.#endLine();
  }

  takeError(piece: Buffer): void {
    this.stderr = `${this.stderr}${piece.toString("utf8")}`.slice(-STDERR_MAX_CHARS);
  }

  #append(text: string): void {
    if (this.#tooLong || text === "") return;
    this.#length += text.length;
    if (this.#length <= LINE_MAX_CHARS) this.#line.push(text);
    else {
      this.#line = [];
      this.#tooLong = true;
    }
  }

  #endLine(): void {
    const line = this.#line.join("").trim();
    const isSkipped = this.#tooLong;
    this.#line = [];
    this.#length = 0;
    this.#tooLong = false;
    if (line === "" || isSkipped) return;
    const event = parsed(line);
    if (event === undefined) {
      this.garbage++;
      return;
    }
    this.events++;
    for (const each of eventsOf(event)) this.#onEvent(each);
  }
}

function parsed(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "type" in value ? value : undefined;
  } catch {
    return undefined;
  }
}

function runChild(
  program: string,
  args: readonly string[],
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
      env: { ...process.env, ...options.env },
    });
    let killTimer: NodeJS.Timeout | undefined;
    let closeTimer: NodeJS.Timeout | undefined;
    const terminate = () => {
      child.kill("SIGTERM");
      killTimer ??= setTimeout(() => child.kill("SIGKILL"), options.terminateLimitMs ?? TERMINATE_LIMIT_MS);
    };
    const finish = (problem: string | undefined) => {
      clearTimeout(killTimer);
      clearTimeout(closeTimer);
      signal.removeEventListener("abort", terminate);
      child.stdout.destroy();
      child.stderr.destroy();
      if (signal.aborted) reject(signal.reason);
      else if (problem === undefined) resolve();
      else reject(new Error(problem));
    };
    const ended = (code: number | null, by: NodeJS.Signals | null) => {
      output.end();
      finish(problemOf(output, code, by));
    };
    signal.addEventListener("abort", terminate, { once: true });
    child.on("error", (error) => finish(startProblem(program, error)));
    child.stdout.on("data", (piece: Buffer) => output.take(piece));
    child.stderr.on("data", (piece: Buffer) => output.takeError(piece));
    child.on("close", ended);
    child.on("exit", (code, by) => {
      closeTimer = setTimeout(() => ended(code, by), CLOSE_LIMIT_MS);
    });
    // A child that has ended early says so by its code; its closed input does not.
    child.stdin.on("error", () => undefined);
    child.stdin.end(prompt);
  });
}

function startProblem(program: string, error: NodeJS.ErrnoException): string {
  const problem = `the runner could not be started: ${messageOf(error)}`;
  if (error.code !== "ENOENT") return problem;
  return `${problem}. There is no program ${JSON.stringify(program)} on the PATH: name Pi's own in the setting taskRunnerCommand (such as ["node", "<Pi>/dist/cli.js"]), or use the runner session`;
}

function problemOf(
  { events, garbage, stderr }: Output,
  code: number | null,
  by: NodeJS.Signals | null,
): string | undefined {
  const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`;
  if (by !== null) return `the runner was ended by ${by}${said}`;
  if (code !== 0) return `the runner ended with code ${code}${said}`;
  if (events > 0) return undefined;
  return garbage > 0
    ? `the runner printed ${garbage} lines that are no events of Pi's JSON mode${said}`
    : `the runner ended without a word${said}`;
}
