// The registry on disk: what is damaged, newer or not writable is one clear error, and stays as it is.
import fs, { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DiskCalls } from "../../src/storage/disk.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { Registry } from "../../src/task/registry.ts";
import type { Registration } from "../../src/task/roster.ts";
import { failingDisk, temporaryDirectory, treeOf } from "../storage/disks.ts";

const WAIT_MS = 50;

function newRegistry(storageRoot = join(temporaryDirectory(), "pi-token-budget"), disk?: DiskCalls): Registry {
  const context = { version: 1, runId: "r", rootSessionId: "r", storageRoot } as const;
  return new Registry({ context, disk, lockWaitMs: WAIT_MS });
}

function session(sessionId: string, rest: Partial<Registration> = {}): Registration {
  const address = sessionId === "r" ? "/root" : `/root/${sessionId}`;
  const { pid, start: processStart } = thisProcess();
  return {
    ...{ address, sessionId, sessionKey: sessionId, sessionFile: null, named: true, declared: undefined },
    parent: sessionId === "r" ? null : "/root",
    created: "2025-01-02T03:04:05.678Z",
    state: { type: "running", pid, processStart },
    ...rest,
  };
}

function damaged(registry: Registry, content: string): string {
  const { registry: file } = registry.layout;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

describe("a registry", () => {
  test("is empty, and makes nothing, until somebody registers", () => {
    const registry = newRegistry();
    expect(registry.read()).toEqual([]);
    expect(registry.exists()).toBe(false);
    expect(registry.sweep()).toEqual({ removed: 0, failed: [] });
    expect(treeOf(registry.context.storageRoot)).toEqual([]);
  });

  test("holds who registered, for its owner's eyes only", async () => {
    const registry = newRegistry();
    await registry.register(session("r"));
    const agent = await registry.register(session("a"));
    expect(agent).toMatchObject({ address: "/root/a", notesRoot: registry.layout.notes("/root/a") });
    expect(registry.read()).toHaveLength(2);
    expect(registry.isRunning(agent)).toBe(true);
    expect(statSync(registry.layout.registry).mode & 0o777).toBe(0o600);
    for (const directory of [registry.context.storageRoot, registry.layout.directory, registry.layout.meta]) {
      expect(statSync(directory).mode & 0o777).toBe(0o700);
    }
    expect(treeOf(join(registry.layout.meta, "tmp"))).toEqual([]);
  });

  test("is not written when nothing changes", async () => {
    const registry = newRegistry();
    await registry.register(session("r"));
    const { ino } = statSync(registry.layout.registry);
    await registry.register(session("r"));
    expect(statSync(registry.layout.registry).ino).toBe(ino);
  });

  test("can be moved with everything it names", async () => {
    const base = temporaryDirectory();
    const registry = newRegistry(join(base, "old"));
    await registry.register(session("r"));
    fs.renameSync(join(base, "old"), join(base, "new"));
    expect(newRegistry(join(base, "new")).read()).toMatchObject([{ notesRoot: join(base, "new/notes/r") }]);
  });

  test("says that an agent has ended: by its own word, or by its process", async () => {
    const registry = newRegistry();
    await registry.register(session("r"));
    const agent = await registry.register(session("a"));
    await registry.markEnded("/root/a", process.pid + 1);
    expect(registry.read()[1]).toEqual(agent);
    await registry.markEnded("/root/a", process.pid);
    expect(registry.read()[1]?.state).toEqual({ type: "ended" });
    const reused = await registry.register(
      session("b", { state: { type: "running", pid: process.pid, processStart: "another boot:1" } }),
    );
    expect(registry.isRunning(reused)).toBe(process.platform !== "linux");
  });

  test("refuses a change that breaks a rule, with both addresses, and keeps what it had", async () => {
    const registry = newRegistry();
    await registry.register(session("r", { declared: "s" }));
    await registry.register(session("a"));
    const before = readFileSync(registry.layout.registry, "utf8");
    const breaking = registry.update((roster) =>
      roster.map((agent) => (agent.address === "/root/a" ? { ...agent, category: null } : agent)),
    );
    await expect(breaking).rejects.toMatchObject({ code: "refused" });
    await expect(breaking).rejects.toThrow(/\/root\/a has not the category of its parent \/root/);
    await expect(registry.setCategory("/root/a", "t")).rejects.toMatchObject({ code: "refused" });
    expect(readFileSync(registry.layout.registry, "utf8")).toBe(before);
    await registry.setCategory("/root", "t");
    expect(registry.read().map(({ category }) => category)).toEqual(["t", "t"]);
  });
});

const GOOD = { version: 1, runId: "r", rootSessionId: "r" };

describe("a registry that cannot be used", () => {
  test.each<[string, string, string, RegExp]>([
    ["is empty", "", "storage_failed", /damaged/],
    ["is cut off", '{"version":1,"runId":"r","age', "storage_failed", /damaged/],
    ["has no version", "{}", "storage_failed", /damaged/],
    ["has no agents", JSON.stringify(GOOD), "storage_failed", /damaged: in .*registry\.json, agents is undefined/],
    ["has a broken agent", JSON.stringify({ ...GOOD, agents: [{}] }), "storage_failed", /agents\[0\]\.address/],
    ["is another task's", JSON.stringify({ ...GOOD, runId: "x", agents: [] }), "storage_failed", /another root task/],
    ["is newer", JSON.stringify({ ...GOOD, version: 2, agents: [] }), "newer_format", /has format 2.*Update/],
  ])("because it %s is an error that names it, and stays", async (_name, content, code, message) => {
    const registry = newRegistry();
    const file = damaged(registry, content);
    expect(() => registry.read()).toThrow(expect.objectContaining({ code }));
    expect(() => registry.read()).toThrow(message);
    expect(() => registry.read()).toThrow(file);
    await expect(registry.register(session("r"))).rejects.toMatchObject({ code });
    await expect(registry.setCategory("/root", "s")).rejects.toThrow(message);
    expect(registry.exists()).toBe(true);
    expect(readFileSync(file, "utf8")).toBe(content);
    expect(treeOf(registry.layout.directory)).toEqual(["registry.json", "registry.meta", "registry.meta/locks"]);
  });

  test("because a rule is broken in it shows nothing", async () => {
    const registry = newRegistry();
    await registry.register(session("r"));
    await registry.register(session("a"));
    const { registry: file } = registry.layout;
    const content = readFileSync(file, "utf8").replace('"category":null', '"category":"s"');
    writeFileSync(file, content);
    expect(() => registry.read()).toThrow(expect.objectContaining({ code: "refused" }));
    expect(() => registry.read()).toThrow(/\/root\/a .* \/root .*left as it is/);
    await expect(registry.register(session("b"))).rejects.toMatchObject({ code: "refused" });
    expect(readFileSync(file, "utf8")).toBe(content);
  });

  test("because something else is in its place is an error", async () => {
    const registry = newRegistry();
    mkdirSync(registry.layout.registry, { recursive: true });
    await expect(registry.register(session("r"))).rejects.toMatchObject({ code: "refused" });
    const linked = newRegistry();
    const target = damaged(newRegistry(), "{}");
    mkdirSync(linked.layout.directory, { recursive: true });
    fs.symlinkSync(target, linked.layout.registry);
    await expect(linked.register(session("r"))).rejects.toMatchObject({ code: "refused" });
    expect(readFileSync(target, "utf8")).toBe("{}");
  });

  test.runIf(process.getuid?.() !== 0)("because its directory is read-only is an error", async () => {
    const registry = newRegistry();
    mkdirSync(registry.layout.directory, { recursive: true });
    chmodSync(registry.layout.directory, 0o500);
    await expect(registry.register(session("r"))).rejects.toThrow(/could not be/);
  });
});

describe("a disk that fails", () => {
  test.each(["ENOSPC", "EACCES"])("in any one call with %s leaves the old registry", async (code) => {
    for (let number = 0; ; number++) {
      const healthy = newRegistry();
      await healthy.register(session("r"));
      const { disk, failed } = failingDisk(number, code);
      const registry = newRegistry(healthy.context.storageRoot, disk);
      const error = await registry.register(session("a")).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (failed() === undefined) break;
      const where = `call ${number}, ${failed()}`;
      expect(healthy.read().length, where).toBe(error === undefined ? 2 : 1);
      if (error) expect(error, where).toMatchObject({ code: expect.stringMatching(/storage_failed|lock_unavailable/) });
      expect(treeOf(join(healthy.layout.meta, "tmp")), where).toEqual([]);
      await registry.register(session("a"));
      expect(healthy.read(), where).toHaveLength(2);
    }
  });
});
