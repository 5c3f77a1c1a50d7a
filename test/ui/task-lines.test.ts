// The list of tasks and the lines above the editor, at the widths that people have: nothing is wider than the terminal, and
// what is left out on a narrow one is what says least.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LiveTask, TaskView } from "../../src/dispatch/task-view.ts";
import { columnsOf } from "../../src/ui/columns.ts";
import { liveTaskLines, liveTaskText } from "../../src/ui/running-tasks.ts";
import { listText } from "../../src/ui/task-text.ts";

const TITLE = "Fix it, all of it, with a goal that is rather long so that…";
const NOW = Date.parse("2026-01-01T00:01:00.000Z");
const live: LiveTask = {
  id: "0123456789abcdef",
  title: TITLE,
  agent: "/root/a",
  progress: "Wrote output/half.txt",
  steps: 2,
  tokens: 6_564,
  sinceMs: NOW - 59_000,
};

const view = {
  id: live.id,
  rootSession: "s",
  agent: "/root/a",
  parent: "/root",
  category: null,
  runner: "session",
  sandbox: null,
  requirement: "t",
  title: TITLE,
  status: "processing",
  progress: "",
  steps: [],
  result: null,
  error: null,
  model: null,
  created: "2026-01-01T00:00:00.000Z",
  updated: "2026-01-01T00:00:00.000Z",
  files: [],
  outputs: [],
  intermediates: [],
  usage: [],
} satisfies TaskView;

describe("a task that runs, above the editor", () => {
  it("says what it is at in 80 columns, its tokens in 60, and its steps and time in 40", () => {
    expect(liveTaskText(live, NOW, 118)).toBe(
      "Fix it, all of it, with a goal that is rather long so that… · 2 steps · 6,564 tokens · 59 s · Wrote output/half.txt",
    );
    expect(liveTaskText(live, NOW, 78)).toBe(
      "Fix it, all of it, wi… · 2 steps · 6,564 tokens · 59 s · Wrote output/half.txt",
    );
    expect(liveTaskText(live, NOW, 58)).toBe("Fix it, all of it, with a… · 2 steps · 6,564 tokens · 59 s");
    expect(liveTaskText(live, NOW, 38)).toBe("Fix it, all of it, w… · 2 steps · 59 s");
    expect(liveTaskText({ ...live, progress: "queued", steps: 0, tokens: 0 }, NOW, 38)).toBe(
      "Fix it, all of it, wi… · queued · 59 s",
    );
  });

  it("is never wider than the terminal", () => {
    const plain = { fg: (_color: string, text: string) => text, bold: String, strikethrough: String };
    const text = fc.string({ unit: "grapheme", maxLength: 80 });
    fc.assert(
      fc.property(text, text, fc.nat(10 ** 9), fc.nat(10 ** 6), fc.integer({ min: 1, max: 130 }), (...drawn) => {
        const [title, progress, tokens, steps, width] = drawn;
        for (const line of liveTaskLines([{ ...live, title, progress, tokens, steps }], NOW, plain, width))
          expect(columnsOf(line.slice("▸ ".length))).toBeLessThanOrEqual(Math.max(0, width - 2));
      }),
    );
  });
});

describe("the list of tasks", () => {
  const lines = (columns: number) =>
    listText([view], { nowMs: NOW, ids: [view.id], live: [live], columns }).split("\n");

  it("has what a running task has done so far, and one line for a task at every width", () => {
    expect(lines(118)).toEqual([
      "id        status   age    steps  cost          goal",
      `01234567  running  1 min  2      6,564 tokens  ${TITLE}`,
    ]);
    expect(lines(78)[1]).toBe("01234567  running  1 min  2      6,564 tokens  Fix it, all of it, with a goal…");
    expect(lines(58)[1]).toBe("01234567  running  1 min  2      Fix it, all of it, with …");
    expect(lines(38)).toEqual(["id        status   goal", "01234567  running  Fix it, all of it,…"]);
  });
});
