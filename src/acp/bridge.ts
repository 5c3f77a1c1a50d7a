// The bridge as a child process: how it is started, how it is made to end, and how it ended.
import { type ChildProcess, spawn } from "node:child_process";
import { codeOf } from "../storage/disk.ts";

/** How long a bridge may take to end by itself behind a closed input or a signal, and then behind SIGTERM. */
const GRACE_MS = 5_000;
const TERMINATION_MS = 3_000;
/** How often a bridge that has ended is looked at for output that others still hold open. */
const LEFTOVER_MS = 500;

const COMMAND_NOT_FOUND = 127;
const COMMAND_NOT_EXECUTABLE = 126;

export interface BridgeCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export type BridgeEnd =
  | { readonly type: "exited"; readonly code: number }
  | { readonly type: "killed"; readonly signal: NodeJS.Signals }
  | { readonly type: "not_started"; readonly code: number; readonly problem: string };

/** `inherit`: the bridge is given our own terminal. */
export function startBridge(
  { command, args }: BridgeCommand,
  env: Readonly<Record<string, string | undefined>>,
  stdio: "pipe" | "inherit",
): ChildProcess {
  return spawn(command, args, {
    env,
    stdio: stdio === "pipe" ? ["pipe", "pipe", "inherit"] : "inherit",
    windowsHide: true,
  });
}

function notStarted(command: string, error: Error): BridgeEnd {
  const code = codeOf(error);
  if (code === "ENOENT") {
    const wayOut =
      command === "pi-acp"
        ? "Install it (npm install -g pi-acp), or name another bridge behind --."
        : "Check its name and the PATH, or give its whole path.";
    return {
      type: "not_started",
      code: COMMAND_NOT_FOUND,
      problem: `the bridge ${JSON.stringify(command)} was not found. ${wayOut}`,
    };
  }
  return {
    type: "not_started",
    code: code === "EACCES" ? COMMAND_NOT_EXECUTABLE : 1,
    problem: `the bridge ${JSON.stringify(command)} cannot be started: ${error.message}`,
  };
}

/** Resolves when the bridge has ended and all of its output has been read, or never comes. */
export function bridgeEnd(child: ChildProcess, command: string): Promise<BridgeEnd> {
  return new Promise((resolve) => {
    let watch: NodeJS.Timeout | undefined;
    child.on("error", (error) => {
      // A signal that cannot be delivered is reported here too.
      if (child.pid === undefined) resolve(notStarted(command, error));
    });
    child.once("exit", () => {
      watch = dropLeftover(child);
    });
    child.once("close", (code, signal) => {
      clearInterval(watch);
      resolve(signal ? { type: "killed", signal } : { type: "exited", code: code ?? 1 });
    });
  });
}

/** A process that the bridge has left behind may hold its output open: it is waited for only while something comes. */
function dropLeftover({ stdout }: ChildProcess): NodeJS.Timeout | undefined {
  if (!stdout) return undefined;
  let isQuiet = true;
  stdout.on("data", () => {
    isQuiet = false;
  });
  return setInterval(() => {
    if (isQuiet && !stdout.isPaused()) stdout.destroy();
    isQuiet = true;
  }, LEFTOVER_MS);
}

/** Sees to it that a bridge that was told to end does: with SIGTERM unless it has had it, and then for good. */
export function insistOnEnd(child: ChildProcess, hasHadSignal: boolean): void {
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const kill = () => {
    if (isRunning()) child.kill("SIGKILL");
  };
  setTimeout(() => {
    if (!isRunning()) return;
    if (hasHadSignal) return kill();
    child.kill("SIGTERM");
    setTimeout(kill, TERMINATION_MS).unref();
  }, GRACE_MS).unref();
}
