// The bridge as a child process: its start, its forced end, and how it ended.
import { type ChildProcess, spawn } from "node:child_process";
import { codeOf } from "../storage/disk.ts";

/** How long a bridge may take to end after its input was closed or it got a signal, then after SIGTERM. */
const GRACE_MS = 5_000;
const TERMINATION_MS = 3_000;
/** How often to check, after a bridge's exit, whether output still arrives from processes it left behind. */
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

/** `inherit` gives the bridge our own terminal. */
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

/** Resolves when the bridge has ended and its output has been read to the end, or has dried up. */
export function bridgeEnd(child: ChildProcess, command: string): Promise<BridgeEnd> {
  return new Promise((resolve) => {
    let watch: NodeJS.Timeout | undefined;
    child.on("error", (error) => {
      // Signals that cannot be delivered are reported here too.
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

/** A process that the bridge left behind may hold its output open: wait only while something arrives. */
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

/** Makes a bridge that was told to end do so: SIGTERM, unless it had a signal already, then SIGKILL. */
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
