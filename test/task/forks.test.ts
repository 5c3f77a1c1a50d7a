// Where the notes of a forked session's source are.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { NotesStore } from "../../src/notes/store.ts";
import { forkSource } from "../../src/task/forks.ts";
import { inMemory, memberOf, newPlace, sessionIn } from "./tasks.ts";

async function forked(sourceFile?: string) {
  const place = newPlace();
  const source = sourceFile ? sessionIn(join(place.base, sourceFile), "r") : place.session("r");
  const { task } = place.open(source);
  const fork = place.session("f", "forks", source.sessionFile);
  return { place, source, task, fork, find: () => forkSource(fork, source.sessionFile, place) };
}

describe("the source of a fork", () => {
  test("is no source where there is no fork", async () => {
    const { place, source, fork } = await forked();
    expect(forkSource(fork, undefined, place)).toBeUndefined();
    expect(forkSource(fork, "relative.jsonl", place)).toBeUndefined();
    expect(forkSource(source, source.sessionFile, place)).toBeUndefined();
    expect(forkSource(inMemory("m"), join(place.base, "nothing there.jsonl"), place)).toBeUndefined();
  });

  test("has its notes where they always were, registered or not, its file there or not", async () => {
    const { source, task, find } = await forked();
    const expected = { notesRoot: task.notesRoot, agent: "/root", category: null };
    expect(find()).toEqual(expected);
    await task.join();
    expect(find()).toEqual(expected);
    rmSync(String(source.sessionFile));
    expect(find()).toEqual(expected);
  });

  test("is found by its header when the file's name holds no id", async () => {
    const { task, find } = await forked("sessions/my session.jsonl");
    expect(find()).toEqual({ notesRoot: task.notesRoot, agent: "/root", category: null });
  });

  test("may be a child, or of a category, which the fork has too", async () => {
    const place = newPlace();
    const { task } = place.open(place.session("r"), { category: "s" });
    await task.join();
    const identity = place.session("c", "children");
    const { task: child } = place.open(identity, { membership: memberOf(task, { agentName: "x" }) });
    await child.join();
    const fork = place.session("f", "forks", identity.sessionFile);
    const source = forkSource(fork, identity.sessionFile, place);
    expect(source).toEqual({ notesRoot: child.notesRoot, agent: "/root/x", category: "s" });
    const own = place.open(fork, { category: source?.category }).task;
    expect(own).toMatchObject({ agent: "/root", context: { runId: "f" } });
    expect(own.category()).toBe("s");
    await own.join();
    expect(place.open(fork).task.category()).toBe("s");
    expect(task.agents()).toHaveLength(2);
  });

  test("that cannot be read gives nothing, and says why", async () => {
    const { source, task, find } = await forked();
    await task.join();
    const registry = readFileSync(task.registry.layout.registry);
    writeFileSync(task.registry.layout.registry, "{");
    expect(find).toThrow(/registry of this root task is damaged/);
    writeFileSync(task.registry.layout.registry, registry);
    expect(find()).toMatchObject({ agent: "/root" });
    writeFileSync(String(source.sessionFile), `{"type":"session","id":"r"}\n${"x".repeat(1000)}`);
    expect(find()).toMatchObject({ notesRoot: task.notesRoot });
    writeFileSync(String(source.sessionFile), "x".repeat(100_000));
    expect(find()).toMatchObject({ notesRoot: task.notesRoot });
    rmSync(String(source.sessionFile));
    mkdirSync(String(source.sessionFile));
    expect(find()).toMatchObject({ notesRoot: task.notesRoot });
  });

  test("gives the fork notes that are independent afterwards", async () => {
    const { place, task, fork, find } = await forked();
    const original = new NotesStore({ root: task.notesRoot, agent: "/root" });
    await original.write("plan.md", "one");
    const source = find();
    const own = place.open(fork).task;
    const copy = new NotesStore({ root: own.notesRoot, agent: "/root" });
    await copy.copyFrom(new NotesStore({ root: String(source?.notesRoot), agent: String(source?.agent) }));
    await original.append("plan.md", " two");
    await copy.append("plan.md", " three");
    expect(original.read("plan.md").text).toBe("one two");
    expect(copy.read("plan.md").text).toBe("one three");
  });
});
