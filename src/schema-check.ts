// Whether a value from a file fits its schema, and where not. It knows the builders of schema.ts and no others: to load the
// library's compiled checker takes 25 ms of processor time, and an import of the launcher API has 40 in all. Messages are made
// only for a value that does not fit. What is looked at for each entry of a log (log/marks.ts, host/entries.ts) is checked by
// hand there; arguments of tools and programs have messages of their own (tools/arguments.ts, options.ts). Pure.
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
  return isScalarOf(schema, value) ? undefined : wrong(at, value, ruleOf(schema).rule());
}

/** One of the choices for a value: those that are for other types cost no message. */
function isChoice(choice: TSchema, value: unknown): boolean {
  if (choice.type === "array" && !Array.isArray(value)) return false;
  if (choice.type === "object" && !isRecord(value)) return false;
  const isNested = choice.anyOf !== undefined || choice.type === "array" || choice.type === "object";
  return isNested ? schemaProblem(choice, value) === undefined : isScalarOf(choice, value);
}

/** For a schema of neither lists nor objects. */
function isScalarOf(schema: TSchema, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const;
  return schema.type === "null" ? value === null : ruleOf(schema).fits(value);
}

interface Rule {
  /** Ends the sentence "it is 5, not …". */
  readonly rule: () => string;
  readonly fits: (value: unknown) => boolean;
}

/** Made by `ruled`. */
interface Ruled extends TSchema {
  readonly rule: string;
  readonly fits?: (value: unknown) => boolean;
}

function wrong(at: string, value: unknown, rule: string): string {
  return `${at || "it"} is ${shownValue(value)}, not ${rule}`;
}

function ruleOf(schema: TSchema): Rule {
  const { rule, fits } = schema as Ruled;
  if (fits !== undefined) return { rule: () => rule, fits };
  if (schema.const !== undefined)
    return { rule: () => JSON.stringify(schema.const), fits: (value) => value === schema.const };
  switch (schema.type) {
    case "null":
      return { rule: () => "null", fits: (value) => value === null };
    case "boolean":
      return { rule: () => "true or false", fits: (value) => typeof value === "boolean" };
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
  const rule = () => {
    const bounds = [
      exclusiveMinimum === undefined ? "" : `above ${exclusiveMinimum}`,
      rangeOf(minimum, maximum, "from"),
    ];
    const range = bounds.filter((bound) => bound !== "").join(" and ");
    return `${type === "integer" ? "a whole number" : "a number"}${range && ` ${range}`}`;
  };
  return { rule, fits };
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
  const rule = () => {
    const range = rangeOf(minLength, maxLength, "of");
    return pattern === undefined ? `a text${range && ` ${range} UTF-16 code units`}` : `a text like ${pattern}`;
  };
  return {
    rule,
    fits: (value) => typeof value === "string" && isLong(value) && isLike(value),
  };
}

function choiceProblem({ anyOf }: TSchema, value: unknown, at: string): string | undefined {
  const choices = anyOf as TSchema[];
  if (choices.some((choice) => isChoice(choice, value))) return undefined;
  // What is wrong with the object or list says more than that it is none of the others.
  const object = isRecord(value) ? objectChoiceProblem(choices, value, at) : undefined;
  if (object !== undefined) return object;
  const list = Array.isArray(value) ? choices.findIndex(({ type }) => type === "array") : -1;
  return list === -1 ? wrong(at, value, anyRule(choices)) : schemaProblem(choices[list] as TSchema, value, at);
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
  return schema.type === "object" ? "an object" : ruleOf(schema).rule();
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
