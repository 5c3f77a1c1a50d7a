// Models that settings name and Pi does not know: typos that would otherwise go unnoticed. Pure.
import { type ModelName, modelName } from "./category/labels.ts";
import type { LoadedSettings } from "./settings.ts";
import { BLOCK, keysOfModel } from "./settings-layers.ts";
import { MISSPELT_LIKENESS } from "./settings-values.ts";
import { similarNames } from "./similar.ts";

/**
 * One line each. `known` says every model of Pi, with credentials or without; none when Pi does not say. There are a thousand
 * of them, so it is asked only where settings name one.
 */
export function unknownModels(
  { categories, modelKeys }: Pick<LoadedSettings, "categories" | "modelKeys">,
  known: () => readonly ModelName[],
): readonly string[] {
  if (categories.size === 0 && modelKeys.length === 0) return [];
  const names = known().map(modelName);
  if (names.length === 0) return [];
  const exact = new Set(names);
  const keys = new Set(["*", ...names.flatMap(keysOfModel)]);
  const meant = (wanted: string) => {
    // A model's name without its provider is the usual mistake.
    const same = names.filter((name) => name.toLowerCase().endsWith(`/${wanted.toLowerCase()}`));
    const [near] = same.length > 0 ? same : similarNames(wanted, names, 1, MISSPELT_LIKENESS);
    return near === undefined ? "" : `; did you mean ${near}?`;
  };
  const ofCategories = [...categories].flatMap(([label, models]) =>
    models
      .filter((name) => !exact.has(name))
      .map((name) => `${BLOCK}.categories.${label} names ${name}, a model that Pi does not know${meant(name)}`),
  );
  const ofKeys = modelKeys
    .filter(({ key }) => !keys.has(key))
    .map(({ key, origin }) => {
      return `${BLOCK}.models["${key}"] of the ${origin} fits no provider and no model that Pi knows${meant(key)}`;
    });
  return [...ofCategories, ...ofKeys];
}
