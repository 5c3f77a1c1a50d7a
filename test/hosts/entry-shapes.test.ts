// Every entry, message and content block that the host's own types name is known here, field by field: a new host's new
// shape fails this test before it is an item that reads as empty. Then one of each, and a real session's, is read back.
import { describe, expect, it } from "vitest";
import { currentHostName, hostNamed } from "../../fixtures/pi/hosts.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { LogEntry } from "../../src/host/entries.ts";
import { itemHead, itemImages, itemText } from "../../src/log/item.ts";
import { shapesOfHost } from "./host-types.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

/** `text` is what reading shows of a shape; the other fields are known to hold nothing that was said. */
interface Known {
  readonly text: Readonly<Record<string, unknown>>;
  readonly others: readonly string[];
}

const said = (field: string) => `what ${field} says`;

const ENTRIES: Readonly<Record<string, Known>> = {
  message: { text: {}, others: ["message"] },
  thinking_level_change: { text: {}, others: ["thinkingLevel"] },
  model_change: { text: {}, others: ["provider", "modelId"] },
  usage: { text: {}, others: ["kind", "provider", "model", "usage", "note"] },
  compaction: {
    text: { summary: said("summary") },
    // The prompt there is the one that the system entries before it say.
    others: ["firstKeptEntryId", "tokensBefore", "details", "usage", "fromHook", "systemMessage"],
  },
  branch_summary: { text: { summary: said("summary") }, others: ["fromId", "details", "usage", "fromHook"] },
  custom: { text: {}, others: ["customType", "data"] },
  custom_message: { text: { content: said("content") }, others: ["customType", "details", "display"] },
  // Changes what requests hold of an entry; the entry itself stays as it was, and is what history shows.
  context_edit: { text: {}, others: ["targetId", "replacement"] },
  label: { text: {}, others: ["targetId", "label"] },
  session_info: { text: {}, others: ["name"] },
};

const ABOUT_THE_RESPONSE = [
  "api",
  "provider",
  "model",
  "responseModel",
  "responseId",
  "providerThinkingLevel",
  "thinkingLevel",
  "diagnostics",
  "usage",
  "stopReason",
  "deferred",
  "errorMessage",
  "rawStopReason",
  "endTurn",
  "durationMs",
];

const MESSAGES: Readonly<Record<string, Known>> = {
  user: { text: { content: said("content") }, others: [] },
  assistant: { text: { content: [text(said("content"))] }, others: ABOUT_THE_RESPONSE },
  toolResult: {
    text: { content: [text(said("content"))] },
    others: ["toolCallId", "toolName", "details", "isError", "usage", "addedToolNames"],
  },
  system: {
    text: {
      content: said("content"),
      sections: { rules: said("sections"), gone: null },
      toolsAdded: [{ name: said("toolsAdded") }],
      toolsRemoved: [{ name: said("toolsRemoved") }],
    },
    others: [],
  },
  bashExecution: {
    text: { command: said("command"), output: said("output"), exitCode: 7 },
    others: ["cancelled", "truncated", "fullOutputPath", "excludeFromContext"],
  },
  custom: { text: { content: said("content") }, others: ["customType", "display", "details"] },
  branchSummary: { text: { summary: said("summary") }, others: ["fromId"] },
  compactionSummary: { text: { summary: said("summary") }, others: ["tokensBefore"] },
};

const BLOCKS: Readonly<Record<string, Known>> = {
  text: { text: { text: said("text") }, others: ["textSignature"] },
  // Of the model's own; never shown.
  thinking: { text: {}, others: ["thinking", "thinkingSignature", "redacted"] },
  // Shown as an image.
  image: { text: {}, others: ["data", "mimeType"] },
  toolCall: {
    text: {
      id: said("id"),
      name: said("name"),
      arguments: { a: said("arguments") },
      argumentsError: said("argumentsError"),
    },
    others: ["thoughtSignature", "namespace"],
  },
};

