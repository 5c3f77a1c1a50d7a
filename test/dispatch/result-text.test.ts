// A child's final message: kept as it was written, but for the paths of the task's own files.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutInternalPaths, withoutTaskFolder } from "../../src/dispatch/run/result-text.ts";
import { bench, runnerOf } from "./dispatchers.ts";

const names = new Map([
  ["output/summary.xlsx", "summary.xlsx"],
  ["output/site/index.html", "site/index.html"],
  ["work/x.py", "x.py"],
  ["attachments/0123abcd/01-sales.xlsx", "sales.xlsx"],
]);

describe("a result", () => {
  it("names the task's own files as they are called outside", () => {
    const text =
      "See `/w/t1/output/summary.xlsx`, ./output/summary.xlsx, (work/x.py), output/site/index.html and attachments/0123abcd/01-sales.xlsx in /w/t1.";
    expect(withoutInternalPaths(text, { directories: ["/w/t1"], prefix: "", names })).toBe(
      "See `summary.xlsx`, summary.xlsx, (x.py), site/index.html and sales.xlsx in the working directory.",
    );
    const inProject = "at .pi-task/t1/output/a.txt and output/a.txt";
    expect(withoutInternalPaths(inProject, { directories: [], prefix: ".pi-task/t1/", names })).toBe(
      "at a.txt and output/a.txt",
    );
  });

  it.each([
    "The ratio output/input is 3",
    "Fixed work/parser.ts and output/report/build.sh",
    "My output/ folder, http://x/output/summary.xlsx, a/work/x.py, output/summary.xlsx.bak and work/x.python",
    "See /w/t10/output/a and /w/t1.bak",
  ])("keeps every word of: %s", (text) => {
    expect(withoutInternalPaths(text, { directories: ["/w/t1"], prefix: "", names })).toBe(text);
  });

  it("without a path of the task is the same text, whatever it holds", () => {
    const word = fc.constantFrom(
      "output/",
      "work/a.ts",
      "output/b.sh",
      "./work/",
      "attachments/x",
      "3/4",
      "(",
      ")",
      " ",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(word, fc.string())), (words) => {
        const text = words.join("");
        expect(withoutInternalPaths(text, { directories: ["/w/t1"], prefix: "", names: new Map() })).toBe(
          text.includes("/w/t1") ? expect.any(String) : text,
        );
      }),
    );
  });

  it("of a task on a project keeps the project's own output/ and work/", async () => {
    const said = "Fixed work/parser.ts and output/report/build.sh; the ratio output/input is 3.";
    const { dispatcher, place } = bench([
      runnerOf(({ cwd, onEvent }) => {
        mkdirSync(join(cwd, "work"));
        writeFileSync(join(cwd, "work", "parser.ts"), "");
        onEvent({ type: "answer", text: said });
      }),
    ]);
    const cwd = join(place.base, "project");
    mkdirSync(cwd);
    expect((await (await dispatcher.dispatch({ goal: "g", cwd })).result).result).toBe(said);
  });
});

describe("a step", () => {
  it("names the task's files as the child sees them from the task's folders", () => {
    const inProject = { directories: ["/p/.pi-task/t1"], prefix: ".pi-task/t1/" };
    expect(withoutTaskFolder("Wrote .pi-task/t1/output/a.txt", inProject)).toBe("Wrote output/a.txt");
    expect(withoutTaskFolder("Ran: cp ./.pi-task/t1/work/a /p/.pi-task/t1/output/ && ls output", inProject)).toBe(
      "Ran: cp work/a output/ && ls output",
    );
    const fresh = { directories: ["/w/t1"], prefix: "" };
    expect(withoutTaskFolder("Ran: cd /w/t1 && cat /w/t1/work/a /w/t12", fresh)).toBe("Ran: cd . && cat work/a /w/t12");
  });
});
