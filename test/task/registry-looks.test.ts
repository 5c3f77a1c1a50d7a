// The footer looks at the registry twice a second: while nothing changes that costs one look at the file, and no reading.
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { thisProcess } from "../../src/storage/processes.ts";
import { Registry } from "../../src/task/registry.ts";
import { temporaryDirectory, watchedDisk } from "../storage/disks.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const LATER_MS = 10_000;

async function watchedRegistry() {
  const calls: string[] = [];
  const disk = watchedDisk((call, path) => {
    if (path.endsWith("registry.json")) calls.push(call);
  });
  const storageRoot = join(temporaryDirectory(), "pi-token-budget");
  const context = { version: 1, runId: "r", rootSessionId: "r", storageRoot } as const;
  const registry = new Registry({ context, disk });
  const { pid, start: processStart } = thisProcess();
  const root = { address: "/root", sessionId: "r", sessionKey: "r", sessionFile: null, named: true, parent: null };
  const created = "2026-01-02T03:04:05.678Z";
  await registry.register({ ...root, declared: undefined, created, state: { type: "running", pid, processStart } });
  return { calls, registry, context };
}

/** The clock of the process goes on; the file's age grows with it. */
function passTime(): void {
  const now = Date.now();
  vi.spyOn(Date, "now").mockReturnValue(now + LATER_MS);
}

test("a registry that does not change is looked at, not read", async () => {
  const { calls, registry } = await watchedRegistry();
  passTime();
  const before = [registry.read(), registry.read()];
  calls.length = 0;
  for (let looks = 0; looks < 10; looks++) expect(registry.read()).toBe(before[1]);
  expect(calls).toEqual(Array(10).fill("lstatSync"));
});

test("what another process writes is read at once, also what it writes right behind that", async () => {
  const { registry, context } = await watchedRegistry();
  passTime();
  for (let reads = 0; reads < 3; reads++) expect(registry.read()[0]?.state.type).toBe("running");
  const other = new Registry({ context });
  vi.restoreAllMocks();
  for (const category of ["a", "b", "c"]) {
    await other.setCategory("/root", category);
    expect(registry.read()[0]?.category).toBe(category);
  }
});

test("a registry that is edited in place is read again, though its times are set back", async () => {
  const { registry } = await watchedRegistry();
  passTime();
  for (let reads = 0; reads < 3; reads++) expect(registry.read()).toHaveLength(1);
  const { registry: file } = registry.layout;
  writeFileSync(file, "{}");
  utimesSync(file, new Date(0), new Date(0));
  expect(() => registry.read()).toThrow("is damaged");
});
