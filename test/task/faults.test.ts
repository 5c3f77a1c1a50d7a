// A locator, an index or a registry that is corrupt, truncated, newer or not writable: one clear report, nothing
// overwritten, and the session goes on.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DiskCalls } from "../../src/storage/disk.ts";
import { errnoError, failingDisk, treeOf, watchedDisk } from "../storage/disks.ts";
import { inMemory, memberOf, newPlace, type Place } from "./tasks.ts";

/** A root and a child with a locator each. */
async function family() {
  const place = newPlace();
  const identity = place.session("r");
  const { task } = place.open(identity);
  await task.join();
  const childIdentity = place.session("c");
  const { task: child } = place.open(childIdentity, { membership: memberOf(task, { agentName: "x" }) });
  await child.join();
  return { place, identity, task, childIdentity, child };
}

/** The file in a storage that holds this session's locator. */
function locatorOf(storageRoot: string, sessionId: string): string {
  const directory = join(storageRoot, "sessions");
  const names = readdirSync(directory).map((name) => join(directory, name));
  const [file] = names.filter((name) => JSON.parse(readFileSync(name, "utf8")).sessionId === sessionId);
  if (file === undefined) throw new Error(`no locator of ${sessionId}`);
  return file;
}

function treeWithTexts(place: Place): unknown {
  const files = treeOf(place.base).filter((path) => statSync(join(place.base, path)).isFile());
  return files.map((path) => [path, readFileSync(join(place.base, path), "utf8")]);
}

const DAMAGE: readonly (readonly [string, (text: string) => string, RegExp])[] = [
  ["empty", () => "", /is damaged/],
  ["truncated", (text) => text.slice(0, -20), /is damaged/],
  ["something else", () => '{"version":1}', /is damaged/],
  ["at an address that is none", (text) => text.replace("/root/x", "/root/X"), /is damaged/],
  ["leading to a relative place", (text) => text.replace(/"storageRoot":"[^"]*"/, '"storageRoot":"x"'), /is damaged/],
  ["newer", (text) => text.replace('"version":1', '"version":2'), /has format 2.*reads up to 1.*Update/],
];

describe.each(DAMAGE)("a locator that is %s", (_name, damage, message) => {
  test("is reported once and stays; the session is a root of its own in memory", async () => {
    const { place, task, childIdentity } = await family();
    const file = locatorOf(task.context.storageRoot, "c");
    const damaged = damage(readFileSync(file, "utf8"));
    writeFileSync(file, damaged);
    const { task: child, problems } = place.open(childIdentity);
    await child.join();
    await child.join();
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems[0]).toContain(file);
    expect(problems[0]).toMatch(/record of which root task this session belongs to/);
    expect(child).toMatchObject({ agent: "/root", context: { runId: "c" } });
    expect(readFileSync(file, "utf8")).toBe(damaged);
    expect(task.agents()).toHaveLength(2);
    expect(place.open(childIdentity).task.agents()).toHaveLength(1);
  });

  test("does not matter to a session that is told its task; it stays, with one report", async () => {
    const { place, task, childIdentity } = await family();
    const file = locatorOf(task.context.storageRoot, "c");
    const damaged = damage(readFileSync(file, "utf8"));
    writeFileSync(file, damaged);
    const { task: child, problems } = place.open(childIdentity, { membership: memberOf(task) });
    await child.join();
    expect(child.agent).toBe("/root/x");
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(readFileSync(file, "utf8")).toBe(damaged);
  });

  test("in the index, of a session that has moved, is the same", async () => {
    const { place, childIdentity } = await family();
    const file = locatorOf(join(place.agentDir, "pi-token-budget"), "c");
    const damaged = damage(readFileSync(file, "utf8"));
    writeFileSync(file, damaged);
    const sessionFile = join(place.base, "far", "c.jsonl");
    mkdirSync(dirname(sessionFile));
    renameSync(String(childIdentity.sessionFile), sessionFile);
    const { task: child, problems } = place.open({ ...childIdentity, sessionFile });
    await child.join();
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(child.agent).toBe("/root");
    expect(readFileSync(file, "utf8")).toBe(damaged);
  });

  test("of another session is no business of this one", async () => {
    const { place, task, childIdentity } = await family();
    writeFileSync(locatorOf(task.context.storageRoot, "r"), damage("{}"));
    const moved = join(place.base, "sessions", "moved.jsonl");
    renameSync(String(childIdentity.sessionFile), moved);
    const { task: child, problems } = place.open({ ...childIdentity, sessionFile: moved });
    expect(child.agent).toBe("/root/x");
    expect(problems).toEqual([]);
  });
});

