// The eight cases of the rule that content decides, with the real table, registry, router and session parts of a task.
import { describe, expect, test } from "vitest";
import { createRouter, mayReceive } from "../../src/category/router.ts";
import { CategoryModelError } from "../../src/errors.ts";
import { type Category, canRead, dispatchHint, taskCategoryChoice } from "../../src/task/category.ts";
import type { SessionTask } from "../../src/task/membership.ts";
import { inMemory, memberOf, newPlace } from "../task/tasks.ts";

const categories = new Map([["s", ["p/labelled"]]]);
const FREE = { provider: "p", id: "free" };
const LABELLED = { provider: "p", id: "labelled" };
const route = createRouter({ categories, palette: () => [FREE, LABELLED], lastResort: () => FREE });

/** A root of a category, and what opens a task below it: `declared` as a launcher or a tool passes it. */
async function conversation(category: Category) {
  const place = newPlace();
  const { task: root } = place.open(inMemory("root"), { category });
  await root.join();
  const open = async (declared: Category | undefined, id = `child-${String(declared)}`): Promise<SessionTask> => {
    const choice = taskCategoryChoice(declared, root.category());
    const membership = memberOf(root, choice.own ? { category: choice.category } : {});
    const { task } = place.open(inMemory(id), { membership });
    await task.join();
    return task;
  };
  return { root, open, place };
}

describe("in a conversation of category s", () => {
  test("1: a task that declares nothing is ordinary, and free in its model", async () => {
    const { open, root } = await conversation("s");
    const child = await open(null);
    expect(child.category()).toBe(null);
    expect(root.agentNamed(child.agent)).toMatchObject({ category: null, categoryOwn: true });
    expect(route({ contentCategory: child.category(), pinned: FREE })).toBe(FREE);
  });

  test("2: a task that declares it is of it, and its default model is the labelled one", async () => {
    const { open } = await conversation("s");
    const child = await open("s");
    expect(child.category()).toBe("s");
    expect(route({ contentCategory: child.category() })).toBe(LABELLED);
  });

  test("3: a model without the label is none for it", async () => {
    const { open } = await conversation("s");
    const category = (await open("s")).category();
    expect(mayReceive(categories, category, FREE)).toBe(false);
    expect(route({ contentCategory: category, pinned: FREE })).toBe(LABELLED);
    const alone = createRouter({ categories, palette: () => [FREE], lastResort: () => FREE });
    expect(() => alone({ contentCategory: category, pinned: FREE })).toThrow(CategoryModelError);
  });

  test("4: another category is refused, by the table and by the registry; the own one is taken", async () => {
    const { open, place, root } = await conversation("s");
    await expect(open("t")).rejects.toThrow(/not this agent's/);
    const { task, problems } = place.open(inMemory("t"), { membership: memberOf(root, { category: "t" }) });
    expect(task.context.runId).not.toBe(root.context.runId);
    expect(problems.join()).toMatch(/not this agent's/);
    expect((await open("s")).category()).toBe("s");
  });

  test("6: an ordinary task reads nothing of who opened it, a task of the category does", async () => {
    const { open, root } = await conversation("s");
    expect(canRead((await open(null)).category(), root.category())).toBe(false);
    expect(canRead((await open("s")).category(), root.category())).toBe(true);
  });

  test("7: the hint is said for an ordinary task only", () => {
    expect(dispatchHint("s", null)).toMatch(/ordinary task.*goal, context and attachments/);
    expect(dispatchHint("s", "s")).toBeUndefined();
    expect(dispatchHint(null, null)).toBeUndefined();
  });

  test("8: an internal flow that passes nothing has what it quotes", async () => {
    const { open, root } = await conversation("s");
    const child = await open(undefined);
    expect(root.agentNamed(child.agent)).toMatchObject({ category: "s", categoryOwn: false });
  });
});

describe("a registry whose entry of the parent became ordinary by mistake", () => {
  /** A child that joins when the parent's entry says null, and its own log says something. */
  async function joined(said: Category | undefined, declared: Category | undefined) {
    const { root, place } = await conversation(null);
    const membership = memberOf(root, declared === undefined ? {} : { category: declared });
    const options = { membership, contentOf: () => said };
    const { task, problems } = place.open(inMemory("child"), options);
    await task.join();
    return { root, task, problems };
  }

  test("gives an undeclared child what the parent's log says, and gets it back itself", async () => {
    const { root, task } = await joined("s", undefined);
    expect(root.agentNamed(task.agent)).toMatchObject({ category: "s", categoryOwn: false, parent: "/root" });
    expect(root.category()).toBe("s");
  });

  test("takes a child that declares what the log says, and leaves an ordinary one ordinary", async () => {
    const declared = await joined("s", "s");
    expect(declared.root.agentNamed(declared.task.agent)).toMatchObject({ category: "s", categoryOwn: true });
    const ordinary = await joined("s", null);
    expect(ordinary.root.agentNamed(ordinary.task.agent)).toMatchObject({ category: null, categoryOwn: true });
    expect(ordinary.root.category()).toBe(null);
  });

  test("takes no undeclared child when nobody can say what the parent's content is", async () => {
    const { root, task, problems } = await joined(undefined, undefined);
    expect(task.context.runId).not.toBe(root.context.runId);
    expect(problems.join()).toMatch(/not known which category the content of \/root is of/);
    expect(root.agents()).toHaveLength(1);
  });
});

test("5: an ordinary conversation may declare nothing", async () => {
  const { open } = await conversation(null);
  await expect(open("s")).rejects.toThrow(/ordinary: leave category out/);
  expect((await open(null)).category()).toBe(null);
});
