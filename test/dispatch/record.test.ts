import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { storedName, workName } from "../../src/dispatch/files/names.ts";
import { collectedRoles, isNamedIn } from "../../src/dispatch/files/roles.ts";
import { ended, titleOf, withStep } from "../../src/dispatch/record/rules.ts";
import {
  GOAL_MAX_CHARS,
  STEP_MAX_CHARS,
  STEPS_MAX_ROWS,
  type TaskRow,
  TITLE_MAX_CHARS,
} from "../../src/dispatch/record/schema.ts";
import { parseGoal } from "../../src/dispatch/request.ts";
import { countCodePoints } from "../../src/storage/text.ts";

describe("the title", () => {
  it("is the first non-empty line of the goal, else the first attachment, else a fixed text", () => {
    expect(titleOf("\n  \n  Sum the sales\nby month", ["a.xlsx"])).toBe("Sum the sales");
    expect(titleOf(" \n", ["a.xlsx", "b"])).toBe("a.xlsx");
    expect(titleOf("", [])).toBe("Untitled task");
  });

  it("has at most 60 characters, is one line, and is never empty", () => {
    const text = fc.string({ unit: "binary", maxLength: 200 });
    fc.assert(
      fc.property(text, fc.array(text, { maxLength: 2 }), (goal, attachments) => {
        const title = titleOf(goal, attachments);
        expect(countCodePoints(title)).toBeLessThanOrEqual(TITLE_MAX_CHARS);
        expect(title.isWellFormed()).toBe(true);
        expect(title.trim()).not.toBe("");
        expect(title).not.toMatch(/[\n\r]/);
      }),
    );
  });
});

describe("the goal", () => {
  it("of 50,000 characters passes, of 50,001 does not, whatever the characters", () => {
    expect(parseGoal("😀".repeat(GOAL_MAX_CHARS), 0)).toHaveLength(2 * GOAL_MAX_CHARS);
    expect(() => parseGoal(`${"x".repeat(GOAL_MAX_CHARS)} `, 0)).toThrow(/goal is longer than 50,000 characters/);
  });

  it("is trimmed, and empty only beside an attachment", () => {
    expect(parseGoal("  do it \n", 0)).toBe("do it");
    expect(parseGoal(" ", 1)).toBe("");
    expect(() => parseGoal(" ", 0)).toThrow(/goal is empty/);
    expect(() => parseGoal(7, 0)).toThrow(/goal is 7/);
  });
});

describe("steps", () => {
  it("stay within their bounds, and the newest is always there", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 700 }), { maxLength: 450 }), (added) => {
        let steps: readonly string[] = [];
        let count = 0;
        for (const step of added) {
          const before = steps;
          steps = withStep(steps, step);
          if (steps !== before) count++;
        }
        expect(steps.length).toBe(Math.min(count, STEPS_MAX_ROWS));
        for (const step of steps) expect(countCodePoints(step)).toBeLessThanOrEqual(STEP_MAX_CHARS);
        const left = /^\((\d+) earlier/.exec(steps[0] ?? "");
        expect(left ? Number(left[1]) + steps.length - 1 : steps.length).toBe(count);
      }),
      { numRuns: 30 },
    );
  });
});

describe("the status", () => {
  it("only moves forward", () => {
    const task = { status: "processing", progress: "x" } as TaskRow;
    const end = fc.record({
      status: fc.constantFrom("completed", "failed", "cancelled" as const),
      result: fc.constant(null),
      error: fc.constant(null),
    });
    fc.assert(
      fc.property(fc.array(end, { minLength: 1, maxLength: 5 }), (ends) => {
        const final = ends.reduce((row, each) => ended(row, each, "now"), task);
        expect(final.status).toBe(ends[0]?.status);
        expect(final.progress).toBe("");
      }),
    );
  });
});

describe("what a file is", () => {
  it("follows from where it lies and what it is called", () => {
    const paths = [
      "output/summary.xlsx",
      "output/Summary.csv",
      "output/data.csv",
      "output/report.html",
      "output/notes.md",
      "output/readme.md",
      "work/a.py",
      "top.txt",
      "attachments/ab/01-x.csv",
      "output/deep/summary.csv",
    ];
    const roles = Object.fromEntries(
      collectedRoles(paths, "write summary.xlsx and README.md").map(({ path, role }) => [path, role]),
    );
    expect(roles).toEqual({
      "output/summary.xlsx": "output",
      "output/Summary.csv": "intermediate",
      "output/data.csv": "output",
      "output/report.html": "intermediate",
      "output/notes.md": undefined,
      "output/readme.md": "output",
      "work/a.py": "intermediate",
      "top.txt": "intermediate",
      "output/deep/summary.csv": "output",
    });
  });

  it("asks for a name as a word of its own", () => {
    expect(isNamedIn("write notes.md.", "notes.md")).toBe(true);
    expect(isNamedIn("write my-notes.md", "notes.md")).toBe(false);
    expect(isNamedIn("write notes.mdx", "notes.md")).toBe(false);
  });

  it("is an input never, an output only in output/, and something for every path but inputs", () => {
    const name = fc.constantFrom("a.md", "a.xlsx", "a.csv", "a.tsv", "report.html", "b.txt", "A.XLSX");
    const folder = fc.constantFrom("", "output/", "work/", "attachments/x/", "output/sub/", "outputs/");
    const paths = fc.uniqueArray(fc.tuple(folder, name).map(([at, file]) => at + file));
    fc.assert(
      fc.property(paths, fc.constantFrom("", "make a.md"), (all, goal) => {
        const roles = collectedRoles(all, goal);
        expect(roles.map(({ path }) => path)).toEqual(all.filter((path) => !path.startsWith("attachments/")));
        for (const { path, role } of roles) {
          if (role === "output") expect(path.startsWith("output/")).toBe(true);
          if (role === undefined) expect(path).toMatch(/^output\/.*\.md$/);
          if (path.endsWith("report.html")) expect(role).toBe("intermediate");
        }
      }),
    );
  });
});

describe("names", () => {
  it("in the working directory are plain whatever was attached, and keep their extension", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
        const plain = workName(`${name}.xlsx`);
        expect(plain).not.toMatch(/[\p{Cc}/\\:*?"<>|`$]/u);
        expect(plain.startsWith(".")).toBe(false);
        expect(plain.endsWith(".xlsx")).toBe(true);
        expect(Buffer.byteLength(plain)).toBeLessThanOrEqual(255);
      }),
    );
  });

  it("in storage are random and keep a plain extension only", () => {
    expect(storedName("a.XLSX")).toMatch(/^[0-9a-f]{16}\.xlsx$/);
    expect(storedName("a.x y/../z")).toMatch(/^[0-9a-f]{16}$/);
    expect(storedName("a.txt")).not.toBe(storedName("a.txt"));
  });
});
