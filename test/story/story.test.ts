// The generators under fixtures/story: the same on every run, and true to what they claim.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { sampleProject, writeFiles } from "../../fixtures/story/sample-project.ts";
import { sessionEntries, writeSessionFile } from "../../fixtures/story/session-file.ts";
import { makeStory } from "../../fixtures/story/story.ts";

describe("the story", () => {
  const story = makeStory();

  it("is the same every time", () => {
    expect(JSON.stringify(makeStory().steps)).toBe(JSON.stringify(story.steps));
  });

  it("has a dozen requests or more, and one /compact among them", () => {
    const types = story.steps.map((step) => step.type);
    expect(types.filter((type) => type === "user").length).toBeGreaterThanOrEqual(12);
    expect(types.filter((type) => type === "compact")).toHaveLength(1);
  });

  it("works without the tools of this package too", () => {
    const names = makeStory({ notes: false }).steps.flatMap((step) =>
      step.type === "assistant" ? step.content.flatMap((block) => (block.type === "toolCall" ? [block.name] : [])) : [],
    );
    expect([...new Set(names)].sort()).toEqual(["bash", "edit", "grep", "ls", "read", "write"]);
  });

  it("calls no id twice", () => {
    const ids = story.steps.flatMap((step) =>
      step.type === "assistant" ? step.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : [])) : [],
    );
    expect(ids.length).toBeGreaterThan(400);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("the sample project", () => {
  it("prints a long audit and runs its tests", () => {
    const directory = scratchFolder();
    writeFiles(sampleProject(), directory);
    const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: directory, encoding: "utf8" });
    expect(run("test/run.js")).toBe("0 ok, 0 failed\n");
    expect(run("scripts/audit.js", "2").length).toBeGreaterThan(30_000);
  });
});

describe("a synthetic session file", () => {
  it("has the entries that were asked for, each the child of the one before", () => {
    const entries = sessionEntries({ entries: 1_234, windows: 4 });
    expect(entries).toHaveLength(1_234);
    expect(new Set(entries.map((entry) => entry.id)).size).toBe(1_234);
    const parents = entries.map((entry) => entry.parentId);
    expect(parents).toEqual([null, ...entries.slice(0, -1).map((entry) => entry.id)]);
  });

  it("holds everything a session can hold", () => {
    const all = JSON.stringify(sessionEntries({ entries: 2_000, windows: 2 }));
    for (const part of [
      "bashExecution",
      "toolResult",
      '"image"',
      "custom_message",
      "session_info",
      "🧾",
      "日本語",
      '"opens":"w2"',
    ])
      expect(all).toContain(part);
  });

  it("is the same bytes for the same options", () => {
    const [one, two] = [join(scratchFolder(), "a.jsonl"), join(scratchFolder(), "b.jsonl")];
    const options = { entries: 500, windows: 2, seed: 3, cwd: "/project" };
    writeSessionFile(one, options);
    writeSessionFile(two, options);
    expect(readFileSync(one).equals(readFileSync(two))).toBe(true);
  });
});
