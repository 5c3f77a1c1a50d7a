// Which models are labelled with which category in the settings. Pure.

import { shownValue } from "../errors.ts";
import { isRecord } from "../shapes.ts";
import { LABEL_RULE, labelOf } from "../task/category.ts";

/** From each category's label to the names of its models, `provider/id`; the first is the default. */
export type CategoryModels = ReadonlyMap<string, readonly string[]>;

/** What a person types for ordinary content; no category can have this name. */
export const ORDINARY = "none";

/** A model as categories know it; models of every host have these fields. */
export interface ModelName {
  /** The provider's name in the host, such as `anthropic`. */
  readonly provider: string;
  /** The model's id at its provider; it may hold slashes. */
  readonly id: string;
}

export function modelName({ provider, id }: ModelName): string {
  return `${provider}/${id}`;
}

/** The models of a category, by name; none for one that the settings do not have. */
export function labelledModels(categories: CategoryModels, category: string): readonly string[] {
  return categories.get(category) ?? [];
}

const EXAMPLE = '{ "models": ["provider/id"] }';

/** A provider's name, a slash, and a model's id, which may have slashes of its own. */
function isModelName(value: unknown): value is string {
  return typeof value === "string" && value === value.trim() && value.indexOf("/") > 0 && !value.endsWith("/");
}

function readLabel(key: string, where: string, problems: string[]): string | undefined {
  if (key.trim().toLowerCase() === ORDINARY) {
    problems.push(`${where}.${ORDINARY} is passed over: that name means ordinary content, whose model is free.`);
    return undefined;
  }
  const label = labelOf(key);
  if (label === undefined) problems.push(`${where}[${shownValue(key)}] is passed over: ${LABEL_RULE}.`);
  return label;
}

function readModels(value: unknown, where: string, problems: string[]): readonly string[] {
  if (!isRecord(value) || !Array.isArray(value.models)) {
    problems.push(`${where} is ${shownValue(value)}, not ${EXAMPLE}; this category has no model.`);
    return [];
  }
  for (const field of Object.keys(value)) {
    if (field !== "models") problems.push(`${where}.${field} is no field; there is only models.`);
  }
  const models: string[] = [];
  for (const [at, name] of value.models.entries()) {
    if (isModelName(name)) models.push(name);
    else problems.push(`${where}.models[${at}] is ${shownValue(name)}, not "provider/id"; it is passed over.`);
  }
  if (models.length === 0) problems.push(`${where} names no model, so nothing of this category can be sent anywhere.`);
  return [...new Set(models)];
}

/** The valid part of `categories`; what is wrong goes to `problems`. */
export function readCategories(value: unknown, where: string, problems: string[]): CategoryModels {
  const categories = new Map<string, readonly string[]>();
  if (value === undefined) return categories;
  if (!isRecord(value)) {
    problems.push(`${where} is ${shownValue(value)}, not an object; there are no categories.`);
    return categories;
  }
  for (const [key, entry] of Object.entries(value)) {
    const label = readLabel(key, where, problems);
    if (label === undefined) continue;
    if (categories.has(label)) problems.push(`${where}[${shownValue(key)}] is passed over: ${label} is there already.`);
    else categories.set(label, readModels(entry, `${where}.${label}`, problems));
  }
  return categories;
}
