// The settings as they count: read by the schema from Pi's settings.json of the agent directory and then of the project.
// Whatever is wrong is named once and replaced by its default; settings never stop Pi. Pure but for the reader given.
import { type CategoryModels, readCategories } from "./category/labels.ts";
import { messageOf, shownValue } from "./errors.ts";
import type { SettingsFile } from "./host/settings-files.ts";
import { DEFAULT_RETRY, type RetrySettings } from "./host/settled.ts";
import type { TSchema } from "./schema.ts";
import { DEFAULT_SETTINGS, type SettingName, Settings, type ToolSwitches, TriggerFields } from "./settings-schema.ts";
import { similarNames } from "./similar.ts";
import { TOOL_NAMES, type ToolName } from "./tools/specs.ts";

export { DEFAULT_SETTINGS, type SettingName, Settings, TriggerSettings } from "./settings-schema.ts";

export interface LoadedSettings {
  /** Settings for a model, `provider/id`; undefined for no model. */
  forModel(model: string | undefined): Settings;
  /** Where a setting's value for a model comes from, in a few words. */
  originOf(name: SettingName, model: string | undefined): string;
  /** Where `reserveTokens` comes from. */
  readonly reserveOrigin: string;
  /** Pi's own retry settings, which the settled boundary of 0.73.1 needs. */
  readonly retry: RetrySettings;
  /** What Pi keeps free for a response, its compaction threshold; in tokens. */
  readonly reserveTokens: number;
  /** What Pi keeps of a session when it compacts; in tokens. */
  readonly keepRecentTokens: number;
  /** Which models are labelled with which category; the agent directory alone says it. */
  readonly categories: CategoryModels;
  /** What is wrong, by where it stands. */
  readonly problems: readonly SettingsProblems[];
}

export interface SettingsProblems {
  /** A settings file, or the environment. */
  readonly where: string;
  /** One line each. */
  readonly faults: readonly string[];
}

/** One line per fault, the place once. */
export function problemLines(problems: readonly SettingsProblems[]): readonly string[] {
  return problems.flatMap(({ where, faults }) => {
    const [only] = faults;
    return faults.length === 1 ? [`${where}: ${only}`] : [`${where}:`, ...faults.map((fault) => `  ${fault}`)];
  });
}

type Values = Partial<Record<SettingName, unknown>>;

interface Layer {
  /** Whose settings they are, in a few words. */
  readonly origin: string;
  readonly values: Values;
  readonly models: ReadonlyMap<string, Values>;
}

/** Where they stand in a file. */
const BLOCK = "tokenBudget";

const TRIGGER_NAMES: ReadonlySet<string> = new Set(Object.keys(TriggerFields));

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A cloned repository must not say what is run, nor how much may be spent. */
const AGENT_ONLY = ["taskQuota", "taskRunnerCommand"] as const satisfies readonly SettingName[];

function ruleOf(schema: TSchema): string {
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") return "a list of texts";
  if (schema.type === "object") return `true or false for names among ${TOOL_NAMES.join(", ")}`;
  if (schema.type === undefined) return "{ tokens }, { amount }, both, or null";
  const range =
    schema.maximum === undefined ? `of at least ${schema.minimum}` : `from ${schema.minimum} to ${schema.maximum}`;
  return `${schema.type === "integer" ? "a whole number" : "a number"} ${range}`;
}

function isQuota(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return Object.entries(value).every(([name, limit]) => {
    if (typeof limit !== "number" || !Number.isFinite(limit) || limit <= 0) return false;
    return name === "amount" || (name === "tokens" && Number.isSafeInteger(limit));
  });
}

function isToolSwitches(value: unknown): value is ToolSwitches {
  const names: readonly string[] = TOOL_NAMES;
  return (
    isRecord(value) && Object.entries(value).every(([name, on]) => names.includes(name) && typeof on === "boolean")
  );
}

