// Settings: precedence, per-model values, and one plain sentence for each thing that is wrong.
import { describe, expect, it } from "vitest";
import type { SettingsFile } from "../src/host/settings-files.ts";
import {
  DEFAULT_SETTINGS,
  isDisabled,
  type LoadedSettings,
  leftOutTools,
  loadSettings,
  problemLines,
} from "../src/settings.ts";
import { unknownModels } from "../src/settings-models.ts";

const file = (source: "agent" | "project", content: unknown): SettingsFile => ({
  source,
  name: `${source}/settings.json`,
  text: typeof content === "string" ? content : JSON.stringify(content),
});
const agent = (tokenBudget: unknown) => file("agent", { tokenBudget });
const project = (tokenBudget: unknown) => file("project", { tokenBudget });

const told = ({ problems }: Pick<LoadedSettings, "problems">) => problemLines(problems).join("\n");

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
    expect(told(wrong)).toContain('models["a/b"].maxToolOutputChars is no setting that differs by model');
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
      [{ models: [] }, "tokenBudget.models is [], not an object"],
    ];
    for (const [value, message] of cases) {
      const loaded = loadSettings([agent(value)], {});
      expect(told(loaded)).toContain(message);
      expect(loaded.forModel("a/b")).toEqual(DEFAULT_SETTINGS);
    }
  });

  it("in a file that is not JSON are the defaults, with one problem", () => {
    const { problems, forModel } = loadSettings([file("agent", "{ oops"), project({ historyItemPreviewChars: 7 })], {});
    expect(problems).toHaveLength(1);
    expect(problemLines(problems)[0]).toContain("agent/settings.json: is not JSON");
    expect(forModel(undefined).historyItemPreviewChars).toBe(7);
  });

  it("that are wrong are told with the value that is used instead, wherever that comes from", () => {
    const wrong = { reminderRemainingPercent: 25 };
    const beside = loadSettings([agent({ ...wrong, defaults: { reminderRemainingPercent: 0.3 } })], {});
    expect(told(beside)).toContain("reminderRemainingPercent is 25, not a number from 0 to 1; 0.3 is used.");
    const below = loadSettings([agent({ reminderRemainingPercent: 0.4 }), project(wrong)], {});
    expect(told(below)).toContain("0.4 is used.");
    const over = loadSettings([agent(wrong)], { PI_TOKEN_BUDGET_REMINDER_PERCENT: "0.5" });
    expect(told(over)).toContain("0.5 is used.");
    const byModel = loadSettings([agent({ models: { "a/b": wrong } })], {});
    expect(told(byModel)).toContain("not a number from 0 to 1; it is passed over.");
    const broken = loadSettings([agent({ historyItemPreviewChars: 7 }), file("project", "{ oops")], {});
    expect(told(broken)).toMatch(/Pi reads nothing of it either, and it is passed over\.$/);
  });

  it("that name a model which Pi does not know are told, with the one that was meant", () => {
    const known = [
      { provider: "local", id: "vault" },
      { provider: "openrouter", id: "anthropic/claude" },
    ];
    const unknown = (block: object) => unknownModels(loadSettings([agent(block)], {}), () => known);
    const models = (...keys: string[]) => ({ models: Object.fromEntries(keys.map((key) => [key, {}])) });
    expect(unknown(models("*", "LOCAL", "local/*", "Local/Vault", "openrouter/anthropic/claude"))).toEqual([]);
    expect(unknown({ categories: { s: { models: ["local/vault"] } } })).toEqual([]);
    expect(unknown(models("vault", "loca/*"))).toEqual([
      'tokenBudget.models["vault"] of the agent settings fits no provider and no model that Pi knows; did you mean local/vault?',
      expect.stringContaining('tokenBudget.models["loca/*"] of the agent settings fits no provider'),
    ]);
    expect(unknown({ categories: { s: { models: ["local/nope", "local/Vault"] } } })).toEqual([
      expect.stringMatching(/^tokenBudget\.categories\.s names local\/nope, a model that Pi does not know/),
      expect.stringMatching(/names local\/Vault, a model that Pi does not know; did you mean local\/vault\?$/),
    ]);
    expect(unknownModels(loadSettings([agent(models("x"))], {}), () => [])).toEqual([]);
  });

  it("of the environment win, and a bad one is passed over", () => {
    const env = { PI_TOKEN_BUDGET_REMINDER_PERCENT: "0.5", PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS: "many" };
    const { forModel, problems } = loadSettings([agent({ reminderRemainingPercent: 0.1 })], env);
    expect(forModel("a/b").reminderRemainingPercent).toBe(0.5);
    expect(problemLines(problems).join()).toContain('the environment: PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS is "many"');
  });

  it("let a project lower the size of notes and not raise it", () => {
    const lowered = loadSettings([agent({ notesMaxFileBytes: 500 }), project({ notesMaxFileBytes: 400 })], {});
    expect(lowered.forModel(undefined).notesMaxFileBytes).toBe(400);
    const raised = loadSettings([agent({ notesMaxFileBytes: 500 }), project({ notesMaxFileBytes: 600 })], {});
    expect(raised.forModel(undefined).notesMaxFileBytes).toBe(500);
    expect(told(raised)).toContain("a project cannot raise it above 500");
  });

  it("take what is run, what may be spent and which models a category has from the agent directory only", () => {
    const own = { taskQuota: { tokens: 1_000 }, taskRunnerCommand: ["pi"], taskSandbox: ["bwrap"] };
    const kept = loadSettings([agent(own)], {});
    expect(kept.problems).toEqual([]);
    expect(kept.forModel(undefined)).toMatchObject(own);
    const foreign = {
      ...{ taskQuota: { tokens: 9 }, taskRunnerCommand: ["evil"], taskSandbox: [] },
      categories: { s: { models: ["a/b"] } },
    };
    const cloned = loadSettings([agent(own), project(foreign)], {});
    expect(cloned.forModel(undefined)).toMatchObject(own);
    expect(cloned.categories.size).toBe(0);
    for (const name of Object.keys(foreign))
      expect(problemLines(cloned.problems).filter((line) => line.includes(`tokenBudget.${name}`))).toHaveLength(1);
  });

  it("keep a sandbox that is written wrongly as one that is not known, so that no task runs without it", () => {
    const slip = loadSettings([agent({ taskSandbox: "bwrap" })], {});
    expect(slip.forModel(undefined).taskSandbox).toEqual(['"bwrap"']);
    expect(told(slip)).toContain('taskSandbox is "bwrap", not a list of texts; no task runs until it is mended');
  });

  it("read Pi's own retry settings", () => {
    const { retry } = loadSettings([file("agent", { retry: { baseDelayMs: 5, maxRetries: "x" } })], {});
    expect(retry).toEqual({ enabled: true, maxRetries: 3, baseDelayMs: 5 });
  });

  it("flat and in groups are one: a group adds to them, and wins where both say something, which is said", () => {
    const flat = { enabled: false, historyItemPreviewChars: 50 };
    const beside = loadSettings([agent({ ...flat, models: { "*": { hardRolloverUsedTokens: 90_000 } } })], {});
    expect(beside.problems).toEqual([]);
    expect(beside.forModel("a/b")).toMatchObject({ ...flat, hardRolloverUsedTokens: 90_000 });
    const both = loadSettings([agent({ ...flat, defaults: { historyItemPreviewChars: 60 } })], {});
    expect(both.forModel("a/b")).toMatchObject({ enabled: false, historyItemPreviewChars: 60 });
    expect(told(both)).toBe(
      "agent/settings.json: tokenBudget.historyItemPreviewChars stands in tokenBudget.defaults too, and that one counts.",
    );
  });

  it("give one line per fault and each place once", () => {
    const loaded = loadSettings(
      [agent({ enabled: 1, maxToolOutputChars: 0 }), project({ historyItemPreviewChars: 0 })],
      {},
    );
    const lines = problemLines(loaded.problems);
    expect(lines).toHaveLength(4);
    expect(lines[0]).toBe("agent/settings.json:");
    expect(lines.slice(1, 3).every((line) => line.startsWith("  tokenBudget."))).toBe(true);
    expect(lines[3]).toMatch(/^project\/settings\.json: tokenBudget\.historyItemPreviewChars is 0/);
  });

  it.each([
    [{ enabld: true }, "enabld is no setting; did you mean enabled?"],
    [{ defualts: {} }, "defualts is no setting; did you mean defaults?"],
    [{ taskQouta: null }, "taskQouta is no setting; did you mean taskQuota?"],
    [{ models: { "*": { hardRollover: 1 } } }, "hardRollover is no setting; did you mean hardRolloverUsedTokens?"],
  ])("%j: asks for the name that was meant", (value, question) => {
    expect(told(loadSettings([agent(value)], {}))).toContain(question);
  });

  it("are read as the host reads them: an empty file is none, comments are no JSON, a mark that stays breaks it", () => {
    expect(loadSettings([file("agent", "")], {}).problems).toEqual([]);
    expect(told(loadSettings([file("agent", "{} // mine")], {}))).toContain("is not JSON");
    const marked = loadSettings([file("agent", '\uFEFF{"compaction":{"reserveTokens":5}}')], {});
    expect(told(marked)).toContain("begins with a byte order mark");
    expect(marked.reserveTokens).toBe(16_384);
  });

  it("say what switches the package off, in each of its spellings, and name any other", () => {
    for (const yes of ["1", "true", "YES", " on "]) expect(isDisabled({ PI_TOKEN_BUDGET_DISABLED: yes })).toBe(true);
    for (const no of [undefined, "", "0", "false", "no", "off"]) {
      expect(isDisabled({ PI_TOKEN_BUDGET_DISABLED: no })).toBe(false);
      expect(loadSettings([], { PI_TOKEN_BUDGET_DISABLED: no }).problems).toEqual([]);
    }
    const odd = { PI_TOKEN_BUDGET_DISABLED: "maybe" };
    expect(isDisabled(odd)).toBe(false);
    expect(told(loadSettings([], odd))).toMatch(/^the environment: PI_TOKEN_BUDGET_DISABLED is "maybe"/);
  });

  it("leave single tools out: what one file leaves out the other does not bring back", () => {
    const files = [
      agent({ tools: { todo_write: false, new_context: true } }),
      project({ defaults: { tools: { todo_write: true, history_search_contents: false } } }),
    ];
    expect([...leftOutTools(files)].sort()).toEqual(["history_search_contents", "todo_write"]);
    expect([...leftOutTools([agent({}), project({})])]).toEqual([]);
    for (const tools of [{ todo: false }, { todo_write: "no" }, [], null]) {
      const { problems, forModel } = loadSettings([agent({ tools })], {});
      expect(problemLines(problems).join()).toMatch(
        /tokenBudget\.tools is .*not true or false for names among .*todo_write/,
      );
      expect(forModel(undefined).tools).toEqual({});
      expect(leftOutTools([agent({ tools })]).size).toBe(0);
    }
  });
});
