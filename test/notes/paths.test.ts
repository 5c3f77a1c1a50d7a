// Note addresses: what is accepted leads to exactly one note of one agent, what is not says why.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { fullPath, noteName, notePathProblem, parseNotePath, parseNotePrefix } from "../../src/notes/paths.ts";
import { anyText } from "../log/texts.ts";

const ME = "/root/reviewer";
const HALF = "\ud83d";
/** 255 bytes in 85 characters, and one more byte. */
const LONGEST = "漢".repeat(85);
const LONG_PATH = Array.from({ length: 5 }, () => "x".repeat(204)).join("/");

const segment = fc
  .oneof(
    fc.stringMatching(/^[a-z0-9_.-]{1,12}$/),
    fc.constantFrom("notes", "root", "漢字", "a b", "~", "😀", "...", "x:y"),
  )
  .filter((text) => notePathProblem(text) === undefined);
const notePath = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join("/"));
const agentName = fc.stringMatching(/^[a-z0-9_]{1,8}$/).filter((name) => name !== "root" && name !== "notes");
const agent = fc.array(agentName, { maxLength: 3 }).map((names) => ["/root", ...names].join("/"));

function rejection(work: () => unknown): TokenBudgetError {
  try {
    work();
  } catch (error) {
    if (error instanceof TokenBudgetError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("a note path", () => {
  test("of one's own belongs to the current agent", () => {
    for (const path of [
      "checkpoint.md",
      "plans/db.md",
      "notes/a.md",
      "root/notes/a",
      "~/a",
      ".hidden",
      "a..b",
      "console",
      LONGEST,
    ]) {
      expect(parseNotePath(path, ME)).toEqual({ agent: ME, path });
    }
  });

  test("of another agent splits at its first segment notes", () => {
    expect(parseNotePath("/root/notes/a.md", ME)).toEqual({ agent: "/root", path: "a.md" });
    expect(parseNotePath("/root/a/b_1/notes/notes/a.md", ME)).toEqual({ agent: "/root/a/b_1", path: "notes/a.md" });
    expect(parseNotePath(`${ME}/notes/a.md`, ME)).toEqual({ agent: ME, path: "a.md" });
  });

  test("shown in full can be passed back by any agent", () => {
    fc.assert(
      fc.property(agent, agent, notePath, (owner, reader, path) => {
        expect(parseNotePath(path, owner)).toEqual({ agent: owner, path });
        expect(parseNotePath(fullPath(owner, path), reader)).toEqual({ agent: owner, path });
      }),
    );
  });

  test.each([
    ["", "it is empty"],
    ["a//b", "an empty segment"],
    ["a/", "an empty segment"],
    ["./a", '"." is not a name'],
    ["a/../b", '".." is not a name'],
    ["..", '".." is not a name'],
    ["a\\b", "a backslash"],
    ["a\u0000b", "a control character"],
    ["a\nb", "a control character"],
    ["a\u0085b", "a control character"],
    ["a\u007f", "a control character"],
    [`a${HALF}b`, "half of a surrogate pair"],
    [`${LONGEST}x`, "over 255 bytes long"],
    [`${LONG_PATH}`, undefined],
    [`${LONG_PATH}x`, "over 1024 bytes long"],
    ["CON", "a reserved device name"],
    ["nul.txt", "a reserved device name"],
    ["a/Com1.md/b", "a reserved device name"],
    ["lpt9 .x", "a reserved device name"],
    ["aux", "a reserved device name"],
    ["COM¹", "a reserved device name"],
    ["C:/a", "a drive letter"],
    ["a/c:b", "a drive letter"],
    ["/root/notes/", "no note"],
    ["/root/notes", "no note"],
    ["/root/notes//a", "an empty segment"],
    ["/root/notes/..", '".." is not a name'],
    ["/etc/passwd", "<agent address>/notes"],
    ["/root/a.md", "<agent address>/notes"],
    ["/", "<agent address>/notes"],
  ])("%j: %s", (path, problem) => {
    if (problem === undefined) {
      expect(parseNotePath(path, ME).path).toBe(path);
      return;
    }
    const error = rejection(() => parseNotePath(path, ME));
    expect(error.code).toBe("invalid_path");
    expect(error.message).toMatch(/^path is "/);
    expect(error.message).toContain(problem);
    expect(error.message).toContain("/root/<agent>/notes/<path>");
    expect(error.message.isWellFormed()).toBe(true);
  });

  test.each(["/notes/a", "//notes/a", "/home/notes/a", "/root/Big/notes/a", "/root/root/notes/a", "/root//notes/a"])(
    "%s names no agent",
    (path) => {
      const error = rejection(() => parseNotePath(path, ME));
      expect(error.code).toBe("invalid_address");
      expect(error.message).toContain("is not an agent address");
      expect(rejection(() => parseNotePrefix(path, ME)).code).toBe("invalid_address");
    },
  );

  test("whatever it is, leads below an agent's notes or nowhere", () => {
    const hostile = fc.array(fc.oneof(anyText, fc.constantFrom("/", "..", "/root", "/notes/", ".", "notes")), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(hostile, (pieces) => {
        const input = pieces.join("");
        let parsed: { agent: string; path: string };
        try {
          parsed = parseNotePath(input, ME);
        } catch (error) {
          expect(error).toBeInstanceOf(TokenBudgetError);
          return;
        }
        const segments = parsed.path.split("/");
        expect(segments.some((name) => name === "" || name === "." || name === "..")).toBe(false);
        expect(input.startsWith("/") ? fullPath(parsed.agent, parsed.path) : parsed.path).toBe(input);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a prefix", () => {
  test.each([
    [undefined, ME, ""],
    [null, ME, ""],
    ["", ME, ""],
    ["check", ME, "check"],
    ["plans/", ME, "plans/"],
    ["plans/d", ME, "plans/d"],
    ["con", ME, "con"],
    ["..", ME, ".."],
    ["/root/notes", "/root", ""],
    ["/root/notes/", "/root", ""],
    ["/root/a/notes/pl", "/root/a", "pl"],
    ["/root/notes/notes/", "/root", "notes/"],
  ])("%j", (input, owner, prefix) => {
    expect(parseNotePrefix(input, ME)).toEqual({ agent: owner, prefix });
  });

  test("of every beginning of a path is accepted and is a beginning of it", () => {
    fc.assert(
      fc.property(agent, notePath, fc.nat(), (owner, path, at) => {
        const prefix = path.slice(0, at % (path.length + 1)).toWellFormed();
        if (!path.startsWith(prefix)) return;
        expect(parseNotePrefix(fullPath(owner, prefix), ME)).toEqual({ agent: owner, prefix });
        expect(parseNotePrefix(prefix, owner)).toEqual({ agent: owner, prefix });
      }),
    );
  });

  test.each([
    "/",
    "/root",
    "/root/",
    "/root/not",
    "/roo",
    "a//b",
    "a/../b",
    "a\\",
    "a\u0000",
    HALF,
    "nul/",
    "c:",
    `${LONGEST}x`,
  ])("%j is an error that shows the form", (input) => {
    const error = rejection(() => parseNotePrefix(input, ME, "path_prefix"));
    expect(error.code).toBe("invalid_path");
    expect(error.message).toMatch(/^path_prefix is "/);
    expect(error.message).toContain("/root/<agent>/notes/<beginning>");
  });
});

test("a note has a name for people, which a folder of the disk has not", () => {
  const paths = ["plan.md", "/root/notes/a/plan.md", "/root/reviewer/notes/notes/x.md", "/root/.pi/notes/x"];
  expect(paths.map(noteName)).toEqual([
    "plan.md",
    "main agent: a/plan.md",
    "reviewer: notes/x.md",
    "/root/.pi/notes/x",
  ]);
});