function fits(schema: TSchema, value: unknown): boolean {
  if (schema.type === "boolean") return typeof value === "boolean";
  if (schema.type === "array")
    return Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "");
  if (schema.type === "object") return isToolSwitches(value);
  if (schema.type === undefined) return value === null || isQuota(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  if (schema.type === "integer" && !Number.isSafeInteger(value)) return false;
  return (
    value >= (schema.minimum as number) && value <= ((schema.maximum as number | undefined) ?? Number.POSITIVE_INFINITY)
  );
}

function defaultOf(name: SettingName): string {
  return JSON.stringify(DEFAULT_SETTINGS[name]);
}

/** Names as alike as this (0 to 1) are one with a slip of the finger. */
const MISSPELT_LIKENESS = 0.6;
/** What may stand beside flat settings. */
const GROUPS = ["defaults", "models", "categories"] as const;

function unknownName(name: string, where: string, triggersOnly: boolean): string {
  const isSetting = Object.hasOwn(Settings.properties, name);
  const known = triggersOnly ? [...TRIGGER_NAMES] : Object.keys(Settings.properties);
  const problem = `${where}.${name} is no setting${isSetting ? " that differs by model" : ""}`;
  const [meant] = similarNames(name, isSetting ? [] : [...known, ...GROUPS], 1, MISSPELT_LIKENESS);
  return meant === undefined ? `${problem}; there are ${known.join(", ")}.` : `${problem}; did you mean ${meant}?`;
}

/** The valid ones of a group of settings; what is wrong goes to `problems`. */
function checked(group: unknown, where: string, triggersOnly: boolean, problems: string[]): Values {
  if (group === undefined) return {};
  if (!isRecord(group)) {
    problems.push(`${where} is ${shownValue(group)}, not an object; it is passed over.`);
    return {};
  }
  const values: Values = {};
  for (const [name, value] of Object.entries(group)) {
    const schema = Object.hasOwn(Settings.properties, name) ? Settings.properties[name as SettingName] : undefined;
    if (!schema || (triggersOnly && !TRIGGER_NAMES.has(name))) {
      problems.push(unknownName(name, where, triggersOnly));
    } else if (!fits(schema, value)) {
      problems.push(
        `${where}.${name} is ${shownValue(value)}, not ${ruleOf(schema)}; ${defaultOf(name as SettingName)} is used.`,
      );
    } else {
      values[name as SettingName] = value;
    }
  }
  return values;
}

/** Takes the categories out of a block. A cloned repository must not relabel models, so a project has none. */
function withoutCategories(
  block: unknown,
  source: SettingsFile["source"],
  problems: string[],
): { readonly categories?: CategoryModels; readonly rest: unknown } {
  if (!isRecord(block) || !("categories" in block)) return { rest: block };
  const { categories, ...rest } = block;
  const where = `${BLOCK}.categories`;
  if (source === "agent") return { categories: readCategories(categories, where, problems), rest };
  problems.push(`${where} is passed over: only the agent directory's settings.json labels models.`);
  return { rest };
}

/** Flat settings, and with them or instead of them `{ defaults, models }`. What stands flat and in `defaults` is said. */
function layerOf(block: unknown, where: string, problems: string[]): Omit<Layer, "origin"> {
  if (!isRecord(block)) return { values: checked(block, where, false, problems), models: new Map() };
  const { defaults, models, ...rest } = block;
  const flat = checked(rest, where, false, problems);
  const grouped = checked(defaults, `${where}.defaults`, false, problems);
  for (const name of Object.keys(grouped))
    if (name in flat) problems.push(`${where}.${name} stands in ${where}.defaults too, and that one counts.`);
  const byModel = new Map<string, Values>();
  if (models !== undefined && !isRecord(models))
    problems.push(`${where}.models is ${shownValue(models)}, not an object; it is passed over.`);
  for (const [key, group] of Object.entries(isRecord(models) ? models : {}))
    byModel.set(key.toLowerCase(), checked(group, `${where}.models["${key}"]`, true, problems));
  return { values: { ...flat, ...grouped }, models: byModel };
}

/** Keys that a model matches, least exact first. */
function keysOfModel(model: string | undefined): readonly string[] {
  if (model === undefined) return ["*"];
  const name = model.toLowerCase();
  const provider = name.split("/", 1)[0] ?? name;
  return ["*", provider, `${provider}/*`, name];
}

