import { describe, expect, test } from "vitest";
import type { ErrorCode } from "../../src/errors.ts";
import { readArguments } from "../../src/tools/arguments.ts";
import { defineTool, usedLimit } from "../../src/tools/define.ts";
import { TOOL_NAMES, TOOL_SPECS, type ToolName, type ToolSpec } from "../../src/tools/specs.ts";

const ALL_TOOLS = TOOL_NAMES.map((name): [ToolName, ToolSpec] => [name, TOOL_SPECS[name]]);

const validateArguments = (name: ToolName, raw: unknown) => readArguments(name, raw).params;

/** Arguments with every required parameter. */
function requiredOf(spec: ToolSpec): Record<string, unknown> {
  const required = Object.entries(spec.params).filter(([, param]) => param.required);
  return Object.fromEntries(required.map(([name, param]) => [name, param.type === "array" ? [] : "x"]));
}

describe("wrong arguments are errors that name the field, the value and the rule", () => {
  test.each<[string, ToolName, unknown, ErrorCode, string]>([
    [
      "an unknown field",
      "notes_write_file",
      { path: "a", text: "b", mode: "append" },
      "unknown_field",
      'notes_write_file: unknown parameter "mode"; its parameters are path, text.',
    ],
    [
      "a field of another tool",
      "notes_read_file",
      { path: "a", item_id: "b" },
      "unknown_field",
      'notes_read_file: unknown parameter "item_id"; its parameters are path, start_line, stop_line, offset_chars, limit_chars.',
    ],
    [
      "a field where there are none",
      "new_context",
      { reason: "full" },
      "unknown_field",
      'new_context: unknown parameter "reason"; it takes no parameters.',
    ],
    [
      "a field that objects inherit",
      "new_context",
      { constructor: 1 },
      "unknown_field",
      'new_context: unknown parameter "constructor"; it takes no parameters.',
    ],
    [
      "a string that is no whole number",
      "history_list_items",
      { limit: "5.0" },
      "invalid_argument",
      'history_list_items: limit is "5.0"; it must be a whole number of at least 1.',
    ],
    [
      "a list that is no list",
      "todo_write",
      { todos: "[" },
      "invalid_argument",
      'todo_write: todos is "["; it must be an array of objects with content and status.',
    ],
    [
      "an item that is no object",
      "todo_write",
      { todos: ["test"] },
      "invalid_argument",
      'todo_write: todos[0] is "test"; it must be an object with content and status.',
    ],
    [
      "an unknown field of an item",
      "todo_write",
      { todos: [{ content: "a", status: "pending", id: 1 }] },
      "unknown_field",
      'todo_write: unknown parameter "todos[0].id"; an item\'s fields are content, status.',
    ],
    [
      "a missing field of an item",
      "todo_write",
      { todos: [{ content: "a", status: "pending" }, { content: "b" }] },
      "missing_field",
      "todo_write: todos[1].status is missing; an item's fields are content, status.",
    ],
    [
      "a wrong value in an item",
      "todo_write",
      { todos: [{ content: "a", status: "done" }] },
      "invalid_argument",
      'todo_write: todos[0].status is "done"; it must be one of "pending", "in_progress", "completed".',
    ],
    [
      "a fraction",
      "history_list_items",
      { limit: 1.5 },
      "invalid_argument",
      "history_list_items: limit is 1.5; it must be a whole number of at least 1.",
    ],
    [
      "below the minimum",
      "history_list_windows",
      { limit: 0 },
      "invalid_argument",
      "history_list_windows: limit is 0; it must be a whole number of at least 1.",
    ],
    [
      "a negative offset",
      "history_read_item",
      { item_id: "a", window_id: "w1", offset_chars: -1 },
      "invalid_argument",
      "history_read_item: offset_chars is -1; it must be a whole number of at least 0.",
    ],
    [
      "a boolean as a string",
      "history_list_windows",
      { recent_first: "yes" },
      "invalid_argument",
      'history_list_windows: recent_first is "yes"; it must be true or false.',
    ],
    [
      "null where it is not allowed",
      "history_list_windows",
      { limit: null },
      "invalid_argument",
      "history_list_windows: limit is null; it must be a whole number of at least 1.",
    ],
    [
      "null for a required field",
      "notes_write_file",
      { path: "a", text: null },
      "invalid_argument",
      "notes_write_file: text is null; it must be a string.",
    ],
    [
      "a value outside an enum",
      "history_list_items",
      { role: "toolResult" },
      "invalid_argument",
      'history_list_items: role is "toolResult"; it must be one of "user", "assistant", "tool", "system", "developer", or null.',
    ],
    [
      "an enum without null",
      "notes_list_files_by_prefix",
      { file_order: null },
      "invalid_argument",
      'notes_list_files_by_prefix: file_order is null; it must be one of "ascending", "descending".',
    ],
    [
      "an object for a string",
      "history_list_items",
      { window_id: { id: "w1" } },
      "invalid_argument",
      'history_list_items: window_id is {"id":"w1"}; it must be a string, or null.',
    ],
    [
      "a missing field",
      "history_read_item",
      { item_id: "a" },
      "missing_field",
      "history_read_item: window_id is missing; its parameters are item_id, window_id, agent_name, offset_chars, limit_chars.",
    ],
    [
      "no arguments where some are required",
      "notes_search_contents",
      undefined,
      "missing_field",
      "notes_search_contents: query is missing; its parameters are query, path_prefix, recent_file_first, max_files, max_matches_per_file.",
    ],
    [
      "a list for the arguments",
      "history_list_items",
      [1],
      "invalid_argument",
      "history_list_items: the arguments are [1], not an object; its parameters are limit, recent_first, window_id, role, tool_namespace, tool_name, agent_name, max_chars_per_item.",
    ],
    [
      "a string for the arguments",
      "new_context",
      "now",
      "invalid_argument",
      'new_context: the arguments are "now", not an object; it takes no parameters.',
    ],
  ])("%s", async (_name, tool, raw, code, message) => {
    const failure = expect.objectContaining({ code, message });
    expect(() => validateArguments(tool, raw)).toThrow(failure);
    const executed: unknown[] = [];
    const definition = defineTool(tool, (params) => {
      executed.push(params);
      return { text: "", details: {} };
    });
    expect(() => definition.prepareArguments(raw)).toThrow(failure);
    await expect(definition.execute("call-1", raw, undefined)).rejects.toThrow(failure);
    expect(executed).toEqual([]);
  });

  test.each(ALL_TOOLS)("%s refuses a field it does not have, and every wrong type of those it has", (name, spec) => {
    const base = requiredOf(spec);
    expect(validateArguments(name, base)).toEqual(base);
    expect(() => validateArguments(name, { ...base, operation: "x" })).toThrow(/unknown parameter "operation"/);
    for (const [field, param] of Object.entries(spec.params)) {
      const wrong = param.type === "string" ? 7 : "x";
      expect(() => validateArguments(name, { ...base, [field]: wrong })).toThrow(new RegExp(`${field} is`));
      if (param.nullable) expect(validateArguments(name, { ...base, [field]: null })).toEqual(base);
      else expect(() => validateArguments(name, { ...base, [field]: null })).toThrow(new RegExp(`${field} is null`));
      if (param.minimum !== undefined)
        expect(() => validateArguments(name, { ...base, [field]: (param.minimum ?? 0) - 1 })).toThrow(/at least/);
    }
  });

  test("a long value is shown shortened and whole characters only", () => {
    const wrong = { role: "😀".repeat(500) };
    const message = expect.objectContaining({ message: expect.stringMatching(/role is "(😀){79}…; it must/u) });
    expect(() => validateArguments("history_list_items", wrong)).toThrow(message);
  });
});

describe("a string that can only mean one thing is read as that, and the result says so", () => {
  const todo = { content: "a", status: "pending" };
  test.each<[string, ToolName, unknown, unknown, string]>([
    ["a whole number", "history_list_items", { limit: "5" }, { limit: 5 }, "(limit came as a string"],
    [
      "a negative one",
      "notes_read_file",
      { path: "a", start_line: "-3" },
      { path: "a", start_line: -3 },
      "(start_line",
    ],
    [
      "a truth",
      "history_list_windows",
      { recent_first: "false" },
      { recent_first: false },
      "send true or false itself.)",
    ],
    ["a list", "todo_write", { todos: JSON.stringify([todo]) }, { todos: [todo] }, "(todos came as a string"],
    ["an empty list", "todo_write", { todos: "[]" }, { todos: [] }, "send an array itself.)"],
    ["an item of a list", "todo_write", { todos: [JSON.stringify(todo)] }, { todos: [todo] }, "(todos[0] came as a"],
    ["all arguments", "todo_write", JSON.stringify({ todos: [todo] }), { todos: [todo] }, "(the object of arguments"],
  ])("%s", async (_name, tool, sent, params, notice) => {
    const definition = defineTool(tool, (given) => ({ text: JSON.stringify(given), details: {} }));
    const handed = definition.prepareArguments(sent);
    expect(handed).toEqual(params);
    const { content } = await definition.execute("call-1", handed, undefined, sent);
    expect(content).toEqual([
      { type: "text", text: JSON.stringify(params) },
      { type: "text", text: expect.stringContaining(notice) },
    ]);
    // Nothing is said of a call that was right, or that is not on the log.
    for (const unsaid of [handed, undefined])
      expect((await definition.execute("call-1", handed, undefined, unsaid)).content).toHaveLength(1);
  });

  test("what a string holds is checked like the value itself, and a text stays a text", () => {
    const below = { message: 'history_list_items: limit is "0"; it must be a whole number of at least 1.' };
    expect(() => validateArguments("history_list_items", { limit: "0" })).toThrow(expect.objectContaining(below));
    for (const limit of ["05", " 5", "5e1", "0x5", "", "+5", "99999999999999999"])
      expect(() => validateArguments("history_list_items", { limit })).toThrow(/limit is/);
    for (const todos of ["{}", "null", '"[]"', '[{"content":1,"status":"pending"}]'])
      expect(() => validateArguments("todo_write", { todos })).toThrow(/todos/);
    const note = { path: "5", text: "[true]" };
    expect(readArguments("notes_write_file", note)).toEqual({ params: note, notices: [] });
  });
});

describe("what a host made of the arguments", () => {
  const run = async (tool: ToolName, handed: unknown, sent: unknown) => {
    let params: unknown;
    const definition = defineTool(tool, (given) => {
      params = given;
      return { text: "", details: {} };
    });
    await definition.execute("call-1", handed, undefined, sent);
    return params;
  };

  test("is undone where it is a null of something that is not one", async () => {
    const sent = { path: "a", start_line: 0, stop_line: null };
    expect(await run("notes_read_file", { path: "a", start_line: null }, sent)).toEqual({ path: "a", start_line: 0 });
    const empty = { agent_name: "", window_id: "", role: null };
    const nulled = { agent_name: null, window_id: null };
    expect(await run("history_list_items", nulled, empty)).toEqual({ agent_name: "", window_id: "" });
  });

  test("and what another extension made of them, stands", async () => {
    const sent = { path: "a", start_line: 2 };
    expect(await run("notes_read_file", { path: "b", start_line: null }, sent)).toEqual({ path: "b" });
    expect(await run("notes_read_file", { path: "b", start_line: 3 }, sent)).toEqual({ path: "b", start_line: 3 });
  });
});

describe("right arguments", () => {
  test("a number too large to be exact is clamped like any limit", () => {
    const huge = { path: "a", limit_chars: 2 ** 60, offset_chars: 1e300, start_line: -1e300 };
    const most = Number.MAX_SAFE_INTEGER;
    const params = { path: "a", limit_chars: most, offset_chars: most, start_line: -most };
    expect(validateArguments("notes_read_file", huge)).toEqual(params);
    expect(() => validateArguments("notes_read_file", { path: "a", limit_chars: Number.POSITIVE_INFINITY })).toThrow();
    expect(() => validateArguments("notes_read_file", { path: "a", limit_chars: -1e300 })).toThrow(/at least 1/);
  });

  test("a lone surrogate may be searched for", () => {
    expect(validateArguments("history_search_contents", { query: "\ud83d" })).toEqual({ query: "\ud83d" });
  });

  test("limits: the default when omitted, the maximum above it", () => {
    const { limit } = TOOL_SPECS.history_search_contents.params;
    expect([undefined, 1, 200, 201, 1e9].map((given) => usedLimit(limit, given))).toEqual([20, 1, 200, 200, 200]);
    expect(usedLimit(TOOL_SPECS.history_list_items.params.limit, undefined)).toBe(50);
  });

  test("an answer becomes text first, then its images, and its details", async () => {
    const image = { type: "image", data: "AA==", mimeType: "image/png" } as const;
    const definition = defineTool("history_list_windows", (params, call) => ({
      text: `${call.id} ${JSON.stringify(params)}`,
      images: [image],
      details: { total: 0 },
    }));
    expect(await definition.execute("call-1", { limit: 3, agent_name: null }, undefined)).toEqual({
      content: [{ type: "text", text: 'call-1 {"limit":3}' }, image],
      details: { total: 0 },
    });
  });
});
