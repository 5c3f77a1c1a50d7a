// Whether dependencies are to be installed, in folders made for it: npm is never called here.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, vi } from "vitest";
import { temporaryDirectory } from "../storage/disks.ts";

const LOCKED = {
  "": { name: "x", optionalDependencies: { own: "4.0.0" } },
  "node_modules/a": { version: "1.0.0" },
  "node_modules/b": { version: "2.0.0", dev: true },
  "node_modules/own": { version: "4.0.0", optional: true },
  "node_modules/for-another-system": { version: "3.0.0", optional: true },
};

/** What `ensureDeps` does in a folder where npm has written this down; `npm` there is one that fails. */
async function ensured(installed: object | undefined): Promise<boolean | string> {
  const root = temporaryDirectory();
  const folder = join(root, "fixtures", "pi");
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(root, "node_modules"));
  copyFileSync("fixtures/pi/ensure-deps.mjs", join(folder, "ensure-deps.mjs"));
  writeFileSync(join(folder, "npm.mjs"), 'export function npm() { throw new Error("npm was called"); }');
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages: LOCKED }));
  const written = join(root, "node_modules", ".package-lock.json");
  if (installed) writeFileSync(written, JSON.stringify({ packages: installed }));
  const { ensureDeps } = await import(pathToFileURL(join(folder, "ensure-deps.mjs")).href);
  const said = vi.spyOn(console, "log").mockReturnValue(undefined);
  try {
    return ensureDeps();
  } catch (error) {
    return (error as Error).message;
  } finally {
    said.mockRestore();
  }
}

it("nothing is installed again where npm ci was run by hand", async () => {
  const { "": _root, "node_modules/for-another-system": _other, ...installed } = LOCKED;
  expect(await ensured(installed)).toBe(false);
});

it("what is missing, of another version, or left over is", async () => {
  const { "": _root, "node_modules/b": dev, ...installed } = LOCKED;
  const called = "npm was called";
  expect(await ensured(undefined)).toBe(called);
  expect(await ensured(installed)).toBe(called);
  // An optional library of the package's own that came with an update.
  const { "node_modules/own": own, ...others } = installed;
  expect(await ensured({ ...others, "node_modules/b": dev })).toBe(called);
  expect(await ensured({ ...others, "node_modules/b": dev, "node_modules/own": own })).toBe(false);
  expect(await ensured({ ...installed, "node_modules/b": { ...dev, version: "2.0.1" } })).toBe(called);
  expect(await ensured({ ...installed, "node_modules/b": dev, "node_modules/c": { version: "1.0.0" } })).toBe(called);
});

it("stands on how npm writes it down", () => {
  const { packages } = JSON.parse(readFileSync("node_modules/.package-lock.json", "utf8"));
  expect(Object.keys(packages)).not.toContain("");
});