const SAID_YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const SAID_NO: ReadonlySet<string> = new Set(["", "0", "false", "no", "off"]);

type Environment = Readonly<Record<string, string | undefined>>;

function disabledWord(env: Environment): string {
  return env.PI_TOKEN_BUDGET_DISABLED?.trim().toLowerCase() ?? "";
}

/** Whether a person has switched the whole package off. */
export function isDisabled(env: Environment): boolean {
  return SAID_YES.has(disabledWord(env));
}

function fromEnvironment(env: Environment, problems: string[]): Values {
  const values: Values = {};
  const disabled = disabledWord(env);
  if (!SAID_YES.has(disabled) && !SAID_NO.has(disabled))
    problems.push(
      `PI_TOKEN_BUDGET_DISABLED is ${shownValue(env.PI_TOKEN_BUDGET_DISABLED)}, so it switches nothing off: say 1, true, yes or on for that.`,
    );
  const read = (variable: string, name: SettingName) => {
    const text = env[variable];
    if (text === undefined || text.trim() === "") return;
    const value = Number(text);
    const schema = Settings.properties[name];
    if (fits(schema, value)) values[name] = value;
    else problems.push(`${variable} is ${shownValue(text)}, not ${ruleOf(schema)}; it is passed over.`);
  };
  read("PI_TOKEN_BUDGET_REMINDER_PERCENT", "reminderRemainingPercent");
  read("PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS", "hardRolloverUsedTokens");
  return values;
}

/** As the host reads it: an empty file says nothing, and comments are no JSON. */
function parsedFile({ text }: SettingsFile, problems: string[]): Record<string, unknown> {
  if (!text) return {};
  if (text.startsWith("\uFEFF")) {
    problems.push(
      "begins with a byte order mark, with which this Pi reads nothing of it: save it as UTF-8 without one.",
    );
    return {};
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (isRecord(parsed)) return parsed;
    problems.push(`holds ${shownValue(parsed)}, not an object; defaults are used.`);
  } catch (error) {
    problems.push(`is not JSON (${messageOf(error)}), so Pi reads nothing of it either; defaults are used.`);
  }
  return {};
}

/** Pi checks its own settings; here only what is usable counts. */
function retryOf(block: Record<string, unknown>, otherwise: RetrySettings): RetrySettings {
  const { enabled, maxRetries, baseDelayMs } = block;
  return {
    enabled: typeof enabled === "boolean" ? enabled : otherwise.enabled,
    maxRetries: typeof maxRetries === "number" ? maxRetries : otherwise.maxRetries,
    baseDelayMs: typeof baseDelayMs === "number" ? baseDelayMs : otherwise.baseDelayMs,
  };
}

/** Pi's default. */
const DEFAULT_RESERVE_TOKENS = 16_384;
const DEFAULT_KEEP_RECENT_TOKENS = 20_000;

/** A hard trigger below this is about what a new window starts with, in tokens. */
const MIN_USEFUL_HARD_TRIGGER = 10_000;

function uselessHardTrigger(values: Values, where: string): string[] {
  const hard = values.hardRolloverUsedTokens as number | undefined;
  if (hard === undefined || hard === 0 || hard >= MIN_USEFUL_HARD_TRIGGER) return [];
  return [
    `${where}.hardRolloverUsedTokens is ${hard}, less than a new window starts with; it will fire once and not again before use falls below it. Use at least ${MIN_USEFUL_HARD_TRIGGER}, or 0 for off.`,
  ];
}

function tokensOr(value: unknown, otherwise: number): number {
  return typeof value === "number" && value >= 0 ? value : otherwise;
}

/** A share of nothing leaves the reminder to its floor alone. */
function uselessPercent(values: Values, where: string): string[] {
  if (values.reminderRemainingPercent !== 0) return [];
  return [
    `${where}.reminderRemainingPercent is 0, so the reminder comes at reminderRemainingFloorTokens alone, and never when that is 0 too; the checkpoint is enforced all the same.`,
  ];
}

