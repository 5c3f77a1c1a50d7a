// Whether a value fits one of our schemas, and where not. It knows the schemas that records are made of, and no others:
// the library's own checker would be a third of what every session loads. Pure.
import type { TSchema } from "../../schema.ts";

/** The first thing that is wrong, as `at: rule`; undefined when the value fits. */
export function schemaProblem(schema: TSchema, value: unknown, at = ""): string | undefined {
  if (schema.anyOf !== undefined) return choiceProblem(schema, value, at);
  if (schema.const !== undefined) return value === schema.const ? undefined : wrong(at, JSON.stringify(schema.const));
  switch (schema.type) {
    case "null":
      return value === null ? undefined : wrong(at, "null");
    case "boolean":
      return typeof value === "boolean" ? undefined : wrong(at, "true or false");
    case "integer":
    case "number":
      return numberProblem(schema, value, at);
    case "string":
      return textProblem(schema, value, at);
    case "array":
      return listProblem(schema, value, at);
    case "object":
      return objectProblem(schema, value, at);
    default:
      throw new Error(`no check for schemas of type ${String(schema.type)}`);
  }
}

function wrong(at: string, rule: string): string {
  return `${at || "it"} is not ${rule}`;
}

function choiceProblem({ anyOf }: TSchema, value: unknown, at: string): string | undefined {
  const problems = (anyOf as TSchema[]).map((choice) => schemaProblem(choice, value, at));
  if (problems.includes(undefined)) return undefined;
  // Of null or something, what is wrong with the something tells more.
  return value !== null && typeof value === "object" ? problems.at(-1) : wrong(at, "one of its values");
}

function numberProblem({ type, minimum = Number.NEGATIVE_INFINITY }: TSchema, value: unknown, at: string) {
  const isNumber = type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isNumber && (value as number) >= (minimum as number)
    ? undefined
    : wrong(at, `a number of at least ${minimum}`);
}

function textProblem(
  { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: TSchema,
  value: unknown,
  at: string,
) {
  if (typeof value !== "string") return wrong(at, "a text");
  if (value.length < minLength || value.length > maxLength) return wrong(at, `a text of ${minLength} to ${maxLength}`);
  return pattern === undefined || new RegExp(pattern).test(value) ? undefined : wrong(at, `like ${pattern}`);
}

function listProblem({ items, maxItems = Number.POSITIVE_INFINITY }: TSchema, value: unknown, at: string) {
  if (!Array.isArray(value)) return wrong(at, "a list");
  if (value.length > maxItems) return wrong(at, `a list of at most ${maxItems}`);
  for (const [index, item] of value.entries()) {
    const problem = schemaProblem(items as TSchema, item, `${at}[${index}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** All objects of records are closed and none of their fields is optional. */
function objectProblem({ properties }: TSchema, value: unknown, at: string): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong(at, "an object");
  const place = (name: string) => (at === "" ? name : `${at}.${name}`);
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) return `${place(unknown)} is an unknown field`;
  for (const [name, schema] of Object.entries(properties as Record<string, TSchema>)) {
    const problem = schemaProblem(schema, (value as Record<string, unknown>)[name], place(name));
    if (problem !== undefined) return problem;
  }
  return undefined;
}
