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

function paramSchema(param: ParamSpec): TSchema {
  const options: Record<string, unknown> = {};
  if (param.description !== undefined) options.description = param.description;
  if (param.enum !== undefined) options.enum = [...param.enum];
  if (param.minimum !== undefined) options.minimum = param.minimum;
  const plain = { string: Type.String, integer: Type.Integer, boolean: Type.Boolean }[param.type](options);
  // Null first: 0.73.1 coerces a null to "" or 0 otherwise.
  const schema = param.nullable ? Type.Union([Type.Null(), plain]) : plain;
  return param.required ? schema : Type.Optional(schema);
}

export function toolSchema(spec: ToolSpec): TSchema {
  const properties = Object.fromEntries(Object.entries(spec.params).map(([name, param]) => [name, paramSchema(param)]));
  return Type.Object(properties, { additionalProperties: false });
}

function ruleOf(param: ParamSpec): string {
  const kind = param.enum
    ? `one of ${param.enum.map((value) => `"${value}"`).join(", ")}`
    : { string: "a string", integer: "a whole number", boolean: "true or false" }[param.type];
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
  }
}

function fieldList(spec: ToolSpec): string {
  const names = Object.keys(spec.params);
  return names.length === 0 ? "it takes no parameters" : `its parameters are ${names.join(", ")}`;
}

/**
 * A tool's arguments checked against its own table, before the host coerces anything. Nulls of nullable parameters are
 * dropped. Throws a TokenBudgetError that names the field, the value, the rule and the fields that exist.
 */
export function validateArguments<N extends ToolName>(name: N, raw: unknown): ParamsOf<N> {
  const spec: ToolSpec = TOOL_SPECS[name];
  const given = raw === undefined || raw === null ? {} : raw;
  if (typeof given !== "object" || Array.isArray(given))
    throw new TokenBudgetError(
      "invalid_argument",
      `${name}: the arguments are ${shownValue(raw)}, not an object; ${fieldList(spec)}.`,
    );
  const checked: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(given)) {
    const param = Object.hasOwn(spec.params, field) ? spec.params[field] : undefined;
    if (!param)
      throw new TokenBudgetError(
        "unknown_field",
        `${name}: unknown parameter "${shownValue(field).slice(1, -1)}"; ${fieldList(spec)}.`,
      );
    if (value === undefined || (value === null && param.nullable)) continue;
    if (!fits(value, param))
      throw new TokenBudgetError(
        "invalid_argument",
        `${name}: ${field} is ${shownValue(value)}; it must be ${ruleOf(param)}.`,
      );
    checked[field] = value;
  }
  for (const [field, param] of Object.entries(spec.params))
    if (param.required && !Object.hasOwn(checked, field))
      throw new TokenBudgetError("missing_field", `${name}: ${field} is missing; ${fieldList(spec)}.`);
  return checked as ParamsOf<N>;
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