/** What one file leaves out stays out: a project must not bring back a tool that another package has by its name. */
function allSwitches(layers: readonly Layer[]): ToolSwitches {
  const switches = layers.map(({ values }) => (values.tools ?? {}) as ToolSwitches);
  const off = switches.flatMap((layer) => Object.entries(layer).filter(([, on]) => !on));
  return { ...Object.assign({}, ...switches), ...Object.fromEntries(off) };
}

/** Files in order of precedence, the stronger last. */
export function loadSettings(files: readonly SettingsFile[], env: Environment): LoadedSettings {
  const problems: SettingsProblems[] = [];
  const told = (where: string, faults: readonly string[]) => {
    if (faults.length > 0) problems.push({ where, faults });
  };
  let retry = DEFAULT_RETRY;
  let reserveTokens = DEFAULT_RESERVE_TOKENS;
  let reserveOrigin = "Pi's default";
  let keepRecentTokens = DEFAULT_KEEP_RECENT_TOKENS;
  const layers: Layer[] = [];
  let categories: CategoryModels = new Map();
  let agentCap: number = DEFAULT_SETTINGS.notesMaxFileBytes;
  for (const file of files) {
    const faults: string[] = [];
    const parsed = parsedFile(file, faults);
    if (isRecord(parsed.retry)) retry = retryOf(parsed.retry, retry);
    const origin = `${file.source} settings`;
    const compaction = isRecord(parsed.compaction) ? parsed.compaction : {};
    if (tokensOr(compaction.reserveTokens, -1) >= 0) reserveOrigin = origin;
    reserveTokens = tokensOr(compaction.reserveTokens, reserveTokens);
    keepRecentTokens = tokensOr(compaction.keepRecentTokens, keepRecentTokens);
    const block = withoutCategories(parsed.tokenBudget, file.source, faults);
    categories = block.categories ?? categories;
    const layer = layerOf(block.rest, BLOCK, faults);
    faults.push(...uselessHardTrigger(layer.values, BLOCK));
    faults.push(...uselessPercent(layer.values, BLOCK));
    const cap = layer.values.notesMaxFileBytes as number | undefined;
    if (file.source === "agent") agentCap = cap ?? agentCap;
    else if (cap !== undefined && cap > agentCap) {
      faults.push(`${BLOCK}.notesMaxFileBytes is ${cap}; a project cannot raise it above ${agentCap}.`);
      delete layer.values.notesMaxFileBytes;
    }
    for (const setting of file.source === "agent" ? [] : AGENT_ONLY) {
      if (layer.values[setting] === undefined) continue;
      faults.push(`${BLOCK}.${setting} is passed over; only the agent directory's settings may have it.`);
      delete layer.values[setting];
    }
    layers.push({ ...layer, origin });
    told(file.name, faults);
  }
  const unusable: string[] = [];
  const environment = fromEnvironment(env, unusable);
  told("the environment", unusable);
  return {
    retry,
    reserveTokens,
    reserveOrigin,
    keepRecentTokens,
    categories,
    problems,
    originOf: (name, model) => {
      if (environment[name] !== undefined) return "environment";
      for (const key of [...keysOfModel(model)].reverse()) {
        const layer = layers.findLast(({ models }) => models.get(key)?.[name] !== undefined);
        if (layer) return `${layer.origin}, model ${key}`;
      }
      return layers.findLast(({ values }) => values[name] !== undefined)?.origin ?? "default";
    },
    forModel: (model) => {
      const values: Values = {};
      for (const layer of layers) Object.assign(values, layer.values);
      for (const key of keysOfModel(model)) for (const layer of layers) Object.assign(values, layer.models.get(key));
      const tools = allSwitches(layers);
      return { ...DEFAULT_SETTINGS, ...values, tools, ...environment } as Settings;
    },
  };
}

/** The tools that the files leave out; what is wrong in them is told when a session starts. */
export function leftOutTools(files: readonly SettingsFile[]): ReadonlySet<ToolName> {
  const { tools } = loadSettings(files, {}).forModel(undefined);
  return new Set(TOOL_NAMES.filter((name) => tools[name] === false));
}
