// Hostile tool arguments as a model sends them in a real session: each is an error result with this package's own words,
// on every host the same, and never the host's validation text. A rejected call changes nothing.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, type ToolCall, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, pi, unpaired, using } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

/** A tool, its arguments, and words that its error must hold. */
type Case = readonly [tool: string, args: unknown, words: readonly string[]];

const CASES: readonly Case[] = [
  // unknown fields
  ["new_context", { reason: "full" }, ['new_context: unknown parameter "reason"', "it takes no parameters"]],
  ["get_context_remaining", { verbose: true }, ['unknown parameter "verbose"', "it takes no parameters"]],
  ["history_list_items", { max_items: 3 }, ['unknown parameter "max_items"', "its parameters are limit,"]],
  [
    "notes_write_file",
    { path: "a.md", content: "x" },
    ['unknown parameter "content"', "its parameters are path, text"],
  ],
  ["notes_write_file", { path: "a.md", text: "x", __proto__x: 1 }, ['unknown parameter "__proto__x"']],
  ["notes_write_file", { path: "a.md", text: "x", constructor: 1 }, ['unknown parameter "constructor"']],
  // missing fields
  ["notes_write_file", { path: "a.md" }, ["notes_write_file: text is missing"]],
  ["notes_append_to_file", {}, ["notes_append_to_file: path is missing"]],
  ["history_read_item", { item_id: "x" }, ["history_read_item: window_id is missing"]],
  ["history_search_contents", {}, ["history_search_contents: query is missing"]],
  // wrong types, which hosts would coerce
  ["notes_write_file", { path: "a.md", text: 5 }, ["text is 5; it must be a string"]],
  ["notes_write_file", { path: ["a.md"], text: "x" }, ['path is ["a.md"]; it must be a string']],
  ["history_list_items", { limit: "seven" }, ['limit is "seven"; it must be a whole number of at least 1']],
  ["history_list_items", { limit: 0 }, ["limit is 0; it must be a whole number of at least 1"]],
  ["history_list_items", { limit: 1.5 }, ["limit is 1.5; it must be a whole number"]],
  ["history_list_items", { limit: -1 }, ["limit is -1"]],
  ["history_list_items", { recent_first: "yes" }, ['recent_first is "yes"; it must be true or false']],
  ["history_list_items", { role: "robot" }, ['role is "robot"; it must be one of "user"']],
  ["history_search_contents", { query: { text: "x" } }, ['query is {"text":"x"}; it must be a string']],
  ["notes_read_file", { path: "a.md", start_line: 1.5 }, ["start_line is 1.5"]],
  ["notes_list_files_by_prefix", { file_order: "up" }, ['file_order is "up"; it must be one of']],
  ["todo_write", { todos: "[" }, ['todos is "["; it must be an array']],
  ["todo_write", { todos: [{ content: 5, status: "pending" }] }, ["todos[0].content is 5; it must be a string"]],
  ["todo_write", { todos: { content: "a", status: "pending" } }, ["todos is {", "it must be an array"]],
  ["todo_write", { todos: [null] }, ["todos[0] is null; it must be an object"]],
  ["todo_write", {}, ["todo_write: todos is missing"]],
  // nulls where none may be
  ["notes_write_file", { path: null, text: "x" }, ["path is null; it must be a string"]],
  ["notes_write_file", { path: "a.md", text: null }, ["text is null; it must be a string"]],
  ["history_list_items", { limit: null }, ["limit is null"]],
  ["history_read_item", { item_id: null, window_id: null }, ["item_id is null; it must be a string"]],
  // arguments that are no object
  ["history_list_items", [1, 2], ["the arguments are [1,2], not an object"]],
  ["notes_write_file", "a.md", ['the arguments are "a.md", not an object']],
  // bad paths
  ["notes_write_file", { path: "../escape.md", text: "x" }, ["../escape.md"]],
  ["notes_write_file", { path: "a/../../b.md", text: "x" }, ["a/../../b.md"]],
  ["notes_write_file", { path: "/etc/passwd", text: "x" }, ["/etc/passwd"]],
  ["notes_write_file", { path: "C:\\x.md", text: "x" }, ["C:"]],
  ["notes_write_file", { path: "", text: "x" }, ["path"]],
  ["notes_write_file", { path: "a\u0000b.md", text: "x" }, ["path"]],
  ["notes_read_file", { path: "nosuch.md" }, ["nosuch.md"]],
  ["notes_read_file", { path: "/root/../root/notes/a.md" }, ["/root/"]],
  // agents that are not there
  ["history_list_items", { agent_name: "nobody" }, ["/root/nobody"]],
  ["history_list_items", { agent_name: "../root" }, ["../root"]],
  // ids and windows
  ["history_read_item", { item_id: "ffffffff", window_id: "w1" }, ["ffffffff"]],
  ["history_read_item", { item_id: "x".repeat(5_000), window_id: "w1" }, ["item_id"]],
  // nothing to find
  ["history_search_contents", { query: "" }, ["query"]],
];

