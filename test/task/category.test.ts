// Categories: labels, the one predicate, the table of choices, and the rule between parent and child.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  assertFlow,
  type Category,
  canRead,
  categoryProblem,
  parseCategory,
  taskCategoryChoice,
} from "../../src/task/category.ts";

const categories = fc.constantFrom<Category>(null, "s", "t", "u_1-x");

describe("a label", () => {
  test.each([
    [" Secret ", "secret"],
    ["0-a_b", "0-a_b"],
    ["a".repeat(64), "a".repeat(64)],
    [null, null],
  ])("%j is read as %j", (given, read) => {
    expect(parseCategory(given)).toBe(read);
  });

  test.each(["", "  ", "-a", "_a", "a b", "é", "a/b", "a".repeat(65), undefined, 1, {}, "a\nb"])(
    "%j is refused",
    (given) => {
      expect(() => parseCategory(given)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
      expect(() => parseCategory(given, "task.category")).toThrow(/^task\.category is .*1 to 64 characters/);
    },
  );
});

describe("reading", () => {
  test("ordinary content is for all, a category's for itself", () => {
    fc.assert(
      fc.property(categories, categories, (viewer, owner) => {
        expect(canRead(viewer, owner)).toBe(owner === null || viewer === owner);
      }),
    );
  });

  test("decides every flow, and a refusal names no category", () => {
    fc.assert(
      fc.property(categories, categories, (from, to) => {
        const flow = () => assertFlow(from, to);
        if (canRead(to, from)) return flow();
        expect(flow).toThrow(expect.objectContaining({ code: "refused" }));
        expect(flow).not.toThrow(/\b(s|t|u_1-x)\b/);
      }),
    );
  });

  test("never lets content out through others: flows compose", () => {
    fc.assert(
      fc.property(categories, categories, categories, (a, b, c) => {
        if (canRead(b, a) && canRead(c, b)) expect(canRead(c, a)).toBe(true);
      }),
    );
  });
});

describe("the choice of a task's category", () => {
  test.each<[Category | undefined, Category, boolean, Category]>([
    [undefined, null, false, null],
    [undefined, "s", false, "s"],
    [null, null, true, null],
    [null, "s", true, null],
    ["s", "s", true, "s"],
    [" S ", "s", true, "s"],
  ])("declared %j by %j", (declared, owner, own, category) => {
    expect(taskCategoryChoice(declared, owner)).toEqual({ own, category });
  });

  test.each<[Category, Category, string]>([
    ["s", null, "leave category out for an ordinary task."],
    ["t", "s", "or give s."],
  ])("declared %j by %j is refused with the way out", (declared, owner, wayOut) => {
    expect(() => taskCategoryChoice(declared, owner)).toThrow(expect.objectContaining({ code: "refused" }));
    expect(() => taskCategoryChoice(declared, owner)).toThrow(wayOut);
  });

  test("is always one that the rule between parent and child takes", () => {
    fc.assert(
      fc.property(fc.option(categories, { nil: undefined }), categories, (declared, owner) => {
        let choice: ReturnType<typeof taskCategoryChoice>;
        try {
          choice = taskCategoryChoice(declared, owner);
        } catch {
          return;
        }
        const parent = { address: "/root", category: owner, categoryOwn: true };
        const child = { address: "/root/a", category: choice.category, categoryOwn: choice.own };
        expect(categoryProblem(parent, child)).toBeUndefined();
      }),
    );
  });
});

test.each<[Category, Category, boolean, boolean]>([
  ["s", "s", false, true],
  ["s", "s", true, true],
  ["s", null, true, true],
  ["s", null, false, false],
  ["s", "t", true, false],
  ["s", "t", false, false],
  [null, null, false, true],
  [null, "s", false, false],
  [null, "s", true, true],
])("below a parent of %j a child of %j with own %j: %j", (above, below, categoryOwn, allowed) => {
  const parent = { address: "/root/p", category: above, categoryOwn: true };
  const problem = categoryProblem(parent, { address: "/root/p/c", category: below, categoryOwn });
  if (allowed) expect(problem).toBeUndefined();
  else expect(problem).toMatch(/\/root\/p\/c .*\/root\/p$/);
});
