// A test waits for what it means, with a deadline (fixtures/pi/wait.ts): a fixed time is too short on a busy machine and
// too long on every other.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PACKAGE_DIR } from "../fixtures/pi/hosts.ts";

/** Long enough to see that nothing comes. */
const LONGEST_MS = 200;
const WAIT = /\b(?:sleep\(|setTimeout\(\s*(?:resolve|f|done)\s*,)\s*([\d_]+)/g;

function fixedWaits(folder: string): string[] {
  const names = readdirSync(join(PACKAGE_DIR, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => /\.(?:ts|mjs)$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(join(PACKAGE_DIR, folder, name), "utf8");
      const waits = [...text.matchAll(WAIT)].filter(([, ms = ""]) => Number(ms.replaceAll("_", "")) > LONGEST_MS);
      return waits.map(([wait]) => `${folder}/${name}: ${wait}`);
    });
}

it("no test waits for a fixed time of more than 200 ms", () => {
  expect([...fixedWaits("test"), ...fixedWaits("fixtures")]).toEqual([]);
});
