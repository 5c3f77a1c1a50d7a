// Everything can be read back: sessions that no model of ours has made, opened in Pi, every item of every window read in
// pages of random sizes and compared with the session file.
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readEverythingBack } from "../../fixtures/demo/read-back.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { openPi } from "../../fixtures/pi/session.ts";
import { writeSessionFile } from "../../fixtures/story/session-file.ts";

/** A real session of somebody else, in an older format. It is not part of this package. */
const FOREIGN = join(PACKAGE_DIR, "../shared/data/session-coding-1k.jsonl");

function scratchFile(): string {
  return join(scratchFolder(), "session.jsonl");
}

async function readBack(path: string) {
  const pi = await openPi({ next: () => "unused", session: { path } });
  const result = await readEverythingBack(pi);
  expect(pi.errors).toEqual([]);
  await pi.dispose();
  return result;
}

describe("every item of a session is read back byte for byte", () => {
  it("in a session of 1,000 entries and three windows", async () => {
    const path = scratchFile();
    const entries = writeSessionFile(path, { entries: 1_000, windows: 3 });
    const messages = entries.filter((entry) => entry.type === "message").length;
    const { checked, identical, differences, images } = await readBack(path);
    expect(differences).toEqual([]);
    expect(identical).toBe(checked);
    expect(checked).toBeGreaterThanOrEqual(messages);
    expect(images).toBeGreaterThan(0);
  });

  it("in a session of 10,000 entries and ten windows", async () => {
    const path = scratchFile();
    writeSessionFile(path, { entries: 10_000, windows: 10, seed: 7 });
    const { checked, identical, differences } = await readBack(path);
    expect(differences).toEqual([]);
    expect(identical).toBe(checked);
    expect(checked).toBeGreaterThan(9_000);
  });

  it.skipIf(!existsSync(FOREIGN))("in a real session of an older format", async () => {
    const path = scratchFile();
    copyFileSync(FOREIGN, path);
    const { checked, identical, differences } = await readBack(path);
    expect(differences).toEqual([]);
    expect(identical).toBe(checked);
    expect(checked).toBeGreaterThan(900);
  });
});
