import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../src/host/entries.ts";
import { imageBytes, isToolNamed, itemHead, itemImages, itemText, toolRef } from "../../src/log/item.ts";
import { call, image, TestLog, text } from "./branches.ts";

function entryOf(write: (log: TestLog) => string): LogEntry {
  const log = new TestLog();
  const entry = log.entry(write(log));
  if (!entry) throw new Error("the entry was written");
  return entry;
}

const noLinks = () => undefined;

function textOf(write: (log: TestLog) => string): string {
  return itemText(entryOf(write)).points.text;
}

describe("the text of an item", () => {
  const cases: readonly [string, (log: TestLog) => string, string][] = [
    ["a user's string", (log) => log.user("hello\nthere"), "hello\nthere"],
    ["a user's blocks, images left out", (log) => log.user([text("a"), image(), text("b")]), "a\nb"],
    ["an empty block keeps its newline", (log) => log.user([text(""), text("b")]), "\nb"],
    [
      "an assistant's text and calls, thinking left out",
      (log) =>
        log.assistant({ type: "thinking", thinking: "hm" }, text("I read."), call("c1", "read", { path: "a.ts" })),
      'I read.\n[tool_call read c1]\n{"path":"a.ts"}',
    ],
    [
      "a call without arguments",
      (log) => log.assistant({ type: "toolCall", id: "c", name: "ls" }),
      "[tool_call ls c]\nnull",
    ],
    ["a tool result", (log) => log.result("c1", "read", "line 1\r\nline 2\n"), "line 1\r\nline 2\n"],
    ["a custom message", (log) => log.customMessage("other:note", [text("n")]), "n"],
    ["a compaction", (log) => log.compaction("what was"), "what was"],
    ["a branch summary", (log) => log.branchSummary("the other way"), "the other way"],
    ["a bash execution", (log) => log.bash("ls", "a\nb\n", 1), "$ ls\na\nb\n\n[exit 1]"],
    [
      "a bash execution that was cancelled",
      (log) => log.message({ role: "bashExecution", command: "ls", output: "" }),
      "$ ls\n\n[exit unknown]",
    ],
    [
      "a system message with sections and tools",
      (log) =>
        log.message({
          role: "system",
          content: "",
          sections: { rules: "<rules>\n- be brief\n</rules>", skills: null },
          toolsAdded: [{ name: "read" }],
          toolsRemoved: [{ name: "ls" }],
        }),
      '[section rules]\n<rules>\n- be brief\n</rules>\n[section skills removed]\n[tools added]\n[{"name":"read"}]\n[tools removed]\n[{"name":"ls"}]',
    ],
    [
      "a system message's content before its sections",
      (log) => log.message({ role: "system", content: "base", sections: { cwd: "/x" } }),
      "base\n[section cwd]\n/x",
    ],
    [
      "a call whose arguments were not understood",
      (log) => log.assistant({ ...call("c", "bash"), argumentsError: "Unexpected end\n\nReceived arguments:\n{" }),
      "[tool_call bash c]\n{}\n[arguments not understood]\nUnexpected end\n\nReceived arguments:\n{",
    ],
    ["a summary as a message", (log) => log.message({ role: "branchSummary", summary: "that way" }), "that way"],
    ["null content", (log) => log.user(null), ""],
    ["blocks of unknown types", (log) => log.user([{ type: "video", text: "no" }, null, 7, "x", text("yes")]), "yes"],
    ["nested tool-result blocks", (log) => log.result("c", "x", [{ type: "toolResult", content: [text("in")] }]), ""],
    ["a text block whose text is no string", (log) => log.user([{ type: "text", text: 5 }]), ""],
    ["a compaction without a summary", (log) => log.add({ type: "compaction" }), ""],
  ];
  test.each(cases)("%s", (_name, write, expected) => {
    expect(textOf(write)).toBe(expected);
  });

  test("a single block is the entry's own string, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        expect(textOf((log) => log.result("c", "read", value))).toBe(value);
        expect(textOf((log) => log.user(value))).toBe(value);
      }),
    );
  });

  test("regions are the blocks, apart by one newline; a call's region knows its call", () => {
    const notes = call("c2", "notes_write_file", { path: "a.md" });
    const { points, regions } = itemText(
      entryOf((log) => log.assistant(text("one"), call("c1", "bash"), notes, text(""))),
    );
    expect(regions.map(({ start, end }) => points.text.slice(start, end))).toEqual([
      "one",
      "[tool_call bash c1]\n{}",
      '[tool_call notes_write_file c2]\n{"path":"a.md"}',
      "",
    ]);
    expect(regions.map(({ internal }) => internal)).toEqual([false, false, true, false]);
    expect(regions.map((region) => region.call?.id)).toEqual([undefined, "c1", "c2", undefined]);
  });
});

