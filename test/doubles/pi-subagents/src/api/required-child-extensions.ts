// registerRequiredChildExtensions: the checks of the contract, in its order. Nothing is imported at registration.
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type RequiredChildExtension, registrations } from "../registry.ts";

export interface RegisterInput {
  readonly sessionId: string;
  readonly extensions: readonly { readonly id: string; readonly path: string }[];
  readonly requireForAllRunners?: boolean;
}

const INPUT_KEYS: ReadonlySet<string> = new Set(["sessionId", "extensions", "requireForAllRunners"]);
const ENTRY_KEYS: ReadonlySet<string> = new Set(["id", "path"]);
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const SESSION_ID_MAX_CHARS = 256;
const EXTENSIONS_MAX = 32;
const PATH_MAX_BYTES = 4_096;

function plainObject(value: unknown, keys: ReadonlySet<string>, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${what} must be an object.`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new Error(`${what} must be a plain object.`);
  const unknown = Object.keys(value).find((key) => !keys.has(key));
  if (unknown !== undefined) throw new Error(`${what} has an unknown key "${unknown}".`);
  return value as Record<string, unknown>;
}

function checkedSessionId(value: unknown): string {
  if (typeof value !== "string" || value === "") throw new Error("sessionId must be a non-empty string.");
  if (value !== value.trim()) throw new Error("sessionId must not begin or end with white space.");
  if (value.length > SESSION_ID_MAX_CHARS) throw new Error(`sessionId is longer than ${SESSION_ID_MAX_CHARS}.`);
  if (value.includes("\0")) throw new Error("sessionId must not contain NUL.");
  return value;
}

function checkedPath(value: unknown, id: string): string {
  if (typeof value !== "string" || value.trim() === "") throw new Error(`The path of "${id}" must not be blank.`);
  if (value.includes("\0")) throw new Error(`The path of "${id}" must not contain NUL.`);
  if (Buffer.byteLength(value, "utf8") > PATH_MAX_BYTES) throw new Error(`The path of "${id}" is too long.`);
  let real: string;
  try {
    real = realpathSync(resolve(value));
  } catch {
    throw new Error(`The path of "${id}" does not exist: ${value}`);
  }
  if (!statSync(real).isFile()) throw new Error(`The path of "${id}" is not a file: ${value}`);
  return real;
}

function checkedExtensions(value: unknown): readonly RequiredChildExtension[] {
  if (!Array.isArray(value)) throw new Error("extensions must be an array.");
  if (value.length > EXTENSIONS_MAX) throw new Error(`extensions has more than ${EXTENSIONS_MAX} entries.`);
  const ids = new Set<string>();
  const paths = new Set<string>();
  return value.map((entry: unknown) => {
    const { id, path } = plainObject(entry, ENTRY_KEYS, "An entry of extensions");
    if (typeof id !== "string" || !ID.test(id)) throw new Error(`The id ${JSON.stringify(id)} is not valid.`);
    if (ids.has(id)) throw new Error(`The id "${id}" is there twice.`);
    ids.add(id);
    const real = checkedPath(path, id);
    if (paths.has(real)) throw new Error(`The path of "${id}" is there twice: ${real}`);
    paths.add(real);
    return Object.freeze({ id, path: real });
  });
}

export function registerRequiredChildExtensions(input: RegisterInput): { dispose(): void } {
  const fields = plainObject(input, INPUT_KEYS, "The input");
  const sessionId = checkedSessionId(fields.sessionId);
  const { requireForAllRunners } = fields;
  if (requireForAllRunners !== undefined && typeof requireForAllRunners !== "boolean") {
    throw new Error("requireForAllRunners must be a boolean.");
  }
  const snapshot = Object.freeze(checkedExtensions(fields.extensions));
  const bySession = registrations();
  if (bySession.has(sessionId)) {
    throw new Error(`Required child extensions are already registered for session "${sessionId}"; dispose them first.`);
  }
  bySession.set(sessionId, snapshot);
  return {
    dispose: () => {
      if (bySession.get(sessionId) === snapshot) bySession.delete(sessionId);
    },
  };
}
