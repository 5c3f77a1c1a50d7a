// From the table to what Pi registers: schema, own validation on the raw arguments, and the result's form.
// Tools fail by throwing; nothing here catches, so that the host builds the error result.
import { type TSchema, Type } from "@sinclair/typebox";
import { shownValue, TokenBudgetError } from "../errors.ts";
import type { ImageBlock, TextBlock } from "../host/entries.ts";
import { type ParamSpec, type ParamsOf, TOOL_SPECS, type ToolName, type ToolSpec } from "./specs.ts";

/** What a tool knows of the call that runs it. */
export interface ToolCall {
  readonly id: string;
  readonly signal: AbortSignal | undefined;
}

/** What a tool answers: text for the model, the same facts typed for renderers and tests. */
export interface ToolAnswer {
  readonly text: string;
  readonly images?: readonly ImageBlock[];
  readonly details: Readonly<Record<string, unknown>>;
  /** Ends the run when every result of the batch says so. */
  readonly terminate?: true;
}

export type Execute<N extends ToolName> = (params: ParamsOf<N>, call: ToolCall) => ToolAnswer | Promise<ToolAnswer>;

/** One execute function per tool. */
export type ToolTable = { readonly [N in ToolName]: Execute<N> };

/** The part of a host's tool definition that this package fills in. */
export interface HostTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: TSchema;
  readonly executionMode: "parallel" | "sequential";
  readonly prepareArguments: (raw: unknown) => Record<string, unknown>;
  readonly execute: (
    toolCallId: string,
    params: unknown,
    signal: AbortSignal | undefined,
  ) => Promise<{ content: (TextBlock | ImageBlock)[]; details: Record<string, unknown>; terminate?: true }>;
}

function objectSchema(fields: ToolSpec["params"]): TSchema {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, param]) => [name, paramSchema(param)]));
  return Type.Object(properties, { additionalProperties: false });
}

function plainSchema(param: ParamSpec, options: Record<string, unknown>): TSchema {
  switch (param.type) {
    case "string":
      return Type.String(options);
    case "integer":
      return Type.Integer(options);
    case "boolean":
      return Type.Boolean(options);
    case "array":
      return Type.Array(objectSchema(param.items ?? {}), options);
  }
}

function paramSchema(param: ParamSpec): TSchema {
  const options: Record<string, unknown> = {};
  if (param.description !== undefined) options.description = param.description;
  if (param.enum !== undefined) options.enum = [...param.enum];
  if (param.minimum !== undefined) options.minimum = param.minimum;
  const plain = plainSchema(param, options);
  // Null first: 0.73.1 coerces a null to "" or 0 otherwise.
  const schema = param.nullable ? Type.Union([Type.Null(), plain]) : plain;
  return param.required ? schema : Type.Optional(schema);
}

export function toolSchema(spec: ToolSpec): TSchema {
  return objectSchema(spec.params);
}

function ruleOf(param: ParamSpec): string {
  const kind = param.enum
    ? `one of ${param.enum.map((value) => `"${value}"`).join(", ")}`
    : {
        string: "a string",
        integer: "a whole number",
        boolean: "true or false",
        array: `an array of objects with ${Object.keys(param.items ?? {}).join(" and ")}`,
      }[param.type];
  const minimum = param.minimum === undefined ? "" : ` of at least ${param.minimum}`;
  return `${kind}${minimum}${param.nullable ? ", or null" : ""}`;
}

function fits(value: unknown, param: ParamSpec): boolean {
  switch (param.type) {
    case "string":
      return typeof value === "string" && (param.enum === undefined || param.enum.includes(value));
    case "integer":
      return Number.isSafeInteger(value) && (param.minimum === undefined || (value as number) >= param.minimum);
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value);
  }
}

/** Where fields are checked, as an error says it: a tool's parameters, or an object in one of them. */
interface Place {
  readonly tool: string;
  /** Before a field's name: empty for a parameter, `todos[2].` inside an array. */
  readonly prefix: string;
  readonly fields: ToolSpec["params"];
}

function fieldList({ prefix, fields }: Place): string {
  const names = Object.keys(fields);
  if (names.length === 0) return "it takes no parameters";
  return `${prefix === "" ? "its parameters" : "an item's fields"} are ${names.join(", ")}`;
}

function checkedValue(value: unknown, param: ParamSpec, place: Place, field: string): unknown {
  const { tool, prefix } = place;
  const name = `${prefix}${field}`;
  if (!fits(value, param))
    throw new TokenBudgetError(
      "invalid_argument",
      `${tool}: ${name} is ${shownValue(value)}; it must be ${ruleOf(param)}.`,
    );
  const { items } = param;
  if (!items || !Array.isArray(value)) return value;
  return value.map((item: unknown, at) => {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw new TokenBudgetError(
        "invalid_argument",
        `${tool}: ${name}[${at}] is ${shownValue(item)}; it must be an object with ${Object.keys(items).join(" and ")}.`,
      );
    return checkedFields(item, { tool, prefix: `${name}[${at}].`, fields: items });
  });
}

function checkedFields(given: object, place: Place): Record<string, unknown> {
  const { tool, prefix, fields } = place;
  const checked: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(given)) {
    const param = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (!param)
      throw new TokenBudgetError(
        "unknown_field",
        `${tool}: unknown parameter "${prefix}${shownValue(field).slice(1, -1)}"; ${fieldList(place)}.`,
      );
    if (value === undefined || (value === null && param.nullable)) continue;
    checked[field] = checkedValue(value, param, place, field);
  }
  for (const [field, param] of Object.entries(fields))
    if (param.required && !Object.hasOwn(checked, field))
      throw new TokenBudgetError("missing_field", `${tool}: ${prefix}${field} is missing; ${fieldList(place)}.`);
  return checked;
}

/**
 * A tool's arguments checked against its own table, before the host coerces anything. Nulls of nullable parameters are
 * dropped. Throws a TokenBudgetError that names the field, the value, the rule and the fields that exist.
 */
export function validateArguments<N extends ToolName>(name: N, raw: unknown): ParamsOf<N> {
  const place = { tool: name, prefix: "", fields: TOOL_SPECS[name].params };
  const given = raw === undefined || raw === null ? {} : raw;
  if (typeof given !== "object" || Array.isArray(given))
    throw new TokenBudgetError(
      "invalid_argument",
      `${name}: the arguments are ${shownValue(raw)}, not an object; ${fieldList(place)}.`,
    );
  return checkedFields(given, place) as ParamsOf<N>;
}

/** A limit as it is used: the default when omitted, the maximum when above it. */
export function usedLimit(
  param: { readonly default: number; readonly maximum: number },
  given: number | undefined,
): number {
  return Math.min(given ?? param.default, param.maximum);
}

/** A tool as Pi registers it. */
export function defineTool<N extends ToolName>(name: N, execute: Execute<N>): HostTool {
  const spec: ToolSpec = TOOL_SPECS[name];
  return {
    name,
    label: spec.label,
    description: spec.description,
    parameters: toolSchema(spec),
    executionMode: spec.executionMode,
    prepareArguments: (raw) => validateArguments(name, raw) as Record<string, unknown>,
    execute: async (toolCallId, params, signal) => {
      const answer = await execute(validateArguments(name, params), { id: toolCallId, signal });
      return {
        content: [{ type: "text", text: answer.text }, ...(answer.images ?? [])],
        details: { ...answer.details },
        ...(answer.terminate ? { terminate: true } : {}),
      };
    },
  };
}
