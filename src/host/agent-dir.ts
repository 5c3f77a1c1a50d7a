// Pi's agent directory, found as every supported host finds it.
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** A path as a shell takes it: `~/` is the person's home. */
export function inHome(path: string): string {
  if (path === "~") return homedir();
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

export function agentDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const named = [env.PI_CODING_AGENT_DIR, env.PI_AGENT_DIR].find((path) => path !== undefined && path !== "");
  return named === undefined ? join(homedir(), ".pi", "agent") : resolve(inHome(named));
}
