// What a todo list may hold, and what a write says of the list before it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkedTodos, droppedItems, TODOS_MAX, type TodoItem } from "../../src/todo/list.ts";
import { BOOTSTRAP_TODOS_MAX, openTodos, todoAnswerText } from "../../src/todo/text.ts";
import { item } from "./items.ts";

const refusal = (todos: readonly TodoItem[]): string => {
  try {
    checkedTodos(todos);
  } catch (error) {
    return String(error);
  }
  return "accepted";
};

describe("a list is refused", () => {
  it.each<[string, readonly TodoItem[], string]>([
    ["with an empty item", [item("a"), item("")], 'todos[1].content is ""; it must hold something'],
    ["with white space only", [item(" \n\t")], "todos[0].content is"],
    ["with nothing that can be seen", [item("\u200b\u202e\ufeff")], "todos[0].content is"],
    ["with the same item twice", [item("a"), item("b"), item(" a ")], "todos[0] and todos[2] have the same content"],
    ["with two active items", [item("a", "in_progress"), item("b", "in_progress")], 'both "in_progress"'],
    ["with a text of 10,000 characters", [item("x".repeat(10_000))], "10000 characters; at most 2000 are allowed"],
    ["with half a character", [item("a\ud83d")], "half of a surrogate pair"],
    ["with 201 items", Array.from({ length: 201 }, (_, n) => item(`${n}`)), "todos holds 201 items; at most 200"],
  ])("%s", (_what, todos, words) => {
    const message = refusal(todos);
    expect(message).toContain(words);
    expect(message).toContain("The list was not changed");
    expect(message.length).toBeLessThan(400);
  });
});

describe("a list is accepted", () => {
  it("trimmed, as a copy, with no item at all and with the most there may be", () => {
    expect(checkedTodos([])).toEqual([]);
    const given = [{ content: "  write the test ", status: "pending" as const, id: 7 }];
    const checked = checkedTodos(given);
    expect(checked).toEqual([item("write the test")]);
    (given[0] as { content: string }).content = "changed";
    expect(checked).toEqual([item("write the test")]);
    const most = Array.from({ length: TODOS_MAX }, (_, n) => item(`${n}${"👩‍💻".repeat(300)}`));
    expect(refusal(most)).toBe("accepted");
    expect(refusal([item("😀".repeat(2_000))])).toBe("accepted");
    expect(refusal([item("😀".repeat(2_001))])).toContain("2001 characters");
    // Case counts, and so does what is inside a text.
    expect(refusal([item("a b"), item("A b"), item("a  b")])).toBe("accepted");
  });

  it("whatever came before it", () => {
    const content = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).map((text) => `x${text}`);
    const list = fc.uniqueArray(content, { maxLength: 12, selector: (text) => text.trim() }).chain((contents) => {
      const active = fc.option(fc.nat(Math.max(0, contents.length - 1)), { nil: -1 });
      const others = fc.array(fc.constantFrom("pending" as const, "completed" as const), {
        minLength: contents.length,
        maxLength: contents.length,
      });
      return fc
        .tuple(active, others)
        .map(([at, statuses]) =>
          contents.map((text, n) => item(text, n === at ? "in_progress" : (statuses[n] ?? "pending"))),
        );
    });
    fc.assert(
      fc.property(list, list, (before, after) => {
        const checked = checkedTodos(after);
        expect(checked.map(({ status }) => status)).toEqual(after.map(({ status }) => status));
        const dropped = droppedItems(checkedTodos(before), checked);
        for (const { content, status } of dropped) {
          expect(status).not.toBe("completed");
          expect(checked.some((todo) => todo.content === content)).toBe(false);
        }
        const text = todoAnswerText({ todos: checked, dropped, clearedByUser: false, bound: 12_000 });
        expect(text.isWellFormed()).toBe(true);
        expect(text.split("\n").filter((line) => /^\[[ >x]\] /.test(line))).toHaveLength(checked.length);
      }),
      { numRuns: 300 },
    );
  });
});

describe("the answer of a write", () => {
  const answer = (
    todos: readonly TodoItem[],
    dropped: readonly TodoItem[] = [],
    clearedByUser = false,
    bound = 12_000,
  ) => todoAnswerText({ todos, dropped, clearedByUser, bound });

  it("is a checklist with the counts, and names the unfinished items that were dropped", () => {
    const todos = [item("plan", "completed"), item("build", "in_progress"), item("test")];
    expect(answer(todos, [item("document"), item("ship")])).toBe(
      [
        "[x] plan",
        "[>] build",
        "[ ] test",
        "3 items: 1 completed, 1 in progress, 1 pending.",
        'Dropped unfinished: "document", "ship". If that was not meant, send the list again with them.',
      ].join("\n"),
    );
    expect(answer([])).toBe("The todo list is empty.");
    expect(answer([item("a")], [], true)).toContain("The user cleared your todo list");
  });

  it("shows line ends, controls and marks of direction as nothing", () => {
    expect(answer([item("one\ntwo\u001b[31m\u202e\u0000three\tfour")]).split("\n")[0]).toBe(
      "[ ] one two[31mthree four",
    );
  });

  it("is bounded, with every item in a line as long as there is room", () => {
    const longest = Array.from({ length: TODOS_MAX }, (_, n) => item(`${n} ${"長".repeat(1_900)}`));
    const text = answer(longest, longest.slice(0, 100));
    expect(Array.from(text).length).toBeLessThanOrEqual(12_000);
    expect(text.split("\n").filter((line) => line.startsWith("[ ] "))).toHaveLength(TODOS_MAX);
    expect(text).toContain(" and 90 more. If that");
    const small = answer(longest, [], false, 500);
    expect(Array.from(small).length).toBeLessThanOrEqual(500);
    expect(small).toMatch(/\[… 19\d more items\]/);
  });
});

describe("the section of a bootstrap", () => {
  const state = (todos: readonly TodoItem[], clearedByUser = false, window = 1) =>
    ({ todos, clearedByUser, window, isFolded: false }) as const;

  it("names the open items in one bounded line each, the active one first, and counts the rest", () => {
    const todos = [
      item("done", "completed"),
      ...Array.from({ length: 20 }, (_, n) => item(`later ${n} ${"x".repeat(300)}`)),
      item("now\nor never", "in_progress"),
    ];
    const lines = openTodos(state(todos), 1).split("\n");
    expect(lines[1]).toBe("[>] now or never");
    expect(lines).toHaveLength(BOOTSTRAP_TODOS_MAX + 2);
    expect(Math.max(...lines.slice(1, -1).map((line) => line.length))).toBe(100);
    expect(lines.at(-1)).toContain("(9 more open, 1 completed: history_list_items");
  });

  it("is empty without open items, and tells once of a person's clearing", () => {
    expect(openTodos(state([]), 1)).toBe("");
    expect(openTodos(state([item("a", "completed")]), 1)).toBe("");
    expect(openTodos(state([], true, 3), 3)).toContain("The user cleared your todo list");
    expect(openTodos(state([], true, 3), 4)).toBe("");
  });
});
