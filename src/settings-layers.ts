// The layers of the settings: the block of a file, by model or flat, and the environment. Pure.
import { type CategoryModels, readCategories } from "./category/labels.ts";
import { shownValue } from "./errors.ts";
import type { SettingsFile } from "./host/settings-files.ts";
import { schemaProblem } from "./schema-check.ts";
import { type SettingName, Settings, type ToolSwitches } from "./settings-schema.ts";
import { checked, type Fault, ruleOf, type Values } from "./settings-values.ts";
import { isRecord } from "./shapes.ts";

export interface Layer {
  /** Whose settings they are, in a few words. */
  readonly origin: string;
  readonly values: Values;
  readonly models: ReadonlyMap<string, Values>;
}

/** Their key in a file. */
export const BLOCK = "tokenBudget";

/** Removes the categories from a block. A cloned repository must not relabel models, so a project has none. */
export function withoutCategories(
  block: unknown,
  source: SettingsFile["source"],
  problems: Fault[],
): { readonly categories?: CategoryModels; readonly rest: unknown } {
  if (!isRecord(block) || !("categories" in block)) return { rest: block };
  const { categories, ...rest } = block;
  const where = `${BLOCK}.categories`;
  if (source === "agent") {
    const faults: string[] = [];
    const read = readCategories(categories, where, faults);
    problems.push(...faults);
    return { categories: read, rest };
  }
  problems.push(`${where} is passed over: only the agent directory's settings.json labels models.`);
  return { rest };
}

/** Flat settings, and with them or instead of them `{ defaults, models }`. A setting in both is reported. */
export function layerOf(block: unknown, where: string, problems: Fault[]): Omit<Layer, "origin"> {
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
export function keysOfModel(model: string | undefined): readonly string[] {
  if (model === undefined) return ["*"];
  const name = model.toLowerCase();
  const provider = name.split("/", 1)[0] ?? name;
  return ["*", provider, `${provider}/*`, name];
}

const SAID_YES: ReadonlySet<string> = new Set(["1", "true", "yes", "on"]);
const SAID_NO: ReadonlySet<string> = new Set(["", "0", "false", "no", "off"]);

export type Environment = Readonly<Record<string, string | undefined>>;

function disabledWord(env: Environment): string {
  return env.PI_TOKEN_BUDGET_DISABLED?.trim().toLowerCase() ?? "";
}

/** Whether a person has switched the whole package off. */
export function isDisabled(env: Environment): boolean {
  return SAID_YES.has(disabledWord(env));
}

export function fromEnvironment(env: Environment, problems: string[]): Values {
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
    if (schemaProblem(schema, value) === undefined) values[name] = value;
    else problems.push(`${variable} is ${shownValue(text)}, not ${ruleOf(schema)}; it is passed over.`);
  };
  read("PI_TOKEN_BUDGET_REMINDER_PERCENT", "reminderRemainingPercent");
  read("PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS", "hardRolloverUsedTokens");
  return values;
}

/** What one file leaves out stays out: a project must not bring back a tool that another package has by its name. */
export function allSwitches(layers: readonly Layer[]): ToolSwitches {
  const switches = layers.map(({ values }) => (values.tools ?? {}) as ToolSwitches);
  const off = switches.flatMap((layer) => Object.entries(layer).filter(([, on]) => !on));
  return { ...Object.assign({}, ...switches), ...Object.fromEntries(off) };
}
