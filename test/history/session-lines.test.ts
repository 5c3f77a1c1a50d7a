// The first journal of a session that has a file: lines that say what the entries say are copied, every other one is made.
// Whatever is wrong with the file, the journal says what the session says.
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { sessionEntries } from "../../fixtures/story/session-file.ts";
import { cutJson } from "../../src/history/journal-facts.ts";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { rounds } from "../rounds.ts";
import { errnoError, temporaryDirectory, watchedDisk } from "../storage/disks.ts";
import { logFile, newDirectory, readerOf, writerOf } from "./journals.ts";

const ENTRIES = 1_200;
const HEADER = JSON.stringify({ type: "session", version: 3, id: "session", timestamp: "", cwd: "/" });
const STORY = sessionEntries({ entries: ENTRIES, windows: 2, seed: 5 }) as unknown as readonly LogEntry[];

function sessionOf(entries: readonly LogEntry[], lines: readonly string[]): EntrySource & { readonly path: string } {
  const path = join(temporaryDirectory(), "session.jsonl");
  writeFileSync(path, `${lines.join("\n")}\n`);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  return { leafId: () => entries.at(-1)?.id ?? null, entry: (id) => byId.get(id), file: () => path, path };
}

const linesOf = (entries: readonly LogEntry[]) => [HEADER, ...entries.map((entry) => JSON.stringify(entry))];

/** The entries as the journal's lines say them. */
function journaled(directory: string): string[] {
  const lines = readFileSync(logFile(directory), "utf8").split("\n");
  return lines.filter((line) => line.startsWith('{"entry":')).map((line) => JSON.stringify(JSON.parse(line).entry));
}

async function filled(session: EntrySource, disk = watchedDisk(() => undefined)): Promise<string[]> {
  const directory = newDirectory();
  await writerOf(directory, { disk }).sync(session);
  const lines = journaled(directory);
  expect((await readerOf(directory).refresh()).rows.length).toBeGreaterThan(0);
  return lines;
}

const asJson = (entries: readonly LogEntry[]) => entries.map((entry) => JSON.stringify(entry));

/** A long text in which only the middle is not compared. */
const LONG = "x".repeat(2_000);

function talk(count: number, text: (number: number) => string): LogEntry[] {
  return Array.from({ length: count }, (_, number) => ({
    type: "message",
    id: (number + 1).toString(16).padStart(8, "0"),
    parentId: number === 0 ? null : number.toString(16).padStart(8, "0"),
    timestamp: new Date(number).toISOString(),
    message: { role: "user", content: [{ type: "text", text: text(number) }], timestamp: number },
  })) as unknown as LogEntry[];
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a first journal", () => {
  test("makes no line that the session's file has", async () => {
    const entries = talk(ENTRIES, (number) => `${number} ${LONG}`);
    const made = async (lines: readonly string[]) => {
      const session = sessionOf(entries, lines);
      const stringify = JSON.stringify;
      let bytes = 0;
      vi.spyOn(JSON, "stringify").mockImplementation(((value: unknown) => {
        const json = stringify(value);
        bytes += json?.length ?? 0;
        return json;
      }) as typeof JSON.stringify);
      const directory = newDirectory();
      await writerOf(directory).sync(session);
      vi.restoreAllMocks();
      expect(journaled(directory)).toEqual(asJson(entries));
      return bytes;
    };
    const total = ENTRIES * LONG.length;
    expect(await made(linesOf(entries))).toBeLessThan(total * 0.4);
    expect(await made([HEADER])).toBeGreaterThan(total);
  });

  test("of a story with calls, results and windows is what it is without a file", async () => {
    expect(await filled(sessionOf(STORY, linesOf(STORY)))).toEqual(asJson(STORY));
  });

  test("passes by what the branch does not hold", async () => {
    const other = talk(700, (number) => `abandoned ${number}`).map((entry) => ({
      ...entry,
      id: `a${entry.id.slice(1)}`,
    }));
    const lines = linesOf(STORY).flatMap((line, number) =>
      number === 300 ? [...asJson(other), "", "{", line] : [line],
    );
    expect(await filled(sessionOf(STORY, lines))).toEqual(asJson(STORY));
  });

  test("makes lines for entries that the file does not have, wherever they are missing", async () => {
    for (const [from, to] of [
      [0, 5],
      [400, 900],
      [ENTRIES - 3, ENTRIES],
    ] as const) {
      const lines = linesOf(STORY.filter((_, number) => number < from || number >= to));
      expect(await filled(sessionOf(STORY, lines))).toEqual(asJson(STORY));
    }
  });

  test.each([
    ["is half-written", ({ path }) => truncateSync(path, readFileSync(path).length - 500)],
    ["is empty", ({ path }) => truncateSync(path, 0)],
    [
      "was written by another program in another form",
      ({ path }) => {
        const lines = readFileSync(path, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
        writeFileSync(path, lines.map((line) => JSON.stringify(line, undefined, 1).replaceAll("\n", "")).join("\n"));
      },
    ],
    [
      "ends within a character",
      ({ path }) => appendFileSync(path, Buffer.from('{"type":"message","id":"漢').subarray(0, -1)),
    ],
  ] satisfies [string, (session: { path: string }) => void][])(
    "of a session whose file %s is whole",
    async (_, harm) => {
      const session = sessionOf(STORY, linesOf(STORY));
      harm(session);
      expect(await filled(session)).toEqual(asJson(STORY));
    },
  );

  test("of a session whose file cannot be opened or read, at once or any more, is whole", async () => {
    for (const failing of ["openSync", "fstatSync", "read"] as const) {
      for (const after of [0, 1]) {
        const session = sessionOf(STORY, linesOf(STORY));
        let calls = 0;
        const disk = watchedDisk((name, path) => {
          const isSession = name === "read" || path === session.path;
          if (name === failing && isSession && calls++ >= after) throw errnoError("EIO", name);
        });
        expect(await filled(session, disk), `${failing} ${after}`).toEqual(asJson(STORY));
      }
    }
  });

  test("takes lines longer than what is read at once", async () => {
    const entries = talk(ENTRIES, (number) => (number === 500 ? "long ".repeat(1_000_000) : `${number}`));
    expect(await filled(sessionOf(entries, linesOf(entries)))).toEqual(asJson(entries));
  });
});