describe("the head of an item", () => {
  test.each<[string, (log: TestLog) => string, object]>([
    ["a user message", (log) => log.user("hi"), { role: "user", fromUser: true, internal: false }],
    ["a bash execution", (log) => log.bash("ls", ""), { role: "user", fromUser: false, internal: false }],
    ["another package's message", (log) => log.customMessage("other:x", "x"), { role: "user", internal: false }],
    ["our own message", (log) => log.customMessage("pi-token-budget:reminder", "x"), { role: "user", internal: true }],
    ["a foreign compaction", (log) => log.compaction("s"), { role: "user", internal: false }],
    ["our own compaction", (log) => log.compaction("s", { opens: "w2" }), { role: "user", internal: true }],
    ["a system entry", (log) => log.message({ role: "system", content: "s" }), { role: "system", internal: true }],
    [
      "a developer entry",
      (log) => log.message({ role: "developer", content: "s" }),
      { role: "developer", internal: true },
    ],
    ["an assistant's text", (log) => log.assistant(text("x")), { role: "assistant", calls: [], internal: false }],
    ["an empty assistant message", (log) => log.assistant(), { role: "assistant", internal: false }],
    ["only internal calls", (log) => log.assistant(text(""), call("c", "new_context")), { internal: true }],
    [
      "text and an internal call",
      (log) => log.assistant(text("so"), call("c", "notes_read_file")),
      { internal: false },
    ],
    ["a mixed batch", (log) => log.assistant(call("a", "bash"), call("b", "history_read_item")), { internal: false }],
    ["a result of ours", (log) => log.result("c", "get_context_remaining", "{}"), { role: "tool", internal: true }],
  ])("%s", (_name, write, expected) => {
    expect(itemHead(entryOf(write), noLinks)).toMatchObject(expected);
  });

  test.each<[string, (log: TestLog) => string]>([
    ["a label", (log) => log.add({ type: "label", targetId: "x", label: "y" })],
    ["a model change", (log) => log.add({ type: "model_change", provider: "p", modelId: "m" })],
    ["a custom data entry", (log) => log.custom("other:state", {})],
    ["a message of an unknown role", (log) => log.message({ role: "narrator", content: "x" })],
    ["a role that objects inherit", (log) => log.message({ role: "constructor", content: "x" })],
    ["a message entry without a message", (log) => log.add({ type: "message" })],
    ["a message that is null", (log) => log.add({ type: "message", message: null })],
  ])("%s is no item", (_name, write) => {
    expect(itemHead(entryOf(write), noLinks)).toBeUndefined();
  });

  test("a tool result counts as the tool that its id was called with; its own name only without a link", () => {
    const entry = entryOf((log) => log.result("c1", "bash", "x"));
    expect(itemHead(entry, () => "notes_read_file")).toMatchObject({
      calls: [toolRef("notes_read_file")],
      internal: true,
    });
    expect(itemHead(entry, noLinks)).toMatchObject({ calls: [toolRef("bash")], toolCallId: "c1" });
  });

  test("names of the wrong type are no names", () => {
    const result = entryOf((log) =>
      log.add({ type: "message", message: { role: "toolResult", toolCallId: 1, toolName: 2 } }),
    );
    expect(itemHead(result, noLinks)).toMatchObject({ role: "tool", toolCallId: undefined, calls: [] });
    const custom = entryOf((log) => log.customMessage(9 as unknown as string, "x"));
    expect(itemHead(custom, noLinks)).toMatchObject({ role: "user", internal: false });
  });
});

describe("tools and images", () => {
  test("flat names belong to functions, ours to history and notes, and a filter may leave the prefix out", () => {
    expect(toolRef("bash")).toEqual({ namespace: "functions", name: "bash" });
    expect(toolRef("new_context").namespace).toBe("functions");
    expect(isToolNamed(toolRef("history_read_item"), "read_item")).toBe(true);
    expect(isToolNamed(toolRef("history_read_item"), "history_read_item")).toBe(true);
    expect(isToolNamed(toolRef("functions_x"), "x")).toBe(false);
    expect(isToolNamed(toolRef("notes_read_file"), "read_item")).toBe(false);
  });

  test("images come in block order, with the size of their decoded bytes", () => {
    const images = itemImages(
      entryOf((log) => log.user([image("ab"), text("t"), image("abc", "image/webp"), { type: "image" }])),
    );
    expect(images.map((each) => [each.mimeType, imageBytes(each)])).toEqual([
      ["image/png", 2],
      ["image/webp", 3],
    ]);
    expect(itemImages(entryOf((log) => log.user("text")))).toEqual([]);
    expect(itemImages(entryOf((log) => log.compaction("s")))).toEqual([]);
  });
});