const shapes = shapesOfHost(hostNamed(currentHostName()));

function entryOf(fields: object): LogEntry {
  return { id: "00000001", parentId: null, timestamp: "2026-03-01T09:00:00.000Z", ...fields } as unknown as LogEntry;
}

/** Every string in a value, the names of sections included. */
function stringsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (inner === null ? [name] : stringsOf(inner)));
}

function readBack(entry: LogEntry): string {
  return itemHead(entry, () => undefined) ? itemText(entry).points.text : "";
}

/** Fields that the host names and the table does not. */
function unknownFields(fields: readonly string[], known: Known, common: readonly string[]): string[] {
  const all = new Set([...Object.keys(known.text), ...known.others, ...common]);
  return fields.filter((field) => !all.has(field));
}

function expectKnown(
  named: ReadonlyMap<string, readonly string[]>,
  table: Readonly<Record<string, Known>>,
  common: readonly string[],
) {
  expect(named.size).toBeGreaterThan(3);
  for (const [name, fields] of named) {
    const known = table[name];
    expect(known, `a shape called ${name} is new`).toBeDefined();
    if (known) expect(unknownFields(fields, known, common), `new fields of ${name}`).toEqual([]);
  }
}

describe("what the host's types name", () => {
  it("is known, field by field", () => {
    expectKnown(shapes.entries, ENTRIES, ["type"]);
    expectKnown(shapes.messages, MESSAGES, ["role", "timestamp"]);
    expectKnown(shapes.blocks, BLOCKS, ["type"]);
  });

  it("reads back whole from each entry", () => {
    for (const type of shapes.entries.keys()) {
      const { text: fields } = ENTRIES[type] as Known;
      const shown = readBack(entryOf({ type, ...fields }));
      for (const part of stringsOf(fields)) expect(shown, type).toContain(part);
    }
  });

  it("reads back whole from each message and block", () => {
    for (const role of shapes.messages.keys()) {
      const { text: fields } = MESSAGES[role] as Known;
      const shown = readBack(entryOf({ type: "message", message: { role, ...fields } }));
      for (const part of stringsOf(fields).filter((value) => value !== "text")) expect(shown, role).toContain(part);
    }
    for (const type of shapes.blocks.keys()) {
      const { text: fields } = BLOCKS[type] as Known;
      const entry = entryOf({ type: "message", message: { role: "assistant", content: [{ type, ...fields }] } });
      for (const part of stringsOf(fields)) expect(readBack(entry), type).toContain(part);
    }
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    expect(itemImages(entryOf({ type: "message", message: { role: "user", content: [image] } }))).toEqual([image]);
  });
});

describe("a session's system entry", () => {
  it("is listed by role and read back with every section and tool", async () => {
    const answers = [
      call("history_list_items", { role: "system" }),
      call("history_search_contents", { query: "coding assistant", role: "system" }),
    ];
    const s = await pi({ next: (_request, turn) => ({ content: [answers[turn] ?? text("done")] }) });
    await s.prompt("hello");
    const system = s
      .branch()
      .filter((entry) => entry.type === "message" && (entry.message.role as string) === "system");
    // Only 1.x writes its prompt on the log.
    expect(system.length > 0).toBe(currentHostName() === "1.6.0");
    const [list, found] = s.toolResults();
    expect(list?.text.split("\n")).toHaveLength(1 + system.length);
    for (const entry of system) {
      const { message } = entry as unknown as {
        message: { sections: Record<string, string>; toolsAdded: { name: string }[] };
      };
      const shown = readBack(entry as unknown as LogEntry);
      for (const section of Object.values(message.sections)) expect(shown).toContain(section);
      expect(shown).toContain('"name":"notes_write_file"');
      expect(list?.text).toContain(`"item_id":"${entry.id}"`);
      expect(found?.text).toContain(`"item_id":"${entry.id}"`);
    }
  });
});
