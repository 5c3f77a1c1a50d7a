// Where everything lies: fixed places, and none that an id could lead out of its storage.
import { join, relative } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  hashedName,
  homeStorage,
  launcherPlaces,
  locatorLayout,
  rootNotes,
  sessionKey,
  storageLayout,
  taskLayout,
} from "../../src/task/layout.ts";

const STORAGE = "/sessions/pi-token-budget";
const FILE = { sessionId: "r", sessionFile: "/sessions/a_r.jsonl" };
const MEMORY = { sessionId: "m", sessionFile: undefined };

describe("places", () => {
  test("are the documented ones", () => {
    const layout = taskLayout(STORAGE, { runId: "r", rootSessionId: "r" });
    expect(homeStorage(FILE, "/agent")).toBe(STORAGE);
    expect(homeStorage(MEMORY, "/agent")).toBe("/agent/pi-token-budget/memory/m");
    expect(storageLayout(FILE, "/agent")).toEqual({ root: STORAGE, notesRoot: `${STORAGE}/notes/r` });
    expect(locatorLayout(STORAGE).directory).toBe(`${STORAGE}/sessions`);
    expect(layout).toMatchObject({
      directory: `${STORAGE}/tasks/r`,
      registry: `${STORAGE}/tasks/r/registry.json`,
      childEntry: `${STORAGE}/tasks/r/child-extension.ts`,
      records: `${STORAGE}/tasks/r/records`,
      work: `${STORAGE}/tasks/r/work`,
    });
    expect(layout.notes("/root")).toBe(`${STORAGE}/notes/r`);
    expect(layout.notes("/root/a")).toBe(`${STORAGE}/tasks/r/notes/${hashedName("/root/a")}`);
    expect(layout.history("/root")).toBe(`${STORAGE}/tasks/r/history/${hashedName("/root")}`);
  });

  test("stay the same from version to version", () => {
    expect(hashedName("/root/a")).toBe("2a7b919f28158580bebac14d0a79fea9");
  });

  test("of a session are known by its file, else by its id", () => {
    expect(sessionKey(FILE)).toBe("/sessions/a_r.jsonl");
    expect(sessionKey({ ...FILE, sessionFile: "/sessions/x/../a_r.jsonl" })).toBe("/sessions/a_r.jsonl");
    expect(sessionKey(MEMORY)).toBe("m");
  });

  test("of launchers are beside the file whose folder a child lies in", () => {
    expect(launcherPlaces("/s/root/run/run-0/session.jsonl").slice(0, 3)).toEqual([
      { parentFile: "/s/root/run/run-0.jsonl", storageRoot: "/s/root/run/pi-token-budget" },
      { parentFile: "/s/root/run.jsonl", storageRoot: "/s/root/pi-token-budget" },
      { parentFile: "/s/root.jsonl", storageRoot: "/s/pi-token-budget" },
    ]);
    expect(launcherPlaces(`/${"x/".repeat(100)}a.jsonl`).length).toBeLessThan(50);
    expect(launcherPlaces("/a.jsonl")).toEqual([]);
  });
});

test.each(["0198c0de-7a3b-7000-8000-00000000abcd", "my.run_1", "A-b"])("the id %s is its own folder's name", (id) => {
  expect(rootNotes(STORAGE, id)).toBe(join(STORAGE, "notes", id));
});

test("no id leads out of the storage, or to another id's folder", () => {
  const hostile = [
    "",
    ".",
    "..",
    "../..",
    "/etc/x",
    "a/b",
    "a\\b",
    "a\0",
    "con",
    "NUL.txt",
    "a.",
    "~",
    "x".repeat(500),
  ];
  const ids = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...hostile));
  fc.assert(
    fc.property(ids, ids, (one, other) => {
      const folders = [one, other].map((id) => relative(join(STORAGE, "notes"), rootNotes(STORAGE, id)));
      for (const folder of folders) expect(folder).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
      const task = taskLayout(STORAGE, { runId: one, rootSessionId: other });
      expect(task.registry).toBe(join(STORAGE, "tasks", String(folders[0]), "registry.json"));
      // Ids that are no well-formed text have no bytes of their own to be told apart by.
      if (one !== other && one.isWellFormed() && other.isWellFormed()) expect(folders[0]).not.toBe(folders[1]);
    }),
  );
});
