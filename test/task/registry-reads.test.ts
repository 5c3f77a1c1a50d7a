// An unchanged registry is read and checked once, however often it is asked and however many agents it has; a changed one
// is read anew, whoever has changed it.
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { NODE_DISK } from "../../src/storage/disk.ts";
import { Registry } from "../../src/task/registry.ts";
import { watchedDisk } from "../storage/disks.ts";
import { memberOf, newPlace, type Opened } from "./tasks.ts";

const DEADLINE_MS = 10_000;

/** A root task of so many agents, each in a process that has ended, and how often its registry is read whole. */
async function taskOf(agents: number) {
  const place = newPlace();
  const { task: root } = place.open(place.session("root"));
  await root.join();
  await root.registry.update((roster) => {
    const [first] = roster;
    if (!first) throw new Error("the root is registered");
    const children = Array.from({ length: agents - 1 }, (_, at) => ({
      ...first,
      ...{ address: `/root/a${at}`, parent: "/root", sessionId: `a${at}`, sessionKey: `a${at}`, sessionFile: null },
      ...{
        notesRoot: root.registry.layout.notes(`/root/a${at}`),
        historyDir: root.registry.layout.history(`/root/a${at}`),
      },
      categoryOwn: false,
      state: { type: "ended" as const },
    }));
    return [...roster, ...children];
  });
  let reads = 0;
  const disk = watchedDisk((call) => {
    if (call === "readFileSync") reads++;
  });
  const registry = new Registry({ context: root.context, disk });
  const readsOf = (work: () => void) => {
    const before = reads;
    work();
    return reads - before;
  };
  /** As it is when nothing has changed for a moment. */
  const rested = async () => {
    for (const untilMs = Date.now() + DEADLINE_MS; readsOf(() => registry.read()) > 0; await delay(20))
      if (Date.now() > untilMs) throw new Error("an unchanged registry is read again and again");
  };
  return { place, root, registry, readsOf, rested };
}

describe("a registry that nobody changes", () => {
  test.each([1, 1_000])("of %d agents is read once, and then only looked at", async (agents) => {
    const { registry, readsOf, rested } = await taskOf(agents);
    await rested();
    const roster = registry.read();
    expect(roster).toHaveLength(agents);
    expect(readsOf(() => Array.from({ length: 50 }, () => expect(registry.read()).toBe(roster)))).toBe(0);
  });

  test("costs the requests of a session no reading", async () => {
    const { place, root } = await taskOf(100);
    const parse = vi.spyOn(JSON, "parse");
    const { task }: Opened = place.open(place.session("child"), { membership: memberOf(root, { agentName: "child" }) });
    await task.join();
    const parsed = () => parse.mock.calls.filter(([text]) => String(text).includes('"agents"')).length;
    const ask = () => {
      task.agents();
      task.runningAgents();
      task.agentNamed("/root/a7");
      task.category();
    };
    for (const untilMs = Date.now() + DEADLINE_MS; ; await delay(20)) {
      const before = parsed();
      ask();
      if (parsed() === before) break;
      if (Date.now() > untilMs) throw new Error("an unchanged registry is parsed again and again");
    }
    const before = parsed();
    for (let request = 0; request < 20; request++) ask();
    expect(parsed()).toBe(before);
    parse.mockRestore();
  });
});

describe("a registry that somebody changes", () => {
  test("is read anew, also right after it was read", async () => {
    const { registry, rested, root } = await taskOf(3);
    await rested();
    for (const category of ["red", null, "blue", null]) {
      await root.registry.setCategory("/root", category);
      expect(registry.read()[0]?.category).toBe(category);
    }
  });

  test("in its place and by hand is read anew, though its size is the same", async () => {
    const { registry, rested } = await taskOf(2);
    await rested();
    const { registry: file } = registry.layout;
    for (const name of ["b0", "c0", "d0"]) {
      const text = NODE_DISK.readFileSync(file, "utf8");
      writeFileSync(file, String(text).replace(/\/root\/[a-d]0/, `/root/${name}`));
      expect(registry.read().map(({ address }) => address)).toEqual(["/root", `/root/${name}`]);
    }
    writeFileSync(file, `${readFileSync(file, "utf8").slice(0, -10)}`);
    expect(() => registry.read()).toThrow(/is damaged/);
  });
});
