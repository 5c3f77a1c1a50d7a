import { describe, expect, test } from "vitest";
import { consolidationOf, isInternalTool, isNoteWriteTool, isOwnCustomType, openerOf } from "../../src/log/marks.ts";
import { openerDetails, TestLog, text } from "./branches.ts";

function openerIn(write: (log: TestLog) => string) {
  const log = new TestLog();
  const entry = log.entry(write(log));
  return entry && openerOf(entry);
}

const details = openerDetails(2);
const consolidation = { consolidates: "w2", bootstrap: "b", bootstrapTimestamp: 1 };

describe("openers", () => {
  test.each<[string, (log: TestLog) => string, string]>([
    ["a new_context result", (log) => log.result("c", "new_context", "{}", details), "tool_result"],
    ["a checkpoint write", (log) => log.result("c", "notes_write_file", "{}", details), "tool_result"],
    ["a checkpoint append", (log) => log.result("c", "notes_append_to_file", "{}", details), "tool_result"],
    ["our opening message", (log) => log.openingMessage(2), "message"],
    ["our opening entry", (log) => log.openingEntry(2), "entry"],
    ["our compaction", (log) => log.compaction("b", details), "compaction"],
    ["any other compaction", (log) => log.compaction("b", { readFiles: [] }), "foreign_compaction"],
    ["a compaction without details", (log) => log.compaction("b"), "foreign_compaction"],
  ])("%s opens a window", (_name, write, type) => {
    expect(openerIn(write)?.type).toBe(type);
  });

  test.each<[string, (log: TestLog) => string]>([
    [
      "a failed result",
      (log) => log.message({ role: "toolResult", toolCallId: "c", toolName: "new_context", isError: true, details }),
    ],
    ["a result of another tool that carries opener details", (log) => log.result("c", "bash", "{}", details)],
    ["an ordinary note write", (log) => log.result("c", "notes_write_file", "{}", { path: "a.md" })],
    ["a result without a call id", (log) => log.message({ role: "toolResult", toolName: "new_context", details })],
    ["another package's message with opener details", (log) => log.customMessage("other:window", "x", details)],
    ["our own message without details", (log) => log.customMessage("pi-token-budget:window", "x")],
    ["a consolidation", (log) => log.compaction("b", consolidation)],
    ["a user message", (log) => log.user("new_context")],
    ["our opening entry without details", (log) => log.custom("pi-token-budget:opened", { opens: "w2" })],
    ["a custom data entry", (log) => log.custom("pi-token-budget:window", details)],
  ])("%s opens none", (_name, write) => {
    expect(openerIn(write)).toBeUndefined();
  });

  test.each(["opens", "number", "previous", "cause", "bootstrap", "bootstrapTimestamp"])(
    "details that lack %s are no opener's",
    (field) => {
      const { [field as "opens"]: _left, ...rest } = details;
      expect(openerIn((log) => log.result("c", "new_context", "{}", rest))).toBeUndefined();
    },
  );
});

test("a consolidation is a compaction with all of its fields", () => {
  const log = new TestLog();
  const of = (id: string) => {
    const entry = log.entry(id);
    return entry && consolidationOf(entry);
  };
  expect(of(log.compaction("b", { ...consolidation, extra: 1 }))).toEqual(consolidation);
  expect(of(log.compaction("b", { ...consolidation, bootstrap: undefined }))).toBeUndefined();
  expect(of(log.compaction("b", null))).toBeUndefined();
  expect(of(log.customMessage("x", [text("b")], consolidation))).toBeUndefined();
});

test("our types and tools are known by name, and nothing of another type is", () => {
  expect(isOwnCustomType("pi-token-budget:reminder")).toBe(true);
  for (const other of ["other:x", "", undefined, 7, null]) expect(isOwnCustomType(other)).toBe(false);
  expect(["history_read_item", "notes_write_file", "new_context", "get_context_remaining"].every(isInternalTool)).toBe(
    true,
  );
  expect(["bash", "todo_write", "read", "context"].some(isInternalTool)).toBe(false);
  expect(["notes_write_file", "notes_append_to_file", "notes_read_file"].map(isNoteWriteTool)).toEqual([
    true,
    true,
    false,
  ]);
});
