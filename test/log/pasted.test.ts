// What a person typed is found behind what Pi pasted before it, and shown in previews, lists and bootstraps.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pastedBefore, typedHead } from "../../src/log/pasted.ts";
import { countCodePoints } from "../../src/storage/text.ts";
import { recentItems, requestIndex } from "../../src/window/bootstrap.ts";
import { sourceOf } from "../history/sources.ts";
import { historyCaller } from "../tools/calls.ts";
import { indexOf, TestLog } from "./branches.ts";

const BODY = "Keep books with 😀 care. ".repeat(400);
const SKILL = `<skill name="ledger" location="/skills/ledger/SKILL.md">\nReferences are relative to /skills/ledger.\n\n${BODY}\n</skill>`;
const FILE = `<file name="/home/me/totals.csv">\n${"1,2,3\n".repeat(500)}\n</file>\n`;
const QUESTION = "Why do the totals differ?";

describe("what was typed", () => {
  const block = fc.oneof(
    fc
      .record({ name: fc.stringMatching(/^[a-z-]{1,20}$/), body: fc.string({ unit: "grapheme" }) })
      .map(({ name, body }) => ({ name, text: `<skill name="${name}" location="/s/${name}">\n${body}\n</skill>\n\n` })),
    fc
      .record({ name: fc.stringMatching(/^[a-z-]{1,20}$/), body: fc.string({ unit: "grapheme" }) })
      .map(({ name, body }) => ({ name, text: `<file name="/f/${name}">\n${body}\n</file>\n` })),
  );
  const typed = fc.string({ unit: "grapheme", minLength: 1 }).map((text) => `q${text}`);

  it("begins behind any number of skills and files", () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 4 }), typed, (blocks, question) => {
        const pasted = blocks.map(({ text }) => text).join("");
        const { end, names } = pastedBefore(pasted + question);
        expect(end).toBe(pasted.length);
        expect(names.map((name) => name.replace(/^\w+ "(.*)"$/, "$1"))).toEqual(blocks.map(({ name }) => name));
      }),
    );
  });

  it("is the whole text where nothing was pasted, nothing follows, or a block does not close", () => {
    const whole = [
      "",
      QUESTION,
      `see ${SKILL}`,
      SKILL,
      FILE,
      `<file name="a">${QUESTION}`,
      `<skill name="x">\nb\n</skill>\n\n${QUESTION}`,
    ];
    for (const text of whole) {
      expect(pastedBefore(text)).toEqual({ end: 0, names: [] });
      expect(typedHead(text, 30)).toBe(Array.from(text).slice(0, 30).join(""));
    }
  });

  it("does not begin at a closing tag within a line, nor at an image's empty block", () => {
    const quoting = `<file name="a.md">\nit ends with </file> here\n</file>\n<file name="b.png"></file>\n${QUESTION}`;
    expect(quoting.slice(pastedBefore(quoting).end)).toBe(QUESTION);
  });

  it("is shown behind the names of what was pasted, in no more characters than asked for", () => {
    expect(typedHead(`${SKILL}\n\n${QUESTION}`, 100)).toBe(`[skill "ledger"] ${QUESTION}`);
    expect(typedHead(FILE.repeat(4) + QUESTION, 100)).toBe(
      `[file "totals.csv", file "totals.csv" and 2 more] ${QUESTION}`,
    );
    fc.assert(
      fc.property(fc.nat(200), (max) => {
        expect(countCodePoints(typedHead(`${SKILL}\n\n😀${QUESTION}`, max))).toBeLessThanOrEqual(max);
      }),
    );
  });
});

describe("a request behind a skill", () => {
  const log = new TestLog();
  log.user(`${SKILL}\n\n${QUESTION}`);
  const long = `${FILE}${"😀 long ".repeat(1_000)}the end`;
  log.user(long);
  const branch = indexOf(log);

  it("is what lists of items, the request index and a reminder show", async () => {
    const run = historyCaller(sourceOf(log));
    const rows = (await run("history_list_items", { role: "user", max_chars_per_item: 60 })).lines();
    expect(rows[1]).toMatchObject({ preview: `[skill "ledger"] ${QUESTION}` });
    expect(rows[1]).toMatchObject({ chars: countCodePoints(`${SKILL}\n\n${QUESTION}`) });
    expect(requestIndex(branch, 2_000)).toContain(`— w1 — [skill "ledger"] ${QUESTION}`);
    expect(recentItems(branch)[0]).toContain(`user — [skill "ledger"] ${QUESTION}`);
  });

  it("is in the bootstrap with calls that read the rest from where it is left out", () => {
    const points = Array.from(long);
    const shown = requestIndex(branch, 2_000);
    expect(shown).toContain(`[… ${FILE.length} characters of file "totals.csv" left out: history_read_item`);
    const offsets = Array.from(shown.matchAll(/"offset_chars":(\d+)/g), ([, offset]) => Number(offset));
    expect(offsets).toEqual([0, FILE.length + 1_000]);
    const [, head = "", tail = ""] =
      /"offset_chars":0\}\]\n([\s\S]*)\n\[… [^\n]*\]\n([\s\S]*)\n<\/request>/.exec(shown) ?? [];
    expect(head).toBe(points.slice(FILE.length, FILE.length + 1_000).join(""));
    expect(tail).toBe(points.slice(-1_000).join(""));
    expect(shown).toContain(`[… ${points.length - FILE.length - 2_000} characters left out`);
  });

  it("of a bootstrap's size stands there in full, and so does a short one with its skill", () => {
    const one = new TestLog();
    one.user(`${SKILL}\n\n${QUESTION}`);
    expect(requestIndex(indexOf(one), 2_000)).toMatch(
      /characters of skill "ledger" left out.*\]\nWhy do the totals differ\?\n<\/request>/,
    );
    const short = new TestLog();
    const all = `<skill name="x" location="/x">\nbe brief\n</skill>\n\n${QUESTION}`;
    short.user(all);
    expect(requestIndex(indexOf(short), 2_000)).toContain(`\n${all}\n</request>`);
  });
});
