// The settings in effect: read by the schema from Pi's settings.json of the agent directory and then of the project.
// Whatever is wrong is named once and replaced by its default; settings never stop Pi. Pure but for the reader given.
import type { CategoryModels } from "./category/labels.ts";
import { messageOf, shownValue } from "./errors.ts";
import type { SettingsFile } from "./host/settings-files.ts";
import { DEFAULT_RETRY, type RetrySettings } from "./host/settled.ts";
import {
  allSwitches,
  BLOCK,
  type Environment,
  fromEnvironment,
  keysOfModel,
  type Layer,
  layerOf,
  withoutCategories,
} from "./settings-layers.ts";
import { DEFAULT_SETTINGS, type SettingName, type Settings } from "./settings-schema.ts";
import { type Fault, uselessHardTrigger, uselessPercent, type Values } from "./settings-values.ts";
import { isRecord } from "./shapes.ts";
import { TOOL_NAMES, type ToolName } from "./tools/specs.ts";

export { isDisabled } from "./settings-layers.ts";
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
  /** The keys under `models`, in small letters, and whose settings they are. */
  readonly modelKeys: readonly { readonly key: string; readonly origin: string }[];
  /** What is wrong, by place. */
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

/** A cloned repository must not say what is run, nor how much may be spent. */
const AGENT_ONLY = [
  "taskQuota",
  "taskRunnerCommand",
  "taskSandbox",
  "taskTool",
] as const satisfies readonly SettingName[];

/** As the host reads it: an empty file says nothing, and comments are no JSON. */
function parsedFile({ text }: SettingsFile, problems: Fault[]): Record<string, unknown> {
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
    problems.push(`holds ${shownValue(parsed)}, not an object; it is passed over.`);
  } catch (error) {
    problems.push(`is not JSON (${messageOf(error)}), so Pi reads nothing of it either, and it is passed over.`);
  }
  return {};
}

/** Pi checks its own settings; unusable values are ignored here. */
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

function tokensOr(value: unknown, otherwise: number): number {
  return typeof value === "number" && value >= 0 ? value : otherwise;
}

/** Files in order of precedence, later ones overriding earlier ones. */
export function loadSettings(files: readonly SettingsFile[], env: Environment): LoadedSettings {
  const found: { readonly where: string; readonly faults: readonly Fault[] }[] = [];
  const note = (where: string, faults: readonly Fault[]) => {
    if (faults.length > 0) found.push({ where, faults });
  };
  let retry = DEFAULT_RETRY;
  let reserveTokens = DEFAULT_RESERVE_TOKENS;
  let reserveOrigin = "Pi's default";
  let keepRecentTokens = DEFAULT_KEEP_RECENT_TOKENS;
  const layers: Layer[] = [];
  let categories: CategoryModels = new Map();
  let agentCap: number = DEFAULT_SETTINGS.notesMaxFileBytes;
  for (const file of files) {
    const faults: Fault[] = [];
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
    note(file.name, faults);
  }
  const unusable: string[] = [];
  const environment = fromEnvironment(env, unusable);
  note("the environment", unusable);
  const forModel = (model: string | undefined): Settings => {
    const values: Values = {};
    for (const layer of layers) Object.assign(values, layer.values);
    for (const key of keysOfModel(model)) for (const layer of layers) Object.assign(values, layer.models.get(key));
    const tools = allSwitches(layers);
    return { ...DEFAULT_SETTINGS, ...values, tools, ...environment } as Settings;
  };
  const used = (name: SettingName) => JSON.stringify(forModel(undefined)[name]);
  return {
    retry,
    reserveTokens,
    reserveOrigin,
    keepRecentTokens,
    categories,
    modelKeys: layers.flatMap(({ origin, models }) => [...models.keys()].map((key) => ({ key, origin }))),
    problems: found.map(({ where, faults }) => ({
      where,
      faults: faults.map((fault) => (typeof fault === "string" ? fault : fault(used))),
    })),
    originOf: (name, model) => {
      if (environment[name] !== undefined) return "environment";
      for (const key of [...keysOfModel(model)].reverse()) {
        const layer = layers.findLast(({ models }) => models.get(key)?.[name] !== undefined);
        if (layer) return `${layer.origin}, model ${key}`;
      }
      return layers.findLast(({ values }) => values[name] !== undefined)?.origin ?? "default";
    },
    forModel,
  };
}

/** The tools that the files leave out; faults are reported when a session starts. */
export function leftOutTools(files: readonly SettingsFile[]): ReadonlySet<ToolName> {
  const { tools } = loadSettings(files, {}).forModel(undefined);
  return new Set(TOOL_NAMES.filter((name) => tools[name] === false));
}

/** Whether the model gets the tool that gives out tasks. */
export function hasTaskTool(files: readonly SettingsFile[]): boolean {
  return loadSettings(files, {}).forModel(undefined).taskTool;
}
