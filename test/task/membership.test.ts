// Which task a session finds: its own, the one it was given, and the same one again after everything that may happen.
import { copyFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { automaticName, storageLayout } from "../../src/task/layout.ts";
import { agentAt } from "../../src/task/roster.ts";
import { temporaryDirectory, treeOf } from "../storage/disks.ts";
import { inMemory, memberOf, newPlace, sessionIn } from "./tasks.ts";

async function joinedRoot(place = newPlace(), id = "r", directory = "sessions") {
  const identity = place.session(id, directory);
  const { task } = place.open(identity);
  await task.join();
  return { place, identity, task, file: String(identity.sessionFile) };
}

describe("a new session", () => {
  test("is the root of its own task and leaves nothing until it writes", async () => {
    const place = newPlace();
    const identity = place.session("r");
    const before = treeOf(place.base);
    const { task, problems } = place.open(identity);
    expect(task.context).toEqual({
      version: 1,
      runId: "r",
      rootSessionId: "r",
      storageRoot: join(place.base, "sessions/pi-token-budget"),
    });
    expect(task).toMatchObject({ agent: "/root", parent: null });
    expect(task.notesRoot).toBe(storageLayout(identity, place.agentDir).notesRoot);
    expect(task.agents()).toMatchObject([{ address: "/root", sessionId: "r", running: true }]);
    expect(task.category()).toBe(null);
    expect(() => task.agentNamed("/root/x")).toThrow(/No agent "\/root\/x".*only \/root, yourself/);
    task.sweep();
    await task.presence.markEnded();
    expect(treeOf(place.base)).toEqual(before);
    expect(problems).toEqual([]);
  });

  test("uses the notes that are there already", () => {
    const place = newPlace();
    const identity = place.session("r");
    const notes = join(place.base, "sessions/pi-token-budget/notes/r");
    mkdirSync(notes, { recursive: true });
    expect(place.open(identity).task.notesRoot).toBe(notes);
  });

  test("in memory lies below the agent directory, apart from others", async () => {
    const place = newPlace();
    const { task } = place.open(inMemory("m"));
    await task.join();
    const storageRoot = join(place.agentDir, "pi-token-budget/memory/m");
    expect(task.context.storageRoot).toBe(storageRoot);
    expect(existsSync(join(storageRoot, "tasks/m/registry.json"))).toBe(true);
    expect(treeOf(place.base).every((path) => path.startsWith("agent"))).toBe(true);
    await task.presence.markEnded();
    // Whoever holds the context still reads it.
    const reader = place.open(place.session("c"), { membership: memberOf(task) });
    expect(reader.task.agentNamed("/root")).toMatchObject({ running: false, notesRoot: task.notesRoot });
  });

  test("beside another one shares nothing with it", async () => {
    const { place, task: one } = await joinedRoot();
    const { task: two } = place.open(place.session("q"));
    await two.join();
    expect(two.agents()).toHaveLength(1);
    expect(one.agents()).toHaveLength(1);
    expect(two.notesRoot).not.toBe(one.notesRoot);
    expect(two.historyDir).not.toBe(one.historyDir);
  });

  test("in a file where another was before is a new task", async () => {
    const { place, file } = await joinedRoot();
    const { task } = place.open(sessionIn(file, "q"));
    expect(task.context.runId).toBe("q");
    await task.join();
    expect(place.open(sessionIn(file, "q")).task.agents()).toMatchObject([{ sessionId: "q" }]);
  });

  test("with any id and any file name stays in its storage", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.constantFrom("..", "../../x", "/etc", "a/b", "con", "", "\0", "x".repeat(300), "__proto__"),
        ),
        async (id) => {
          const place = newPlace();
          const file = join(place.base, "sessions", "odd name é.jsonl");
          const { task, problems } = place.open(sessionIn(file, id));
          const storage = join(place.base, "sessions/pi-token-budget/");
          expect(task.notesRoot.startsWith(join(storage, "notes/"))).toBe(true);
          expect(task.historyDir.startsWith(join(storage, "tasks/"))).toBe(true);
          await task.join();
          expect(problems).toEqual([]);
          expect(place.open(sessionIn(file, id)).task.context).toEqual(task.context);
          expect(task.agents()).toHaveLength(1);
          rmSync(place.base, { recursive: true });
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("a child", () => {
  test("is registered below its parent, under its name or an automatic one", async () => {
    const { place, task } = await joinedRoot();
    const identity = place.session("c1", "elsewhere");
    const child = place.open(identity, { membership: memberOf(task) });
    await child.task.join();
    const automatic = `/root/${automaticName(String(identity.sessionFile))}`;
    expect(child.task).toMatchObject({ agent: automatic, parent: "/root", context: task.context });
    const named = place.open(inMemory("c2"), {
      membership: { ...memberOf(task), parentAgentName: automatic, agentName: "deep/er" },
    });
    await named.task.join();
    expect(named.task).toMatchObject({ agent: `${automatic}/deep/er`, parent: automatic });
    const storage = task.context.storageRoot;
    for (const { notesRoot, historyDir } of [child.task, named.task]) {
      expect(notesRoot).toMatch(/tasks\/r\/notes\/[0-9a-f]{32}$/);
      expect(historyDir.startsWith(`${storage}/tasks/r/history/`)).toBe(true);
    }
    const addresses = ["/root", automatic, `${automatic}/deep/er`];
    for (const { task: each } of [{ task }, child, named]) {
      expect(each.agents().map(({ address, running }) => [address, running])).toEqual(addresses.map((a) => [a, true]));
    }
    expect(() => task.agentNamed("/root/x")).toThrow(`you are /root; there are ${addresses.slice(1).join(", ")}.`);
    expect([...child.problems, ...named.problems]).toEqual([]);
    // Nothing of the task lies in the child's own directory.
    expect(treeOf(join(place.base, "elsewhere")).filter((path) => path.includes("pi-token-budget"))).toEqual([]);
  });

  test("sees itself before it has registered, and so does nobody else", async () => {
    const { place, task } = await joinedRoot();
    const { task: child } = place.open(inMemory("c"), { membership: memberOf(task, { agentName: "x" }) });
    expect(child.agents().map(({ address }) => address)).toEqual(["/root", "/root/x"]);
    expect(task.agents()).toHaveLength(1);
  });

  test("may come before its parent has registered", async () => {
    const place = newPlace();
    const root = place.open(place.session("r")).task;
    const child = place.open(inMemory("c"), { membership: memberOf(root) }).task;
    await child.join();
    expect(root.agents().map(({ address }) => address)).toEqual(["/root", child.agent]);
    await root.join();
    expect(child.agentNamed("/root")).toMatchObject({ sessionId: "r", running: true, notesRoot: root.notesRoot });
  });

  test("whose launcher passes the root its own context is the root", async () => {
    const { place, task, identity } = await joinedRoot();
    const again = place.open(identity, { membership: memberOf(task, { agentName: "x" }) }).task;
    expect(again).toMatchObject({ agent: "/root", context: task.context });
  });

  test("that ends says so; its entry and places stay", async () => {
    const { place, task } = await joinedRoot();
    const membership = memberOf(task, { agentName: "x" });
    const child = place.open(inMemory("c"), { membership }).task;
    await child.join();
    await child.presence.markEnded();
    expect(task.agentNamed("/root/x")).toMatchObject({ running: false, state: { type: "ended" } });
    const again = place.open(inMemory("c"), { membership }).task;
    expect(again.notesRoot).toBe(child.notesRoot);
    await again.join();
    expect(task.agentNamed("/root/x").running).toBe(true);
  });

  test.each<[string, object, RegExp]>([
    [
      "a name that is taken",
      { agentName: "taken" },
      /\/root\/taken is held by another session.*"t".*\/root\/taken_2 is free/,
    ],
    ["an unknown parent", { parentAgentName: "/root/nobody" }, /parentAgentName is "\/root\/nobody"/],
    ["another's category", { category: "s" }, /category is "s": it is not this agent's/],
  ])("with %s is told why and goes on apart", async (_name, wrong, problem) => {
    const { place, task } = await joinedRoot();
    await place.open(inMemory("t"), { membership: memberOf(task, { agentName: "taken" }) }).task.join();
    const child = place.open(place.session("c", "elsewhere"), { membership: memberOf(task, wrong) });
    expect(child.problems).toEqual([expect.stringMatching(problem)]);
    expect(child.problems[0]).toMatch(/continues apart from the task: it can neither read nor write anything there\.$/);
    expect(child.task).toMatchObject({ agent: "/apart", isApart: true, context: { runId: "c" } });
    const required = place.open(place.session("d"), { membership: memberOf(task, { ...wrong, required: true }) });
    expect(required.problems).toEqual([expect.stringMatching(/required, so this session sends nothing to a model\.$/)]);
    expect(child.task.problem?.message).toMatch(problem);
    await child.task.join();
    expect(child.task.agents().map(({ address }) => address)).toEqual(["/apart"]);
    for (const address of ["/root", "/root/taken", "/apart/x"])
      expect(() => child.task.agentNamed(address)).toThrow(problem);
    expect(task.agents()).toHaveLength(2);
    expect(treeOf(child.task.context.storageRoot).filter((path) => path.startsWith("sessions"))).toEqual([]);
  });

  test("that cannot join a task of a category keeps that category", async () => {
    const place = newPlace();
    const { task } = place.open(place.session("r"), { category: "s" });
    await task.join();
    await place.open(inMemory("t"), { membership: memberOf(task, { agentName: "x" }) }).task.join();
    const open = (rest: object) =>
      place.open(place.session("c", "elsewhere"), { membership: memberOf(task, { agentName: "x", ...rest }) }).task;
    expect(open({}).category()).toBe("s");
    expect(open({ category: "t" }).category()).toBe("s");
    expect(open({ category: null }).category()).toBe(null);
  });

  test.each([
    [undefined, "s", false],
    [null, null, true],
    ["s", "s", true],
  ] as const)("declared %j below a parent of category s", async (declared, category, categoryOwn) => {
    const place = newPlace();
    const { task } = place.open(place.session("r"), { category: "s" });
    await task.join();
    const rest = declared === undefined ? {} : { category: declared };
    const child = place.open(inMemory("c"), { membership: memberOf(task, rest) }).task;
    expect(child.category()).toBe(category);
    await child.join();
    expect(task.agentNamed(child.agent)).toMatchObject({ category, categoryOwn });
  });
});

describe("a session that starts again", () => {
  async function withChild() {
    const made = await joinedRoot();
    const identity = made.place.session("c", "children/deep");
    const { task: child } = made.place.open(identity, { membership: memberOf(made.task, { agentName: "x" }) });
    await child.join();
    return { ...made, child, childFile: String(identity.sessionFile) };
  }

  test("finds its task, root and child, without being told", async () => {
    const { place, identity, task, child, childFile } = await withChild();
    const again = place.open(identity);
    expect(again.task.context).toEqual(task.context);
    const childAgain = place.open({ ...identity, sessionId: "c", sessionFile: childFile });
    expect(childAgain.task).toMatchObject({ agent: "/root/x", parent: "/root", context: task.context });
    expect(childAgain.task.notesRoot).toBe(child.notesRoot);
    await childAgain.task.join();
    expect(task.agents()).toHaveLength(2);
    expect([...again.problems, ...childAgain.problems]).toEqual([]);
  });

  test.each(["renamed in its directory", "moved to another directory"])(
    "finds it when its file was %s",
    async (how) => {
      const { place, identity, task, file, child, childFile } = await withChild();
      const directory = how.startsWith("renamed") ? dirname : () => join(place.base, "far/away");
      for (const [from, sessionId, known] of [
        [file, "r", task],
        [childFile, "c", child],
      ] as const) {
        const to = join(directory(from), `${sessionId}-new name.jsonl`);
        mkdirSync(dirname(to), { recursive: true });
        renameSync(from, to);
        const moved = { ...identity, sessionId, sessionFile: to };
        for (let times = 0; times < 2; times++) {
          const { task: again, problems } = place.open(moved);
          expect(again.context).toEqual(task.context);
          expect(again.agent).toBe(known.agent);
          expect(again.notesRoot).toBe(known.notesRoot);
          await again.join();
          expect(problems).toEqual([]);
        }
        expect(agentAt(task.registry.read(), known.agent)?.sessionFile).toBe(to);
      }
      expect(task.agents()).toHaveLength(2);
    },
  );

  test("finds it when the whole sessions directory was moved, without an index", async () => {
    const { place, identity } = await joinedRoot();
    const { task } = place.open(identity);
    const childFile = join(String(identity.sessionFile).replace(/\.jsonl$/, ""), "run/run-0/session.jsonl");
    const childIdentity = sessionIn(childFile, "c");
    const child = place.open(childIdentity, { membership: memberOf(task) }).task;
    await child.join();
    const other = newPlace();
    cpSync(join(place.base, "sessions"), join(other.base, "sessions"), { recursive: true, preserveTimestamps: true });
    rmSync(place.base, { recursive: true });
    const there = (file: string | undefined) => String(file).replace(place.base, other.base);
    const root = other.open({ ...identity, sessionFile: there(identity.sessionFile) });
    const storageRoot = join(other.base, "sessions/pi-token-budget");
    expect(root.task).toMatchObject({ agent: "/root", context: { runId: "r", storageRoot } });
    const again = other.open({ ...childIdentity, sessionFile: there(childFile) });
    expect(again.task).toMatchObject({ agent: child.agent, context: root.task.context });
    expect(again.task.notesRoot).toBe(there(child.notesRoot));
    expect([...root.problems, ...again.problems]).toEqual([]);
  });

  test("through a linked directory is the same session", async () => {
    const { place, identity, task, childFile } = await withChild();
    symlinkSync(join(place.base, "children"), join(place.base, "linked"));
    const sessionFile = childFile.replace("/children/", "/linked/");
    const { task: again } = place.open({ ...identity, sessionId: "c", sessionFile });
    expect(again).toMatchObject({ agent: "/root/x", context: task.context });
  });

  test("is not taken for another one with its id: a copy, an id chosen twice, an id used again", async () => {
    const { place, identity, task, file } = await joinedRoot();
    const copy = join(place.base, "copy", "r.jsonl");
    mkdirSync(dirname(copy));
    copyFileSync(file, copy);
    const open = (rest: object) => place.open({ ...identity, sessionFile: copy, ...rest }).task.context.storageRoot;
    expect(open({})).toBe(join(place.base, "copy/pi-token-budget"));
    rmSync(file);
    expect(open({ createdAt: identity.createdAt + 1 })).toBe(join(place.base, "copy/pi-token-budget"));
    expect(open({})).toBe(task.context.storageRoot);
  });

  test("whose task was removed goes on alone, and is told when it was a child", async () => {
    const { place, identity, task, childFile } = await withChild();
    rmSync(task.registry.layout.directory, { recursive: true });
    const root = place.open(identity);
    expect(root.task.context).toEqual(task.context);
    expect(root.problems).toEqual([]);
    const child = place.open({ ...identity, sessionId: "c", sessionFile: childFile });
    expect(child.task).toMatchObject({ agent: "/root", context: { runId: "c" } });
    expect(child.problems).toEqual([
      expect.stringMatching(/was the agent \/root\/x of a root task, and that task is gone/),
    ]);
  });

  test("is not lost among many", async () => {
    const { place, identity, child, childFile } = await withChild();
    const sessions = join(place.base, "sessions/pi-token-budget/sessions");
    for (let n = 0; n < 300; n++) writeFileSync(join(sessions, `${String(n).padStart(32, "0")}.json`), "{}");
    rmSync(join(place.agentDir), { recursive: true });
    // The root's folder of children tells where to look.
    const to = join(String(identity.sessionFile).replace(/\.jsonl$/, ""), "moved.jsonl");
    mkdirSync(dirname(to));
    renameSync(childFile, to);
    expect(place.open({ ...identity, sessionId: "c", sessionFile: to }).task.agent).toBe(child.agent);
  });
});

test("several sessions of one process keep apart", async () => {
  const place = newPlace(temporaryDirectory());
  const roots = await Promise.all(
    ["a", "b", "c"].map(async (id) => {
      const root = place.open(place.session(id)).task;
      await root.join();
      const children = ["x", "y"].map(
        (name) => place.open(inMemory(`${id}${name}`), { membership: memberOf(root, { agentName: name }) }).task,
      );
      await Promise.all(children.map((child) => child.join()));
      return { root, children };
    }),
  );
  for (const { root, children } of roots) {
    const ids = [root, ...children].map((task) => task.agentNamed(task.agent).sessionId).sort();
    expect(
      root
        .agents()
        .map(({ sessionId }) => sessionId)
        .sort(),
    ).toEqual(ids);
    for (const child of children) expect(child.context).toEqual(root.context);
  }
  expect(
    new Set(roots.flatMap(({ root, children }) => [root, ...children].map(({ notesRoot }) => notesRoot))).size,
  ).toBe(9);
});
