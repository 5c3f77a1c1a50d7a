// Runs programs to their ends: a small one, to see whether a sandbox works, and two that copy.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";

/** A program that asks somebody something would wait for ever. */
const LIMIT_MS = 30_000;
const OUTPUT_MAX_CHARS = 1_000;
/** The exit code of tar where a file changed while it was read, as a journal may. */
const FILES_CHANGED = 1;

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

/** Runs two programs, what the one prints being what the other reads. Rejects with what they say where one of them fails. */
export async function copied(
  [from, ...fromArgs]: readonly [string, ...string[]],
  [to, ...toArgs]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const source = spawn(from, fromArgs, { env, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
  const target = spawn(to, toArgs, { env, stdio: [source.stdout, "ignore", "pipe"], windowsHide: true });
  // The two hold its ends; ours would keep the one waiting for a reader that has gone.
  source.stdout.destroy();
  let said = "";
  for (const { stderr } of [source, target])
    stderr.on("data", (piece: Buffer) => {
      said = `${said}${piece.toString("utf8")}`.slice(-OUTPUT_MAX_CHARS);
    });
  const [[sent], [taken]] = await Promise.all([once(source, "close"), once(target, "close")]);
  if (sent > FILES_CHANGED || sent === null || taken !== 0)
    throw new Error(`files could not be copied: ${said.trim()}`);
}
