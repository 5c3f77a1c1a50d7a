// The real pi-subagents, as npm has it: installed once, into a folder beside the hosts.
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";

const MINUTES = 60_000;
export const INSTALL_LIMIT_MS = 5 * MINUTES;

/** Where it is once `installSubagents` has run. */
export const REAL_SUBAGENTS = join(PACKAGE_DIR, ".hosts/subagents/node_modules/pi-subagents");

export async function installSubagents(): Promise<void> {
  const script = join(PACKAGE_DIR, "fixtures/pi/install-hosts.mjs");
  // npm is configured in the person's own home.
  const { homedir } = userInfo();
  const env = { HOME: homedir, USERPROFILE: homedir };
  const ran = await run(process.execPath, [script, "pi-subagents"], { cwd: PACKAGE_DIR, env, limitMs: 4 * MINUTES });
  expect(ran.code, ran.stderr).toBe(0);
  expect(existsSync(REAL_SUBAGENTS)).toBe(true);
}
