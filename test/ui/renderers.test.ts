// How tool calls and results are drawn: short by default, whole when expanded, whatever the log holds.
import { visibleWidth } from "@mariozechner/pi-tui";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TOOL_NAMES, TOOL_SPECS, type ToolName } from "../../src/tools/specs.ts";
import { toolRenderer } from "../../src/ui/renderers.ts";
import { item } from "../todo/items.ts";
import { PLAIN } from "./themes.ts";

interface Drawn {
  readonly args?: unknown;
  readonly text?: string;
  readonly details?: unknown;
  readonly isError?: boolean;
  readonly expanded?: boolean;
  readonly width?: number;
}

/** The lines of a call and of its result. */
function draw(name: ToolName, { args, text = "", details, isError = false, expanded = false, width = 80 }: Drawn) {
  const { renderCall, renderResult } = toolRenderer(name);
  const context = { expanded, isError };
  const result = { content: [{ type: "text", text }], details };
  return {
    call: renderCall(args, PLAIN, context).render(width),
    result: renderResult(result, { expanded, isPartial: false }, PLAIN, context).render(width),
  };
}

const COUNTS = { agent: "/root", total: 120, returned: 8, limit: 8 };
const PAGE = { offset_chars: 0, end_chars: 1_500, total_chars: 5_000 };
const SAVED = { path: "/root/notes/plan.md", bytes: 1_234, created: false };

/** A call and its details, and the one line that each becomes. */
const SHORT: { readonly [N in ToolName]: readonly [args: object, call: string, details: object, result: string] } = {
  history_list_windows: [{ recent_first: true }, "newest first", { ...COUNTS, returned: 120 }, "120 windows"],
  history_list_items: [
    { role: "user", window_id: "w2", recent_first: true },
    "w2 · user · newest first",
    COUNTS,
    "8 of 120 items",
  ],
  history_read_item: [{ item_id: "ab12", window_id: "w1" }, "w1 · ab12", PAGE, "0–1,500 of 5,000 characters"],
  history_search_contents: [{ query: "total", tool_name: "bash" }, '"total" · bash', COUNTS, "8 of 120 items"],
  notes_list_files_by_prefix: [{ prefix: "plans/" }, "plans/", { ...COUNTS, total: 1, returned: 1 }, "1 file"],
  notes_read_file: [{ path: "plan.md" }, "plan.md", { ...PAGE, end_chars: 5_000 }, "5,000 characters"],
  notes_search_contents: [{ query: "rounding" }, '"rounding"', COUNTS, "8 of 120 lines"],
  notes_append_to_file: [{ path: "plan.md", text: "t" }, "plan.md", SAVED, "saved · 1,234 bytes"],
  notes_write_file: [
    { path: "plan.md", text: "t" },
    "plan.md",
    { ...SAVED, created: true, bytes: 1 },
    "created · 1 byte",
  ],
  get_context_remaining: [
    {},
    "",
    { window_id: "w3", remaining_tokens: 90_000, used_tokens: 110_000, phase: "ready" },
    "w3 · 90,000 tokens left · 110,000 tokens used · ready",
  ],
  new_context: [{}, "", { opened: true, window_id: "w4" }, "w4 opens with the next request"],
  todo_write: [
    { todos: [item("plan", "completed"), item("build", "in_progress")] },
    "2 items",
    { todos: [item("plan", "completed"), item("build", "in_progress")], dropped: [item("ship")] },
    "1 of 2 done · build · 1 dropped",
  ],
};

describe("by default", () => {
  it.each(TOOL_NAMES)("%s is one line for the call and one for the result", (name) => {
    const [args, call, details, result] = SHORT[name];
    const drawn = draw(name, { args, details, text: "a long\ntext\nfor the model" });
    expect(drawn).toEqual({ call: [`${TOOL_SPECS[name].label} ${call}`.trim()], result: [result] });
  });

  it("a result without details it knows is the first line of its text", () => {
    for (const name of TOOL_NAMES)
      for (const details of [undefined, null, 7, [], {}, { total: "x", bytes: null, todos: 3 }])
        expect(draw(name, { text: "the first\nthe second", details }).result).toEqual(["the first"]);
  });

  it("a failure is the first line of what went wrong", () => {
    const text = "todo_write: todos[0].content is empty.\nmore";
    expect(draw("todo_write", { text, isError: true }).result).toEqual(["todo_write: todos[0].content is empty."]);
    expect(draw("todo_write", { text, isError: true, expanded: true }).result).toHaveLength(2);
  });
});

describe("expanded", () => {
  it("a result is its whole text, and a note that is written is there in full", () => {
    const text = Array.from({ length: 50 }, (_, n) => `line ${n}`).join("\n");
    expect(draw("history_read_item", { text, details: PAGE, expanded: true }).result).toEqual(text.split("\n"));
    const drawn = draw("notes_write_file", {
      args: { path: "plan.md", text },
      details: SAVED,
      text: "{}",
      expanded: true,
    });
    expect(drawn.call).toEqual(["Write a note plan.md", ...text.split("\n")]);
    expect(drawn.result).toEqual(["{}"]);
  });

  it("a todo list is drawn item by item, with nothing shown as running", () => {
    const todos = Array.from({ length: 20 }, (_, n) => item(`step ${n}`, n === 0 ? "in_progress" : "pending"));
    const { result } = draw("todo_write", { details: { todos, dropped: [item("ship")] }, expanded: true });
    expect(result).toHaveLength(21);
    expect(result[0]).toBe(" ▹ step 0");
    expect(result.at(-1)).toBe("dropped: ship");
  });
});

it("anything at all is drawn within the width, without control characters", () => {
  const width = fc.integer({ min: 1, max: 100 });
  const args = fc.anything({ maxDepth: 3, withNullPrototype: true });
  fc.assert(
    fc.property(
      fc.constantFrom(...TOOL_NAMES),
      args,
      args,
      fc.string({ unit: "binary" }),
      fc.boolean(),
      width,
      (name, ...rest) => {
        const [call, details, text, expanded, columns] = rest;
        const drawn = draw(name, { args: call, details, text, expanded, width: columns });
        for (const line of [...drawn.call, ...drawn.result]) {
          expect(visibleWidth(line)).toBeLessThanOrEqual(columns);
          expect(line).not.toMatch(/\p{Cc}/u);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});
