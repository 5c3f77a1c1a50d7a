// Labels of models as the settings say them: what is wrong is named once, and never makes a label wider.
import { describe, expect, test } from "vitest";
import { readCategories } from "../../src/category/labels.ts";
import type { SettingsFile } from "../../src/host/settings-files.ts";
import { loadSettings, problemLines } from "../../src/settings.ts";

function read(value: unknown): { readonly labels: Record<string, readonly string[]>; readonly problems: string[] } {
  const problems: string[] = [];
  return { labels: Object.fromEntries(readCategories(value, "categories", problems)), problems };
}

test("models stand in their order, once each, and a label is trimmed and lower-cased", () => {
  const { labels, problems } = read({ " Secret ": { models: ["a/b", "c/d/e", "a/b"] }, none_2: { models: ["x/y"] } });
  expect(labels).toEqual({ secret: ["a/b", "c/d/e"], none_2: ["x/y"] });
  expect(problems).toEqual([]);
});

test.each<[unknown, RegExp, Record<string, readonly string[]>]>([
  [[], /^categories is \[\], not an object/, {}],
  ["s", /^categories is "s", not an object/, {}],
  [{ "": { models: ["a/b"] } }, /^categories\[""\] is passed over: .*label/, {}],
  [{ "a b": { models: ["a/b"] } }, /^categories\["a b"\] is passed over: a label has 1 to 64 characters a-z/, {}],
  [{ none: { models: ["a/b"] } }, /none is passed over: .*ordinary/, {}],
  [{ s: ["a/b"] }, /^categories\.s is \["a\/b"\], not \{ "models"/, { s: [] }],
  [{ s: { models: "a/b" } }, /no model/, { s: [] }],
  [{ s: { models: [] } }, /names no model, so nothing/, { s: [] }],
  [{ s: { models: ["a/b", "c", 5, "/d", "e/", " f/g"] } }, /models\[1\] is "c", not "provider\/id"/, { s: ["a/b"] }],
  [{ s: { models: ["a/b"], default: "a/b" } }, /^categories\.s\.default is no field/, { s: ["a/b"] }],
  [{ s: { models: ["a/b"] }, S: { models: ["c/d"] } }, /\["S"\] is passed over: s is there already/, { s: ["a/b"] }],
])("%j is named", (value, problem, labels) => {
  const result = read(value);
  expect(result.problems.join("\n")).toMatch(problem);
  expect(result.labels).toEqual(labels);
});

describe("settings", () => {
  const file = (source: "agent" | "project", tokenBudget: unknown): SettingsFile => ({
    source,
    name: source,
    text: JSON.stringify({ tokenBudget }),
  });
  const categories = { s: { models: ["a/b"] } };

  test("of the agent directory label models, flat or beside defaults and models", () => {
    for (const block of [{ categories }, { categories, defaults: { enabled: true }, models: {} }]) {
      const loaded = loadSettings([file("agent", block), file("project", { enabled: true })], {});
      expect(Object.fromEntries(loaded.categories)).toEqual({ s: ["a/b"] });
      expect(loaded.problems).toEqual([]);
    }
    expect(loadSettings([], {}).categories.size).toBe(0);
  });

  test("of a project never do, and say so", () => {
    const hostile = { categories: { s: { models: ["evil/model"] }, t: { models: ["evil/model"] } } };
    const { categories: labels, problems } = loadSettings(
      [file("agent", { categories }), file("project", hostile)],
      {},
    );
    expect(Object.fromEntries(labels)).toEqual({ s: ["a/b"] });
    expect(problemLines(problems)).toEqual([
      expect.stringMatching(/^project: tokenBudget\.categories is passed over: only the agent/),
    ]);
  });

  test("hold them nowhere else", () => {
    const { problems, categories: labels } = loadSettings([file("agent", { defaults: { categories } })], {});
    expect(labels.size).toBe(0);
    expect(problemLines(problems)).toEqual([expect.stringContaining("categories is no setting")]);
  });
});
