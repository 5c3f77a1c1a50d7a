// The storage of a running session: a file in its place, and a folder that somebody has removed.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { call } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, pi, said } from "./support.ts";

closeAfterEach();

async function opened() {
  const s = await pi({
    ui: true,
    next: (_request, n) => (n % 2 === 0 ? [call("notes_write_file", { path: "a.md", text: `note ${n}` })] : "done"),
  });
  const storage = /Storage in (.+)/.exec(await said(s, "/context"))?.[1] ?? "";
  return { s, storage };
}

it("a file in its place is one fault with one remedy, in words for a person", async () => {
  const { s, storage } = await opened();
  writeFileSync(storage, "in the way");
  const report = await said(s, "/token-budget doctor");
  expect(report.match(/move away what is there/g)).toHaveLength(1);
  expect(report).toContain("? notes, registry, journal: not checked before the storage is repaired");
  expect(report).not.toMatch(/see \/token-budget doctor|tell the user|Repair/);
});

it("removed under a running session it is made again by who works on", async () => {
  const { s, storage } = await opened();
  await s.prompt("one");
  expect(existsSync(storage)).toBe(true);
  rmSync(storage, { recursive: true, force: true });
  await s.prompt("two");
  await s.prompt("three");
  const report = await said(s, "/token-budget doctor");
  expect(report).toMatch(/✓ registry: 1 agent\n/);
  expect(report).toMatch(/Nothing is wrong\.$/);
});
