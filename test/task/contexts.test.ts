// Contexts that do not fit: whatever of one is left out, altered, or taken from another task's, its holder reads nothing of
// a task and makes none.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { NotesStore } from "../../src/notes/store.ts";
import { canRead } from "../../src/task/category.ts";
import { parseContext, parseMembership, type TaskContext, type TaskMembership } from "../../src/task/context.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { treeOf } from "../storage/disks.ts";
import { inMemory, newPlace } from "./tasks.ts";

const SECRET = "TOPSECRET";
const FIELDS = ["version", "runId", "storageRoot", "rootSessionId"] as const;

/** A task of a category with a note in each agent's storage, and an ordinary one in the same directory. */
async function world() {
  const place = newPlace();
  const secret = place.open(place.session("secret"), { category: "s" }).task;
  const plain = place.open(place.session("plain")).task;
  for (const task of [secret, plain]) {
    await task.join();
    const { task: child } = place.open(inMemory(`${task.context.runId}-child`), {
      membership: { ...task.context, agentName: "child" },
    });
    await child.join();
    const text = task === secret ? SECRET : "plain words";
    for (const of of [task, child])
      await new NotesStore({ root: of.notesRoot, agent: of.agent }).write("note.md", `${text} of ${of.agent}`);
  }
  return { place, secret, plain };
}

/** All that a session can get at: its own notes, and those of every agent that the rule lets it read. */
function readsOf(task: SessionTask): string {
  const all: string[] = [];
  const read = (root: string, agent: string) => {
    const notes = new NotesStore({ root, agent });
    for (const { path } of notes.list({ orderBy: "name", order: "ascending", limit: 10 }).rows)
      all.push(notes.read(path).text);
  };
  read(task.notesRoot, task.agent);
  for (const address of ["/apart", "/root", "/root/child", "/root/kid", task.agent]) {
    try {
      const other = task.agentNamed(address);
      if (canRead(task.category(), other.category)) read(other.notesRoot, other.address);
    } catch (error) {
      if (!(error instanceof TokenBudgetError)) throw error;
    }
  }
  return all.join("\n");
}

/** Field by field: kept, dropped, taken from the other task, or something else. */
function altered(own: TaskContext, other: SessionTask, changes: readonly unknown[]): Record<string, unknown> {
  const entries = FIELDS.flatMap((field, at): [string, unknown][] => {
    const how = changes[at];
    if (how === "drop") return [];
    if (how === "keep") return [[field, own[field]]];
    if (how === "swap") return [[field, other.context[field]]];
    if (how === "child") return [[field, field === "storageRoot" ? other.notesRoot : `${other.context.runId}-child`]];
    return [[field, how]];
  });
  return Object.fromEntries(entries);
}

describe("a context", () => {
  test("that names two tasks is refused, and the message says both", () => {
    const context = { version: 1, runId: "a", storageRoot: "/s", rootSessionId: "b" };
    for (const parse of [parseMembership, parseContext])
      expect(() => parse(context)).toThrow(/rootSessionId is "b"; it is unlike runId "a"/);
  });

  test("of a storage that is not there, or holds no such task, joins nothing and makes nothing", async () => {
    const { place, plain } = await world();
    const wrong: readonly Partial<TaskContext>[] = [
      { storageRoot: `${place.base}/nowhere/pi-token-budget` },
      { storageRoot: place.base },
      { runId: "other", rootSessionId: "other" },
    ];
    for (const change of wrong) {
      const before = treeOf(place.base);
      const { task, problems } = place.open(inMemory("kid"), { membership: { ...plain.context, ...change } });
      expect(task).toMatchObject({ agent: "/apart", problem: { code: "not_found" } });
      expect(problems).toEqual([expect.stringMatching(/There is no root task .* nothing was made there/)]);
      expect(treeOf(place.base)).toEqual(before);
    }
  });

  test("with any fields left out, altered or taken from another task's reads nothing of a category", async () => {
    const { place, secret, plain } = await world();
    const change = fc.oneof(
      fc.constant("keep"),
      fc.constant("drop"),
      fc.constant("swap"),
      fc.constant("child"),
      fc.constantFrom("", "x", "../secret", "SECRET", "/tmp", null, 7, {}),
    );
    let sessions = 0;
    await fc.assert(
      fc.asyncProperty(fc.tuple(change, change, change, change), fc.boolean(), async (changes, isNamed) => {
        const context = altered(plain.context, secret, changes);
        // Whole, it is the other task's own context, and that is for its launcher to give.
        const isWhole = (["runId", "rootSessionId", "storageRoot"] as const).every(
          (field) => context[field] === secret.context[field],
        );
        let membership: TaskMembership;
        try {
          membership = parseMembership({
            ...context,
            ...(isNamed ? { agentName: `kid_${sessions++}`, category: null } : {}),
          });
        } catch (error) {
          expect(error).toBeInstanceOf(TokenBudgetError);
          return;
        }
        const { task } = place.open(inMemory(`kid-${sessions++}`), { membership });
        if (!isWhole || isNamed) expect(readsOf(task)).not.toContain(SECRET);
      }),
      { numRuns: 300 },
    );
  });
});
