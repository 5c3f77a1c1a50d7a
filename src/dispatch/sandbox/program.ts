// Runs a small program to its end, to see whether a sandbox works.
import { execFile } from "node:child_process";

/** A program that asks somebody something would wait for ever. */
const LIMIT_MS = 30_000;
const OUTPUT_MAX_CHARS = 1_000;

export type Outcome =
  | { readonly type: "ok"; readonly stdout: string }
  | { readonly type: "missing" }
  /** It ended with an error, or not in time; what it said. */
  | { readonly type: "failed"; readonly said: string };

export function outcomeOf(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env, timeout: LIMIT_MS, windowsHide: true } as const;
    const child = execFile(program, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve({ type: "ok", stdout });
      else if (error.code === "ENOENT") resolve({ type: "missing" });
      else resolve({ type: "failed", said: stderr.trim().slice(-OUTPUT_MAX_CHARS) || error.message });
    });
    child.stdin?.end();
  });
}