const HOST_WORDS =
  /Validation failed|Received arguments|must be equal to|must have required|unknown field|schema is false/;

describe("hostile arguments", () => {
  it("reach the model as error results with our own words, on every host the same", async () => {
    const calls = CASES.map(([tool, args], at) => ({ ...call(tool, {}, `bad_${at}`), arguments: args }) as ToolCall);
    const s = await pi({ next: (_request, n) => (n === 0 ? [text("trying"), ...calls] : "done") });
    await s.prompt("try everything");
    expect(s.requests).toHaveLength(2);
    expect(unpaired(s.requests[1]?.messages ?? [])).toEqual([]);
    const results = new Map(s.toolResults().map((result) => [result.toolCallId, result]));
    expect(results.size).toBe(CASES.length);
    CASES.forEach(([tool, args, words], at) => {
      const result = results.get(`bad_${at}`);
      const what = `${tool} ${JSON.stringify(args)?.slice(0, 80)} → ${result?.text.slice(0, 300)}`;
      expect(result?.isError, what).toBe(true);
      expect(result?.text, what).not.toMatch(HOST_WORDS);
      for (const word of words) expect(result?.text, what).toContain(word);
      // Errors are bounded too.
      expect(result?.text.length, what).toBeLessThan(1_500);
    });
    // Nothing was written, and the window is the one it was.
    const listed = await s.callTool("notes_list_files_by_prefix", {});
    expect(JSON.stringify(listed.content)).toContain('\\"total\\":0');
    expect(JSON.stringify(s.requests[1]?.messages[0])).toContain("window w1");
  });

  it("with an item of another window name the window it is in", async () => {
    const s = await pi({
      next: (_request, n) => (n === 0 ? [text("OLD"), call("new_context")] : "done"),
    });
    await s.prompt("go");
    const user = s.branch().find((entry) => entry.type === "message" && entry.message.role === "user");
    await expect(s.callTool("history_read_item", { item_id: user?.id, window_id: "w2" })).rejects.toThrow(/w1/);
    await expect(s.callTool("history_read_item", { item_id: user?.id, window_id: "w1" })).resolves.toBeDefined();
  });

  it("under a fence take no claim, and the corrected write passes", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, call("slow", { ms: 1 }));
        const bad = [
          { path: "a.md", text: 5 },
          { path: "../a.md", text: "x" },
          { path: "a.md", words: "x" },
        ][n - 1];
        if (bad) return using(186_000, call("notes_write_file", bad));
        return n === 4
          ? using(186_000, call("notes_write_file", { path: "a.md", text: "x" }))
          : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(6);
    expect(s.toolResults().map(({ isError }) => isError)).toEqual([false, true, true, true, false]);
    expect(JSON.stringify(s.requests[5]?.messages[0])).toContain("window, w2");
  });

  it("that are null where a parameter may be null mean that it is left out", async () => {
    const nulls = { window_id: null, role: null, tool_name: null, tool_namespace: null, agent_name: null };
    const s = await pi({ next: (_request, n) => (n === 0 ? [call("history_list_items", nulls)] : "done") });
    await s.prompt("hello");
    expect(s.toolResults()[0]).toMatchObject({ isError: false });
    expect(s.toolResults()[0]?.text).toContain("hello");
  });

  it("never write a file outside the notes", async () => {
    const s = await pi({
      next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "../../../pwned.md", text: "x" })] : "done"),
    });
    await s.prompt("go");
    expect(() => readFileSync(join(s.directory, "pwned.md"))).toThrow();
    expect(s.toolResults()[0]?.isError).toBe(true);
  });
});
