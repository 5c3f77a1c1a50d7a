// A line behind /task: what it means, and which slips are refused before a child runs on them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTaskLine } from "../../src/ui/task-arguments.ts";

const task = (goal: string, more: object = {}) => ({
  ...{ type: "task", goal, category: null, attachments: [], cwd: null, model: null, runner: null },
  ...more,
});

describe("what is typed behind /task", () => {
  it("is options before the goal, and the goal as it was typed", () => {
    const attachments = ["a b.xlsx", "c.pdf", "d e"];
    expect(parseTaskLine(`--attach "a b.xlsx" --attach=c.pdf --attach 'd e' --category s Sum it  --now`)).toEqual(
      task("Sum it  --now", { category: "s", attachments }),
    );
    const place = { cwd: ".", model: "provider/model", runner: "cli" };
    expect(parseTaskLine("--cwd . --model provider/model --runner cli Fix it")).toEqual(task("Fix it", place));
    expect(parseTaskLine("just do it")).toEqual(task("just do it"));
    expect(parseTaskLine("--attach a.csv")).toEqual(task("", { attachments: ["a.csv"] }));
  });

  it.each([
    ["--atach sales.csv Sum it", "There is no option --atach; did you mean --attach?"],
    ["--attach a.csv --categry x Sum it", "There is no option --categry; did you mean --category?"],
    ["--modle p/m Sum it", "There is no option --modle; did you mean --model?"],
    ["--cwd . --cwd .. Fix it", "--cwd is given twice"],
    ["Fix it --runner cli", "--runner comes after the goal"],
    ["--fix the tests", "There is no option --fix."],
    ["--attach", "--attach needs the path of a file"],
    ["--attach --category x Sum it", "--attach needs the path of a file"],
    ['--attach "a b.csv Sum it', "--attach needs the path of a file behind it, in quotes"],
    ["--category= Sum it", "--category needs a label"],
    ["Sum it --attach sales.csv", "--attach comes after the goal, and options come before the goal"],
    ["Sum it --category=x", "--category comes after the goal"],
  ])("is refused with a slip in it: %s", (line, problem) => {
    expect(parseTaskLine(line)).toEqual({ type: "slip", problem: expect.stringContaining(problem) });
  });

  it("is a goal of any words behind --", () => {
    const word = fc.constantFrom("--attach", "--atach", "--category=x", "Sum", "it", "--", "-x", '"');
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        const goal = words.join(" ");
        expect(parseTaskLine(`-- ${goal}`)).toEqual(task(goal));
        expect(parseTaskLine(`--attach a -- ${goal}`)).toEqual(task(goal, { attachments: ["a"] }));
      }),
    );
  });

  it("never becomes a goal that begins with an option, or holds one of ours", () => {
    const word = fc.constantFrom("--attach", "--atach", "--category=x", "Sum", "it", "a.csv", '"a');
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const line = parseTaskLine(words.join(" "));
        if (line.type === "task") expect(` ${line.goal}`).not.toMatch(/^ --|\s--(attach|category|cwd|model|runner)/);
      }),
    );
  });
});
