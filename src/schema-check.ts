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
  const { type, minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema as NumberBounds;
  const isNumber = type === "integer" ? Number.isSafeInteger : Number.isFinite;
  const fits = (value: unknown) =>
    isNumber(value) && Number(value) >= minimum && Number(value) <= maximum && Number(value) > exclusiveMinimum;
  return { rule: `${type === "integer" ? "a whole number" : "a number"} of at least ${minimum}`, fits };
}

interface NumberBounds extends TSchema {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

function textRule({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: TSchema): Rule {
  const isLong = (value: string) => value.length >= minLength && value.length <= maxLength;
  const isLike = (value: string) => pattern === undefined || new RegExp(pattern).test(value);
  return {
    rule: pattern === undefined ? `a text of ${minLength} to ${maxLength}` : `a text like ${pattern}`,
    fits: (value) => typeof value === "string" && isLong(value) && isLike(value),
  };
}

function choiceProblem({ anyOf }: TSchema, value: unknown, at: string): string | undefined {
  const problems = (anyOf as TSchema[]).map((choice) => schemaProblem(choice, value, at));
  if (problems.includes(undefined)) return undefined;
  // Of null or an object, what is wrong with the object says more.
  return isRecord(value) || Array.isArray(value) ? problems.at(-1) : wrong(at, value, "one of its values");
}

function listProblem(
  { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: TSchema,
  value: unknown,
  at: string,
) {
  if (!Array.isArray(value)) return wrong(at, value, "a list");
  if (value.length < minItems || value.length > maxItems)
    return `${at || "it"} is a list of ${value.length}, not of ${minItems} to ${maxItems}`;
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
