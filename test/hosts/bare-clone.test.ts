// A clone of this repository in which nothing was installed: what Pi says of it, and what npm does. A checkout that lacks
// its libraries must never look healthy.
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run, runPi } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";

/** What git does not keep. */
const NOT_IN_A_CLONE = new Set(["node_modules", "dist", ".git", ".hosts", ".pictures"]);

function bareClone(): string {
  const clone = join(scratchFolder(), "clone");
  mkdirSync(clone);
  for (const name of readdirSync(PACKAGE_DIR)) {
    if (!NOT_IN_A_CLONE.has(name)) cpSync(join(PACKAGE_DIR, name), join(clone, name), { recursive: true });
  }
  return clone;
}

/** As npm leaves it after an installation that was broken off. */
function install(clone: string, names: readonly string[]): void {
  mkdirSync(join(clone, "node_modules"));
  for (const name of names) symlinkSync(join(PACKAGE_DIR, "node_modules", name), join(clone, "node_modules", name));
}

const start = (clone: string) =>
  runPi({
    extensions: [clone],
    model: [[call("notes_write_file", { path: "plan.md", text: "first" })], "on we go"],
    prompt: "Begin.",
  });

describe("a bare clone", () => {
  it("says in one sentence what to run, and gives the model no tools that cannot work", async () => {
    const clone = bareClone();
    const ran = await start(clone);
    const said = `${ran.stdout}${ran.stderr}`;
    expect(said).toContain("this checkout has no proper-lockfile and no write-file-atomic yet");
    expect(said).toContain(`Run \`npm ci --omit=dev\` in ${clone}, then start Pi again.`);
    expect(said.match(/npm ci/g)).toHaveLength(1);
    for (const { tools } of ran.requests) expect(tools.map(({ name }) => name)).not.toContain("notes_write_file");
    ran.environment.remove();
  });

  it("names what is missing after an installation that was broken off, and works when nothing is", async () => {
    const half = bareClone();
    install(half, ["proper-lockfile"]);
    const ran = await start(half);
    expect(`${ran.stdout}${ran.stderr}`).toContain("this checkout has no write-file-atomic yet");
    ran.environment.remove();

    const whole = bareClone();
    install(whole, ["proper-lockfile", "write-file-atomic", "@sinclair"]);
    const works = await start(whole);
    expect(works, works.stderr).toMatchObject({ code: 0, stdout: "on we go\n", stderr: "" });
    works.environment.remove();
  });

  it("says what to run before `npm pack`, and leaves no package", async () => {
    const clone = bareClone();
    const { code, stdout, stderr } = await run("npm", ["pack", "--pack-destination", scratchFolder()], { cwd: clone });
    expect(code).not.toBe(0);
    expect(`${stdout}${stderr}`).toContain("esbuild and typescript are not installed: run `npm ci` first");
    expect(`${stdout}${stderr}`).not.toContain("ERR_MODULE_NOT_FOUND");
    expect(existsSync(join(clone, "dist"))).toBe(false);
  });
});
