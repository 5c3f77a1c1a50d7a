// Whether a value from a file fits its schema, and where not. It knows the builders of schema.ts and no others: to load the
// library's compiled checker takes 25 ms of processor time, and an import of the launcher API has 40 in all. What is looked at for each entry of a log (log/marks.ts,
// host/entries.ts) is checked by hand there; arguments of tools and programs have messages of their own (tools/arguments.ts,
// options.ts). Pure.
import { shownValue } from "./errors.ts";
import { type TSchema, Type } from "./schema.ts";
import { isRecord } from "./shapes.ts";

/** A value with a rule of its own, which ends the sentence "it is 5, not …". */
export function ruled<T>(rule: string, fits: (value: unknown) => boolean) {
  return Type.Unsafe<T>({ rule, fits });
}

/** The first problem, as a sentence that begins with the field's path; undefined when the value fits. */
export function schemaProblem(schema: TSchema, value: unknown, at = ""): string | undefined {
  if (schema.anyOf !== undefined) return choiceProblem(schema, value, at);
  if (schema.type === "array") return listProblem(schema, value, at);
  if (schema.type === "object") return objectProblem(schema, value, at);
  const { rule, fits } = ruleOf(schema);
  return fits(value) ? undefined : wrong(at, value, rule);
}

interface Rule {
  readonly rule: string;
  readonly fits: (value: unknown) => boolean;
}

function wrong(at: string, value: unknown, rule: string): string {
  return `${at || "it"} is ${shownValue(value)}, not ${rule}`;
}

function ruleOf(schema: TSchema): Rule {
  if (schema.fits !== undefined) return schema as unknown as Rule;
  if (schema.const !== undefined)
    return { rule: JSON.stringify(schema.const), fits: (value) => value === schema.const };
  switch (schema.type) {
    case "null":
      return { rule: "null", fits: (value) => value === null };
    case "boolean":
      return { rule: "true or false", fits: (value) => typeof value === "boolean" };
    case "integer":
    case "number":
      return numberRule(schema);
    case "string":
      return textRule(schema);
    default:
      throw new Error(`no check for schemas of type ${String(schema.type)}`);
  }
}

function numberRule(schema: TSchema): Rule {
  const { type, minimum, maximum, exclusiveMinimum } = schema as NumberBounds;
  const isNumber = type === "integer" ? Number.isSafeInteger : Number.isFinite;
  const fits = (value: unknown) =>
    isNumber(value) && isWithin(Number(value), minimum, maximum) && Number(value) > (exclusiveMinimum ?? -Infinity);
  const bounds = [exclusiveMinimum === undefined ? "" : `above ${exclusiveMinimum}`, rangeOf(minimum, maximum, "from")];
  const range = bounds.filter((bound) => bound !== "").join(" and ");
  return { rule: `${type === "integer" ? "a whole number" : "a number"}${range && ` ${range}`}`, fits };
}

function isWithin(value: number, minimum = -Infinity, maximum = Infinity): boolean {
  return value >= minimum && value <= maximum;
}

/** Names the bounds that there are; a range begins with a word of its own. */
function rangeOf(minimum: number | undefined, maximum: number | undefined, start: "from" | "of"): string {
  if (minimum !== undefined && maximum !== undefined) return `${start} ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `of at least ${minimum}`;
  return maximum === undefined ? "" : `of at most ${maximum}`;
}

interface NumberBounds extends TSchema {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

/** Lengths count as `length` does. */
function textRule({ minLength, maxLength, pattern }: TSchema): Rule {
  const isLong = (value: string) => isWithin(value.length, minLength, maxLength);
  const isLike = (value: string) => pattern === undefined || new RegExp(pattern).test(value);
  const range = rangeOf(minLength, maxLength, "of");
  return {
    rule: pattern === undefined ? `a text${range && ` ${range} UTF-16 code units`}` : `a text like ${pattern}`,
    fits: (value) => typeof value === "string" && isLong(value) && isLike(value),
  };
}

function choiceProblem({ anyOf }: TSchema, value: unknown, at: string): string | undefined {
  const choices = anyOf as TSchema[];
  const problems = choices.map((choice) => schemaProblem(choice, value, at));
  if (problems.includes(undefined)) return undefined;
  // What is wrong with the object or list says more than that it is none of the others.
  const object = isRecord(value) ? objectChoiceProblem(choices, value, at) : undefined;
  if (object !== undefined) return object;
  const list = Array.isArray(value) ? choices.findIndex(({ type }) => type === "array") : -1;
  return problems[list] ?? wrong(at, value, anyRule(choices));
}

/** Objects differ by the literal of their `type`; of those that do not, the last one speaks. Undefined without objects. */
function objectChoiceProblem(choices: readonly TSchema[], value: object, at: string): string | undefined {
  const objects = choices.filter(({ type }) => type === "object") as ObjectSchema[];
  const last = objects.at(-1);
  if (!last) return undefined;
  const { type } = value as { readonly type?: unknown };
  const chosen = objects.find(({ properties }) => properties.type?.const === type);
  const types = objects.map(({ properties }) => properties.type);
  if (chosen || types.length === 1 || types.some((each) => each?.const === undefined))
    return objectProblem(chosen ?? last, value, at);
  return wrong(at === "" ? "type" : `${at}.type`, type, anyRule(types as TSchema[]));
}

/** `a, b or null`. */
function anyRule(choices: readonly TSchema[]): string {
  const rules = [...new Set(choices.map(shortRule))];
  const last = rules.includes("null") ? "null" : rules.at(-1);
  const others = rules.filter((rule) => rule !== last);
  return others.length === 0 ? `${last}` : `${others.join(", ")} or ${last}`;
}

function shortRule(schema: TSchema): string {
  if (schema.anyOf !== undefined) return anyRule(schema.anyOf as TSchema[]);
  if (schema.type === "array") return "a list";
  return schema.type === "object" ? "an object" : ruleOf(schema).rule;
}

function listProblem({ items, minItems, maxItems }: TSchema, value: unknown, at: string) {
  if (!Array.isArray(value)) return wrong(at, value, "a list");
  if (!isWithin(value.length, minItems, maxItems))
    return `${at || "it"} is a list of ${value.length}, not ${rangeOf(minItems, maxItems, "of")}`;
  for (const [index, item] of value.entries()) {
    const problem = schemaProblem(items as TSchema, item, `${at}[${index}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function objectProblem(schema: TSchema, value: unknown, at: string): string | undefined {
  if (!isRecord(value)) return wrong(at, value, "an object");
  const { properties, required = [], additionalProperties } = schema as ObjectSchema;
  for (const [name, field] of Object.entries(properties)) {
    if (value[name] === undefined && !required.includes(name)) continue;
    const problem = schemaProblem(field, value[name], at === "" ? name : `${at}.${name}`);
    if (problem !== undefined) return problem;
  }
  if (additionalProperties !== false) return undefined;
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(properties, name));
  return unknown === undefined ? undefined : `${at || "it"} has the unknown field ${shownValue(unknown)}`;
}

interface ObjectSchema extends TSchema {
  readonly properties: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}
