// The shape of values that come from outside: parsed JSON, events, details of entries. Pure.

/** Whether a value has fields to look at; a list has none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
