// Checks a tool's arguments against its table, as the model sent them, before a host coerces anything. A value that can only
// mean one thing is read leniently, and the result says so; everything else that is wrong is an error that says what to send.

import { shownValue, TokenBudgetError } from "../errors.ts";
import { readAsNotice } from "../prompts.ts";
import { isRecord } from "../shapes.ts";
import { type ParamSpec, type ParamsOf, TOOL_SPECS, type ToolName, type ToolSpec } from "./specs.ts";

/** A kind of value, in words. */
const KINDS = { string: "a string", integer: "a whole number", boolean: "true or false", array: "an array" } as const;

function ruleOf(param: ParamSpec): string {
  const kind = param.enum
    ? `one of ${param.enum.map((value) => `"${value}"`).join(", ")}`
    : param.type === "array"
      ? `an array of objects with ${Object.keys(param.items ?? {}).join(" and ")}`
      : KINDS[param.type];
  const minimum = param.minimum === undefined ? "" : ` of at least ${param.minimum}`;
  return `${kind}${minimum}${param.nullable ? ", or null" : ""}`;
}

function fits(value: unknown, param: ParamSpec): boolean {
  switch (param.type) {
    case "string":
      return typeof value === "string" && (param.enum === undefined || param.enum.includes(value));
    case "integer":
      return Number.isInteger(value) && (param.minimum === undefined || (value as number) >= param.minimum);
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value);
  }
}

/** Where fields are checked, for errors: a tool's parameters, or an object in one of them. */
interface Place {
  readonly tool: string;
  /** Before a field's name: empty for a parameter, `todos[2].` inside an array. */
  readonly prefix: string;
  readonly fields: ToolSpec["params"];
  /** What was read differently from how it was sent; sentences for the model. */
  readonly notices: string[];
}

const WHOLE_NUMBER = /^-?(0|[1-9]\d{0,15})$/;

/** What a JSON text holds, when it is of that kind; undefined otherwise. */
function inJson(text: string, isKind: (value: unknown) => boolean): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isKind(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The one thing a string can mean for a parameter that takes no string; undefined when it means nothing. */
function meantBy(text: string, type: ParamSpec["type"]): unknown {
  switch (type) {
    case "string":
      return undefined;
    case "integer":
      return WHOLE_NUMBER.test(text) ? Number(text) : undefined;
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : undefined;
    case "array":
      return inJson(text, Array.isArray);
  }
}

/** Counts and offsets are safe integers: a larger one is clamped like any limit. */
function clamped(value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value));
}

function fieldList({ prefix, fields }: Place): string {
  const names = Object.keys(fields);
  if (names.length === 0) return "it takes no parameters";
  return `${prefix === "" ? "its parameters" : "an item's fields"} are ${names.join(", ")}`;
}

function checkedValue(given: unknown, param: ParamSpec, place: Place, field: string): unknown {
  const { tool, prefix, notices } = place;
  const name = `${prefix}${field}`;
  const meant = typeof given === "string" ? meantBy(given, param.type) : undefined;
  const value = meant === undefined ? given : meant;
  if (!fits(value, param))
    throw new TokenBudgetError(
      "invalid_argument",
      `${tool}: ${name} is ${shownValue(given)}; it must be ${ruleOf(param)}.`,
    );
  if (meant !== undefined) notices.push(readAsNotice(name, KINDS[param.type]));
  const { items } = param;
  if (!items || !Array.isArray(value)) return clamped(value);
  return value.map((item: unknown, at) => checkedItem(item, items, { ...place, prefix: `${name}[${at}]` }));
}

/** `place.prefix` names the item itself. */
function checkedItem(given: unknown, fields: ToolSpec["params"], { tool, prefix, notices }: Place): object {
  const meant = typeof given === "string" ? inJson(given, isRecord) : undefined;
  const item = meant ?? given;
  if (!isRecord(item))
    throw new TokenBudgetError(
      "invalid_argument",
      `${tool}: ${prefix} is ${shownValue(given)}; it must be an object with ${Object.keys(fields).join(" and ")}.`,
    );
  if (meant !== undefined) notices.push(readAsNotice(prefix, "an object"));
  return checkedFields(item, { tool, prefix: `${prefix}.`, fields, notices });
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

/** Arguments as a tool takes them: nulls of nullable parameters are dropped, large numbers clamped. */
export interface ReadArguments<N extends ToolName> {
  readonly params: ParamsOf<N>;
  /** What was read differently from how it was sent. */
  readonly notices: readonly string[];
}

/** Throws a TokenBudgetError that names the field, the value, the rule and the fields that exist. */
export function readArguments<N extends ToolName>(name: N, raw: unknown): ReadArguments<N> {
  const notices: string[] = [];
  const place = { tool: name, prefix: "", fields: TOOL_SPECS[name].params, notices };
  const meant = typeof raw === "string" ? inJson(raw, isRecord) : undefined;
  const given = meant ?? raw ?? {};
  if (!isRecord(given))
    throw new TokenBudgetError(
      "invalid_argument",
      `${name}: the arguments are ${shownValue(raw)}, not an object; ${fieldList(place)}.`,
    );
  if (meant !== undefined) notices.push(readAsNotice("the object of arguments", "an object"));
  return { params: checkedFields(given, place) as ParamsOf<N>, notices };
}

/** Whether a call's arguments are those of a tool of ours. */
export function isValidCall(toolName: string, args: unknown): boolean {
  try {
    readArguments(toolName as ToolName, args);
    return true;
  } catch {
    return false;
  }
}

/** 0.73.1 makes these null where a parameter may be null, whatever the model meant. */
const NULLED: ReadonlySet<unknown> = new Set(["", 0, false]);

/**
 * The arguments that a host passes to a tool: as `sent` where the host has turned what was sent into a null, and otherwise
 * as they are, since another extension may have changed them. `sent` is undefined for a call that is not on the log.
 */
export function argumentsToRun<N extends ToolName>(name: N, handed: unknown, sent: unknown): ReadArguments<N> {
  if (sent === undefined || !isRecord(handed)) return readArguments(name, handed);
  const asSent = readArguments(name, sent);
  const wasNulled = ([field, value]: [string, unknown]) =>
    NULLED.has(value) && (handed as Readonly<Record<string, unknown>>)[field] === null;
  const nulled = Object.entries(asSent.params).filter(wasNulled);
  const { params } = readArguments(name, { ...handed, ...Object.fromEntries(nulled) });
  return { params, notices: asSent.notices };
}
