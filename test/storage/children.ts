// Child processes that run a TypeScript file and talk over IPC; none outlives its test.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { bundled } from "../../fixtures/pi/bundle.ts";

export function startChild(file: URL, args: readonly string[]): ChildProcess {
  const child = fork(bundled(file), args, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return child;
}

/** The child's next message. */
export async function messageFrom(child: ChildProcess): Promise<unknown> {
  const [message] = await once(child, "message");
  return message;
}

/** Ends the child as a crash would. */
export async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

export async function exitCodeOf(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null) return child.exitCode;
  const [code] = await once(child, "exit");
  return code;
}
