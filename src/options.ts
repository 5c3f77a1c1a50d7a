// What other programs pass to the exported functions, checked as strictly as the arguments of tools: every error names
// the field, its value, the rule, the fields there are, and what was probably meant. Pure.

import { shownValue, TokenBudgetError } from "./errors.ts";
import { isRecord } from "./shapes.ts";

/** What a field may hold: as words, and as a check. */
export interface FieldRule {
  /** Ends the sentence "it must be …". */
  readonly rule: string;
  readonly fits: (value: unknown) => boolean;
  /** Whether it may be left out. */
  readonly optional: boolean;
}

export type Fields = Readonly<Record<string, FieldRule>>;

export interface CheckedObject {
  /** The function, or the option of it, at the beginning of a message. */
  readonly of: string;
  /** What the value is called: "the options". */
  readonly what: string;
  readonly fields: Fields;
  /** Whether further fields may be there; by default they may not. */
  readonly open?: boolean;
  /** What an unknown field probably means; undefined leaves it to the likest name. */
  readonly meaning?: (field: string) => string | undefined;
}

export function fieldOf(rule: string, fits: (value: unknown) => boolean): FieldRule {
  return { rule, fits, optional: false };
}

/** The same field, which may be left out. */
export function optional(field: FieldRule): FieldRule {
  return { ...field, optional: true };
}

export const FUNCTION = fieldOf("a function", (value) => typeof value === "function");
export const TEXT = fieldOf("a text", (value) => typeof value === "string");
export const FILLED_TEXT = fieldOf("a text that is not empty", (value) => typeof value === "string" && value !== "");
export const YES_NO = fieldOf("true or false", (value) => typeof value === "boolean");
export const OBJECT = fieldOf("an object", isRecord);
export const LIST = fieldOf("a list", Array.isArray);
export const ANYTHING = fieldOf("anything", () => true);
export const COUNT = fieldOf(
  "a whole number of at least 0",
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
export const POSITIVE_COUNT = fieldOf(
  "a whole number of at least 1",
  (value) => Number.isSafeInteger(value) && Number(value) >= 1,
);
export const TEXTS = fieldOf(
  "a list of texts",
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
);
export const SIGNAL = fieldOf("an AbortSignal", (value) => isRecord(value) && typeof value.aborted === "boolean");

export function oneOf(...values: readonly string[]): FieldRule {
  return fieldOf(`one of ${values.map((value) => `"${value}"`).join(", ")}`, (value) =>
    values.includes(value as string),
  );
}

/** The edit distance of two names, in letters. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1]?.toLowerCase() === other[j - 1]?.toLowerCase() ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** The field most like a misspelt one; undefined when none is similar. */
function likest(field: string, names: readonly string[]): string | undefined {
  const near = names.map((name) => ({ name, far: distance(field.slice(0, 64), name) }));
  const [best] = near
    .filter(({ name, far }) => far <= Math.max(2, Math.floor(name.length / 3)))
    .sort((a, b) => a.far - b.far);
  return best?.name;
}

function listed(fields: Fields): string {
  return `There are ${Object.keys(fields).join(", ")}.`;
}

/** Checks an object; throws `invalid_argument`, `unknown_field` or `missing_field`. */
export function assertObject(value: unknown, { of, what, fields, meaning, open = false }: CheckedObject): void {
  if (!isRecord(value)) {
    const message = `${of}: ${what} must be an object, not ${shownValue(value)}. ${listed(fields)}`;
    throw new TokenBudgetError("invalid_argument", message);
  }
  const names = Object.keys(fields);
  for (const [name, given] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      if (open) continue;
      const near = likest(name, names);
      const meant = meaning?.(name) ?? (near === undefined ? "" : ` Did you mean ${near}?`);
      throw new TokenBudgetError(
        "unknown_field",
        `${of}: there is no field ${shownValue(name)} in ${what}.${meant} ${listed(fields)}`,
      );
    }
    if (given === undefined && field.optional) continue;
    if (field.fits(given)) continue;
    const leave = field.optional ? ", or be left out" : "";
    throw new TokenBudgetError(
      "invalid_argument",
      `${of}: ${name} is ${shownValue(given)}; it must be ${field.rule}${leave}.`,
    );
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.optional || (value as Record<string, unknown>)[name] !== undefined) continue;
    throw new TokenBudgetError(
      "missing_field",
      `${of}: ${name} is missing in ${what}; it must be ${field.rule}. ${listed(fields)}`,
    );
  }
}

/** Checks one positional argument; throws `invalid_argument`. */
export function assertArgument(of: string, name: string, value: unknown, { rule, fits }: FieldRule): void {
  if (fits(value)) return;
  throw new TokenBudgetError("invalid_argument", `${of}: ${name} is ${shownValue(value)}; it must be ${rule}.`);
}
