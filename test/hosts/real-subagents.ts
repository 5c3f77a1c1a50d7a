// The real pi-subagents, as npm has it: installed once, into a folder beside the hosts. And a copy with the export for
// required child extensions, which npm does not have yet: the contract is the double's, the launches are the real ones.
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
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

const DOUBLE = join(PACKAGE_DIR, "test/doubles/pi-subagents");

function patched(file: string, found: string, replacement: string): void {
  const text = readFileSync(file, "utf8");
  expect(text).toContain(found);
  writeFileSync(file, text.replace(found, replacement));
}

/** A copy of the installed one whose launches load what was registered for their root session. */
export function patchedSubagents(): string {
  const folder = scratchFolder();
  const copy = join(folder, "pi-subagents");
  cpSync(REAL_SUBAGENTS, copy, { recursive: true });
  symlinkSync(join(REAL_SUBAGENTS, ".."), join(folder, "node_modules"), "junction");
  cpSync(join(DOUBLE, "src/registry.ts"), join(copy, "src/registry.ts"));
  cpSync(join(DOUBLE, "src/api/required-child-extensions.ts"), join(copy, "src/api/required-child-extensions.ts"));
  patched(
    join(copy, "package.json"),
    '"exports": {',
    '"exports": {\n    "./required-child-extensions": "./src/api/required-child-extensions.ts",',
  );
  const launch = join(copy, "src/runs/shared/child-launch.ts");
  patched(
    launch,
    'import * as fs from "node:fs";',
    'import * as fs from "node:fs";\nimport { requiredFor } from "../../registry.ts";',
  );
  // The root's id is in the environment of the process, also for nested children.
  patched(
    launch,
    "!isSubagentRuntimeExtensionPath(extensionPath));",
    '!isSubagentRuntimeExtensionPath(extensionPath)).concat(requiredFor(process.env.PI_SUBAGENT_PARENT_SESSION ?? "").map(({ path }) => path));',
  );
  return copy;
}