describe("a place that cannot be written", () => {
  test("for the locator is reported once; the session is registered and goes on", async () => {
    const place = newPlace();
    const identity = place.session("r");
    const storage = join(place.base, "sessions/pi-token-budget");
    mkdirSync(storage);
    writeFileSync(join(storage, "sessions"), "in the way");
    const { task, problems } = place.open(identity);
    await task.join();
    await task.join();
    expect(problems).toEqual([expect.stringMatching(/root task this session belongs to could not be|not a directory/)]);
    expect(task.agents()).toHaveLength(1);
    expect(readFileSync(join(storage, "sessions"), "utf8")).toBe("in the way");
  });

  test("for anything is reported once; a root goes on, and tries again with its next write", async () => {
    const place = newPlace();
    const identity = place.session("r");
    let healthy = false;
    const disk = watchedDisk((call) => {
      if (!healthy && call === "mkdirSync") throw errnoError("EROFS", call);
    });
    const { task, problems } = place.open(identity, { disk });
    await task.join();
    await task.join();
    expect(problems).toEqual([expect.stringMatching(/The registry of this root task could not be.*EROFS/)]);
    await task.presence.markEnded();
    healthy = true;
    await task.join();
    expect(task.registry.read()).toHaveLength(1);
  });

  test("is an error to a child whose name may be another's, and none to one with a name of its own", async () => {
    const { place, task } = await family();
    const disk: DiskCalls = watchedDisk((call) => {
      if (call === "mkdirSync") throw errnoError("EACCES", call);
    });
    const named = place.open(inMemory("n"), { membership: memberOf(task, { agentName: "n" }), disk });
    await expect(named.task.join()).rejects.toMatchObject({ code: "lock_unavailable" });
    const automatic = place.open(inMemory("a"), { membership: memberOf(task), disk });
    await automatic.task.join();
    expect(automatic.problems).toEqual([expect.stringMatching(/EACCES/)]);
    expect(task.agents()).toHaveLength(2);
  });
});

describe("a registry that cannot be read", () => {
  test.each<[string, string, RegExp]>([
    ["is truncated", '{"version":1,"runId"', /registry of this root task is damaged.*registry\.json/],
    ["is newer", '{"version":9}', /has format 9.*registry\.json/],
    ["is another task's", '{"version":1,"runId":"z","rootSessionId":"z","agents":[]}', /belongs to another root task/],
  ])("because it %s keeps everybody in place, and refuses what needs it", async (_name, content, message) => {
    const { place, identity, task, childIdentity, child } = await family();
    const { registry: file } = task.registry.layout;
    writeFileSync(file, content);
    const before = treeWithTexts(place);
    for (const [session, known, options] of [
      [identity, task, {}],
      [childIdentity, child, {}],
      [identity, task, { membership: memberOf(task) }],
    ] as const) {
      const { task: again, problems } = place.open(session, options);
      expect(again).toMatchObject({ agent: known.agent, context: known.context, notesRoot: known.notesRoot });
      await again.join();
      expect(problems).toEqual([expect.stringMatching(message)]);
      expect(() => again.agents()).toThrow(message);
      expect(() => again.category()).toThrow(message);
      expect(() => again.agentNamed("/root")).toThrow(message);
      await again.presence.markEnded();
    }
    const named = place.open(inMemory("n"), { membership: memberOf(task, { agentName: "n" }) });
    expect(named.task.agent).toBe("/root/n");
    expect(named.problems).toEqual([expect.stringMatching(message)]);
    await expect(named.task.join()).rejects.toThrow(message);
    expect(treeWithTexts(place)).toEqual(before);
  });
});

test("whatever call fails, opening never throws and a second try works", { timeout: 120_000 }, async () => {
  for (let number = 0; ; number++) {
    const place = newPlace();
    const identity = place.session("r");
    const { disk, failed } = failingDisk(number, "EIO");
    const { task, problems } = place.open(identity, { disk, lockWaitMs: 20 });
    await task.join();
    await task.presence.markEnded();
    if (failed() === undefined) break;
    const where = `call ${number}, ${failed()}`;
    expect(problems.length, where).toBeLessThanOrEqual(1);
    const again = place.open(identity);
    expect(again.problems, where).toEqual([]);
    await again.task.join();
    expect(again.task.registry.read(), where).toMatchObject([{ address: "/root", state: { type: "running" } }]);
    rmSync(place.base, { recursive: true });
  }
});
