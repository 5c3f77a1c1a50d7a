// What a model sends is what a tool reads, on every host: an empty string and a zero where a parameter may be null, and
// strings that can only mean one thing. Calls through the host are compared with the same calls made without it.
import { describe, expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { TOOL_NAMES, TOOL_SPECS, type ToolSpec } from "../../src/tools/specs.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

type Args = Readonly<Record<string, unknown>>;

const REQUIRED: Args = { path: "plan.md", query: "line", window_id: "w1" };

/** Every nullable parameter of every tool, with the value that a host may take for null. */
function nearNulls(itemId: string): [string, Args][] {
  return TOOL_NAMES.flatMap((name) => {
    const { params }: ToolSpec = TOOL_SPECS[name];
    const base = Object.entries(params).filter(([, param]) => param.required);
    const required = Object.fromEntries(base.map(([field]) => [field, REQUIRED[field] ?? itemId]));
    const nullable = Object.entries(params).filter(([, param]) => param.nullable);
    return nullable.map(([field, param]): [string, Args] => [
      name,
      { ...required, [field]: param.type === "integer" ? 0 : "" },
    ]);
  });
}

async function withoutHost(s: PiSession, name: string, args: Args): Promise<{ isError: boolean; text: string }> {
  try {
    const { content } = await s.callTool(name, args);
    return { isError: false, text: content.map((block) => (block.type === "text" ? block.text : "")).join("\n") };
  } catch (error) {
    return { isError: true, text: (error as Error).message };
  }
}

/** Paired with the results of the newest run, in order. */
function newest(s: PiSession, count: number) {
  return s.toolResults().slice(-count);
}

describe("an empty string or a zero where a parameter may be null", () => {
  it("is what it is, for every tool and parameter", async () => {
    let cases: [string, Args][] = [];
    const s = await pi({
      next: (_request, n) => {
        if (n === 0) return [call("notes_write_file", { path: "plan.md", text: "line 1\nline 2\n" })];
        return n === 2 ? cases.map(([name, args]) => call(name, args)) : [text("done")];
      },
    });
    await s.prompt("write");
    cases = nearNulls(s.branch().find((entry) => entry.type === "message" && entry.message.role === "user")?.id ?? "");
    expect(cases.length).toBeGreaterThan(12);
    await s.prompt("and now");
    const results = newest(s, cases.length);
    for (const [at, [name, args]] of cases.entries()) {
      const result = results[at];
      const expected = await withoutHost(s, name, args);
      expect({ name, args, isError: result?.isError }).toEqual({ name, args, isError: expected.isError });
      // Lists count what was said since; errors are the same to the letter.
      if (expected.isError) expect(result?.text).toBe(expected.text);
    }
    const errorOf = (tool: string, field: string) =>
      results[cases.findIndex(([name, args]) => name === tool && (args[field] === "" || args[field] === 0))];
    expect(errorOf("notes_read_file", "start_line")?.text).toContain("start_line is 0");
    expect(errorOf("history_list_windows", "agent_name")?.text).toContain('agent_name is ""');
    expect(errorOf("history_list_items", "window_id")?.text).toContain('"total":0');
    expect(errorOf("history_list_items", "role")?.text).toContain('role is ""');
  });
});

describe("a string that can only mean one thing", () => {
  it("is read as that, and the result says so", async () => {
    const todos = [{ content: "first", status: "in_progress" }];
    const s = await pi({
      next: (_request, n) => {
        if (n === 0) return [call("todo_write", { todos: JSON.stringify(todos) })];
        if (n === 1) return [call("history_list_items", { limit: "1", recent_first: "true" })];
        return n === 2 ? [call("notes_list_files_by_prefix", { max_results: 2 })] : [text("done")];
      },
    });
    await s.prompt("go");
    const [written, listed, right] = s.toolResults();
    expect(written).toMatchObject({ isError: false, details: { todos } });
    expect(written?.text).toContain("[>] first");
    expect(written?.text).toContain("(todos came as a string and was read as what it holds; send an array itself.)");
    expect(listed?.text).toContain('"returned":1,"limit":1');
    expect(listed?.text).toContain("(limit came as a string");
    expect(listed?.text).toContain("(recent_first came as a string");
    expect(right?.text).not.toContain("came as a string");
  });
});
