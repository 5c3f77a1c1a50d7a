// The rules of single settings: what a value must be, and the messages for one that is wrong or has no effect. Pure.
import { shownValue } from "./errors.ts";
import type { TSchema } from "./schema.ts";
import { schemaProblem } from "./schema-check.ts";
import { type SettingName, Settings, TriggerFields } from "./settings-schema.ts";
import { isRecord } from "./shapes.ts";
import { similarNames } from "./similar.ts";
import { TOOL_NAMES } from "./tools/specs.ts";

/** A sentence, or one that says what is used instead, which is known when every file has been read. */
export type Fault = string | ((used: (name: SettingName) => string) => string);

export type Values = Partial<Record<SettingName, unknown>>;

const TRIGGER_NAMES: ReadonlySet<string> = new Set(Object.keys(TriggerFields));

export function ruleOf(schema: TSchema): string {
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") return "a list of texts";
  if (schema.type === "object") return `true or false for names among ${TOOL_NAMES.join(", ")}`;
  if (schema.type === undefined) return "{ tokens }, { amount }, both, or null";
  const range =
    schema.maximum === undefined ? `of at least ${schema.minimum}` : `from ${schema.minimum} to ${schema.maximum}`;
  return `${schema.type === "integer" ? "a whole number" : "a number"} ${range}`;
}

/** Names as alike as this (0 to 1) are typos of each other. */
export const MISSPELT_LIKENESS = 0.6;
/** Keys that may be beside flat settings. */
const GROUPS = ["defaults", "models", "categories"] as const;

function unknownName(name: string, where: string, triggersOnly: boolean): string {
  const isSetting = Object.hasOwn(Settings.properties, name);
  const known = triggersOnly ? [...TRIGGER_NAMES] : Object.keys(Settings.properties);
  const problem = `${where}.${name} is no setting${isSetting ? " that differs by model" : ""}`;
  const [meant] = similarNames(name, isSetting ? [] : [...known, ...GROUPS], 1, MISSPELT_LIKENESS);
  return meant === undefined ? `${problem}; there are ${known.join(", ")}.` : `${problem}; did you mean ${meant}?`;
}

const SANDBOX = "taskSandbox" satisfies SettingName;

/** The valid ones of a group of settings; what is wrong goes to `problems`. */
export function checked(group: unknown, where: string, triggersOnly: boolean, problems: Fault[]): Values {
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
    } else if (name === SANDBOX && schemaProblem(schema, value) !== undefined) {
      // No default: what was meant to be confined would run free. It is refused when a task is given.
      values[SANDBOX] = [shownValue(value)];
      problems.push(
        `${where}.${name} is ${shownValue(value)}, not ${ruleOf(schema)}; no task runs until it is mended.`,
      );
    } else if (schemaProblem(schema, value) !== undefined) {
      const problem = `${where}.${name} is ${shownValue(value)}, not ${ruleOf(schema)}`;
      // What is used instead may differ by model.
      problems.push(
        triggersOnly ? `${problem}; it is passed over.` : (used) => `${problem}; ${used(name as SettingName)} is used.`,
      );
    } else {
      values[name as SettingName] = value;
    }
  }
  return values;
}

/** A hard trigger below this is about what a new window starts with, in tokens. */
const MIN_USEFUL_HARD_TRIGGER = 10_000;

export function uselessHardTrigger(values: Values, where: string): string[] {
  const hard = values.hardRolloverUsedTokens as number | undefined;
  if (hard === undefined || hard === 0 || hard >= MIN_USEFUL_HARD_TRIGGER) return [];
  return [
    `${where}.hardRolloverUsedTokens is ${hard}, less than a new window starts with; it will fire once and not again before use falls below it. Use at least ${MIN_USEFUL_HARD_TRIGGER}, or 0 for off.`,
  ];
}

/** With a share of 0 only the floor decides when the reminder comes. */
export function uselessPercent(values: Values, where: string): string[] {
  if (values.reminderRemainingPercent !== 0) return [];
  return [
    `${where}.reminderRemainingPercent is 0, so the reminder comes at reminderRemainingFloorTokens alone, and never when that is 0 too; the checkpoint is enforced all the same.`,
  ];
}
