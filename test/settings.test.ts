// Settings: precedence, per-model values, and one plain sentence for each thing that is wrong.
import { describe, expect, it } from "vitest";
import type { SettingsFile } from "../src/host/settings-files.ts";
import { DEFAULT_SETTINGS, loadSettings } from "../src/settings.ts";

const file = (source: "agent" | "project", content: unknown): SettingsFile => ({
  source,
  name: `${source}/settings.json`,
  text: typeof content === "string" ? content : JSON.stringify(content),
});
const agent = (tokenBudget: unknown) => file("agent", { tokenBudget });
const project = (tokenBudget: unknown) => file("project", { tokenBudget });

describe("settings", () => {
  it("are the defaults without files", () => {
    const loaded = loadSettings([{ source: "agent", name: "none", text: undefined }], {});
    expect(loaded.forModel(undefined)).toEqual(DEFAULT_SETTINGS);
    expect(loaded.problems).toEqual([]);
  });

  it("of the project win over the agent directory's, key by key", () => {
    const loaded = loadSettings(
      [agent({ maxToolOutputChars: 100, historyItemPreviewChars: 50 }), project({ maxToolOutputChars: 200 })],
      {},
    );
    expect(loaded.forModel("p/m")).toMatchObject({ maxToolOutputChars: 200, historyItemPreviewChars: 50 });
  });

  it("take the most exact model key, without regard to case, for trigger fields only", () => {
    const models = {
      "*": { hardRolloverUsedTokens: 100_000 },
      anthropic: { hardRolloverUsedTokens: 200_000 },
      "Anthropic/*": { hardRolloverUsedTokens: 300_000 },
      "anthropic/Claude": { hardRolloverUsedTokens: 400_000 },
    };
    const { forModel, problems } = loadSettings([agent({ defaults: { hardRolloverUsedTokens: 900_000 }, models })], {});
    expect(forModel("anthropic/claude").hardRolloverUsedTokens).toBe(400_000);
    expect(forModel("ANTHROPIC/other").hardRolloverUsedTokens).toBe(300_000);
    expect(forModel("openai/x").hardRolloverUsedTokens).toBe(100_000);
    expect(problems).toEqual([]);
    const wrong = loadSettings([agent({ models: { "a/b": { maxToolOutputChars: 5 } } })], {});
    expect(wrong.problems[0]).toContain('models["a/b"].maxToolOutputChars is no setting that differs by model');
    expect(wrong.forModel("a/b").maxToolOutputChars).toBe(DEFAULT_SETTINGS.maxToolOutputChars);
  });

  it("are named when wrong, with the rule and the default used, and never throw", () => {
    const cases: [unknown, string][] = [
      [{ enabled: "yes" }, 'enabled is "yes", not true or false; true is used'],
      [{ maxToolOutputChars: 0 }, "maxToolOutputChars is 0, not a whole number of at least 1; 12000 is used"],
      [{ reminderRemainingPercent: 2 }, "reminderRemainingPercent is 2, not a number from 0 to 1; 0.25 is used"],
      [{ maxTokens: 5 }, "maxTokens is no setting; there are enabled,"],
      [[1], "tokenBudget is [1], not an object"],
      [{ defaults: 3 }, "tokenBudget.defaults is 3, not an object"],
      [{ defaults: {}, enabled: false }, "tokenBudget.enabled stands beside defaults and models"],
      [{ models: [] }, "tokenBudget.models is [], not an object"],
    ];
    for (const [value, message] of cases) {
      const { problems, forModel } = loadSettings([agent(value)], {});
      expect(problems.join("\n")).toContain(message);
      expect(forModel("a/b")).toEqual(DEFAULT_SETTINGS);
    }
  });

  it("in a file that is not JSON are the defaults, with one problem", () => {
    const { problems, forModel } = loadSettings([file("agent", "{ oops"), project({ historyItemPreviewChars: 7 })], {});
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("agent/settings.json is not JSON");
    expect(forModel(undefined).historyItemPreviewChars).toBe(7);
  });

  it("of the environment win, and a bad one is passed over", () => {
    const env = { PI_TOKEN_BUDGET_REMINDER_PERCENT: "0.5", PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS: "many" };
    const { forModel, problems } = loadSettings([agent({ reminderRemainingPercent: 0.1 })], env);
    expect(forModel("a/b").reminderRemainingPercent).toBe(0.5);
    expect(problems.join()).toContain('PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS is "many"');
  });

  it("let a project lower the size of notes and not raise it", () => {
    const lowered = loadSettings([agent({ notesMaxFileBytes: 500 }), project({ notesMaxFileBytes: 400 })], {});
    expect(lowered.forModel(undefined).notesMaxFileBytes).toBe(400);
    const raised = loadSettings([agent({ notesMaxFileBytes: 500 }), project({ notesMaxFileBytes: 600 })], {});
    expect(raised.forModel(undefined).notesMaxFileBytes).toBe(500);
    expect(raised.problems[0]).toContain("a project cannot raise it above 500");
  });

  it("take what is run, what may be spent and which models a category has from the agent directory only", () => {
    const own = { taskQuota: { tokens: 1_000 }, taskRunnerCommand: ["pi"] };
    const kept = loadSettings([agent(own)], {});
    expect(kept.problems).toEqual([]);
    expect(kept.forModel(undefined)).toMatchObject(own);
    const foreign = { taskQuota: { tokens: 9 }, taskRunnerCommand: ["evil"], categories: { s: { models: ["a/b"] } } };
    const cloned = loadSettings([agent(own), project(foreign)], {});
    expect(cloned.forModel(undefined)).toMatchObject(own);
    expect(cloned.categories.size).toBe(0);
    for (const name of Object.keys(foreign))
      expect(cloned.problems.filter((problem) => problem.includes(`tokenBudget.${name}`))).toHaveLength(1);
  });

  it("read Pi's own retry settings", () => {
    const { retry } = loadSettings([file("agent", { retry: { baseDelayMs: 5, maxRetries: "x" } })], {});
    expect(retry).toEqual({ enabled: true, maxRetries: 3, baseDelayMs: 5 });
  });
});
