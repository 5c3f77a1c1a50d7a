// The widget's lines: at most seven, the active item among them, never wider than the terminal.
import { visibleWidth } from "@mariozechner/pi-tui";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TODO_STATUSES, type TodoItem } from "../../src/todo/list.ts";
import { WIDGET_LINES_MAX, wholeList, widgetLines } from "../../src/ui/todo-lines.ts";
import { item } from "../todo/items.ts";
import { PLAIN, READABLE } from "./themes.ts";

const lines = (todos: readonly TodoItem[], width = 60) => widgetLines(todos, "running", READABLE, width);
const numbered = (count: number, active: number) =>
  Array.from({ length: count }, (_, n) =>
    item(`step ${n}`, n < active ? "completed" : n === active ? "in_progress" : "pending"),
  );

describe("the widget", () => {
  it("has one line per item: done ones struck through, the active one marked", () => {
    expect(lines([item("plan", "completed"), item("build", "in_progress"), item("test")])).toEqual([
      " ✓ ~plan~",
      " ▸ *build*",
      " ○ test",
    ]);
    expect(lines([])).toEqual([]);
  });

  it("shows nothing as running when nobody runs", () => {
    expect(widgetLines([item("build", "in_progress")], "idle", READABLE, 60)).toEqual([" ▹ build (paused)"]);
  });

  it("shows seven lines of a long list: the active item with what is around it, and a count of the rest", () => {
    expect(lines(numbered(7, 3))).toHaveLength(7);
    expect(lines(numbered(20, 10))).toEqual([
      " ✓ ~step 9~",
      " ▸ *step 10*",
      ...[11, 12, 13, 14].map((n) => ` ○ step ${n}`),
      " … 14 more: 5 open, 9 done (/todos)",
    ]);
    expect(lines(numbered(20, 0))[0]).toBe(" ▸ *step 0*");
    expect(lines(numbered(20, 19)).at(-2)).toBe(" ▸ *step 19*");
    // All done: the end of the list.
    expect(lines(numbered(20, 20)).at(-1)).toBe(" … 14 more: 14 done (/todos)");
  });

  it("fits into every width, whatever the items hold", () => {
    const status = fc.constantFrom(...TODO_STATUSES);
    const todo = fc.record({ content: fc.string({ unit: "binary", maxLength: 80 }), status });
    fc.assert(
      fc.property(fc.array(todo, { maxLength: 30 }), fc.integer({ min: 1, max: 100 }), (todos, width) => {
        const drawn = widgetLines(todos, "idle", PLAIN, width);
        expect(drawn.length).toBeLessThanOrEqual(WIDGET_LINES_MAX);
        for (const line of drawn) expect(visibleWidth(line)).toBeLessThanOrEqual(width);
        const at = todos.findIndex((one) => one.status === "in_progress");
        if (at >= 0 && width > 3) expect(drawn.some((line) => line.includes("▹"))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("is readable in 20 columns, in narrow and wide characters", () => {
    const todos = [
      item("a very long piece of work", "in_progress"),
      item("請求書の丸めを修正する"),
      item("🧾🧾🧾🧾🧾🧾🧾🧾🧾🧾"),
    ];
    expect(widgetLines(todos, "running", PLAIN, 20)).toEqual([
      " ▸ a very long piec…",
      " ○ 請求書の丸めを修…",
      " ○ 🧾🧾🧾🧾🧾🧾🧾🧾…",
    ]);
  });
});

describe("the whole list as text", () => {
  it("holds every item in one line", () => {
    expect(wholeList(numbered(3, 1), "idle")).toBe("Todo list, 1 of 3 done:\n✓ step 0\n▹ step 1\n○ step 2");
    expect(wholeList(numbered(200, 5), "idle").split("\n")).toHaveLength(201);
    expect(wholeList([item("a\nb\u001b[2J")], "idle").split("\n")[1]).toBe("○ a b[2J");
    expect(wholeList([], "idle")).toBe("The todo list is empty.");
  });
});