test("an entry that was changed in memory is written as it is there", async () => {
  const changes: ((entry: LogEntry) => unknown)[] = [
    (entry) => ({ ...entry, parentId: entry.parentId, label: "kept" }),
    (entry) => ({ ...entry, timestamp: new Date(1).toISOString() }),
    (entry) => ({ ...entry, message: { ...entry.message, content: [{ type: "text", text: "short" }] } }),
    (entry) => ({ ...entry, message: { ...entry.message, content: [{ type: "text", text: `y${LONG}` }] } }),
    (entry) => ({ ...entry, message: { ...entry.message, content: [{ type: "text", text: `${LONG}y` }] } }),
    (entry) => ({ ...entry, message: { ...entry.message, content: `${LONG}` } }),
    (entry) => ({ ...entry, message: { ...entry.message, timestamp: 1 } }),
  ];
  const entries = talk(ENTRIES, () => LONG);
  const changed = entries.map((entry, number) => (changes[number % 20]?.(entry) ?? entry) as LogEntry);
  expect(await filled(sessionOf(changed, linesOf(entries)))).toEqual(asJson(changed));
});

test("random harm to the lines of a file changes nothing in the journal", async () => {
  const texts = fc.string({ unit: "binary", maxLength: 600 });
  const harms = fc.constantFrom("drop", "swap", "cut", "twice", "head", "tail", "text", "none");
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(texts, harms, fc.nat(1_000)), { minLength: 20, maxLength: 60 }),
      async (given) => {
        const entries = talk(ENTRIES, (number) => given[number % given.length]?.[0] ?? "");
        const lines = asJson(entries).flatMap((line, number) => {
          const [, harm = "none", at = 0] = given[number % given.length] ?? [];
          if (harm === "drop") return [];
          if (harm === "swap") return [asJson(entries)[(number * 7) % ENTRIES] ?? ""];
          if (harm === "cut") return [line.slice(0, at % line.length)];
          if (harm === "twice") return [line, line];
          if (harm === "head") return [line.replace("user", "tool")];
          if (harm === "tail") return [line.replace(/"timestamp":\d+/, '"timestamp":7')];
          if (harm === "text") return [line.replace('"text":"', '"text":"+')];
          return [line];
        });
        expect(await filled(sessionOf(entries, [HEADER, ...lines]))).toEqual(asJson(entries));
      },
    ),
    { numRuns: rounds(4, 60) },
  );
});

test("an entry's JSON is cut open at its only text, and whole again with it", () => {
  const text = fc.string({ unit: "binary" });
  const block = fc.oneof(
    fc.record({ type: fc.constant("text"), text }),
    fc.record({ type: fc.constant("thinking"), thinking: text }),
    fc.record({ type: fc.constant("toolCall"), id: text, name: text, arguments: fc.jsonValue() }),
    fc.constant({ type: "text", text: "\u0001" }),
  );
  const content = fc.oneof(text, fc.array(block, { maxLength: 3 }));
  const entry = fc.oneof(
    fc.record({
      type: fc.constant("message"),
      id: text,
      message: fc.record({ role: text, content, details: fc.jsonValue() }),
    }),
    fc.record({ type: fc.constant("custom_message"), id: text, content, details: fc.jsonValue() }),
    fc.record({ type: fc.constant("compaction"), id: text, summary: text, details: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(entry, (made) => {
      const cut = cutJson(made as unknown as LogEntry);
      if (!cut) return;
      const inner = JSON.stringify(cut.text).slice(1, -1);
      expect(cut.before + inner + cut.after).toBe(JSON.stringify(made));
    }),
  );
});
