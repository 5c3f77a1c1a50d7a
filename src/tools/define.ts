// From the table to what Pi registers: schema, the reading of arguments, and the result's form.
// Tools fail by throwing; nothing here catches, so that the host builds the error result.
import type { ImageBlock, TextBlock } from "../host/entries.ts";
import { type TSchema, Type } from "../schema.ts";
import { argumentsToRun, readArguments } from "./arguments.ts";
import { type ParamSpec, type ParamsOf, TOOL_SPECS, type ToolName, type ToolSpec } from "./specs.ts";

/** What a tool knows of the call that runs it. */
export interface ToolCall {
  readonly id: string;
  readonly signal: AbortSignal | undefined;
}

/** A tool's answer: text for the model, and the same facts as data for renderers and tests. */
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
    /** The arguments as the model sent them; left out when the call is not on the log. */
    sent?: unknown,
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

/** The limit in use: the default when omitted, the maximum when above it. */
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
    prepareArguments: (raw) => readArguments(name, raw).params as Record<string, unknown>,
    execute: async (toolCallId, handed, signal, sent) => {
      const { params, notices } = argumentsToRun(name, handed, sent);
      const answer = await execute(params, { id: toolCallId, signal });
      // A block of its own: what a read returns is exactly the text of its range.
      const notice: TextBlock[] = notices.length === 0 ? [] : [{ type: "text", text: notices.join("\n") }];
      return {
        content: [{ type: "text", text: answer.text }, ...(answer.images ?? []), ...notice],
        details: { ...answer.details },
        ...(answer.terminate ? { terminate: true } : {}),
      };
    },
  };
}
