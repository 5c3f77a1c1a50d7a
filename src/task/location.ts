// What a locator says: which root task a session belongs to, and who it is there. Pure.
//
// {"sessionId":"5f…","sessionFile":"/…/5f….jsonl","runId":"5f…","address":"/root","parent":null,…,"version":1}
import { Type } from "../schema.ts";
import { ruled, schemaProblem } from "../schema-check.ts";
import type { Parsed, VersionedFields } from "../storage/json-store.ts";
import { isAddress, isBelow, ROOT_ADDRESS } from "./addresses.ts";
import { isAbsolutePath, isId } from "./context.ts";

export interface Location {
  readonly sessionId: string;
  /** Where its file was when this was written; null for a session in memory. */
  readonly sessionFile: string | null;
  /** When the session was made, milliseconds since 1970; 0 when its log does not say. Ids may be chosen by hand. */
  readonly sessionCreated: number;
  readonly runId: string;
  readonly rootSessionId: string;
  readonly storageRoot: string;
  readonly address: string;
  /** Null for the root. */
  readonly parent: string | null;
}

const id = () => ruled<string>("a session id", isId);
const path = () => ruled<string>("an absolute path", isAbsolutePath);

const LocationSchema = Type.Object({
  sessionId: id(),
  sessionFile: ruled("an absolute path or null", (value) => value === null || isAbsolutePath(value)),
  sessionCreated: Type.Number(),
  runId: id(),
  rootSessionId: id(),
  storageRoot: path(),
  address: ruled("an agent address", (value) => typeof value === "string" && isAddress(value)),
  parent: ruled(
    "an agent address or null",
    (value) => value === null || (typeof value === "string" && isAddress(value)),
  ),
});

function placeProblem({ sessionId, runId, rootSessionId, address, parent }: Location): string | undefined {
  if (rootSessionId !== runId) return `rootSessionId is ${rootSessionId}, not the runId ${runId}`;
  const isRoot = address === ROOT_ADDRESS && parent === null;
  if (sessionId === rootSessionId) return isRoot ? undefined : `address is ${address}, not that of the root`;
  if (parent === null) return `parent is missing: only the root, session ${rootSessionId}, has none`;
  return isBelow(address, parent) ? undefined : `address is ${address}, not below its parent ${parent}`;
}

export function parseLocation({ version: _, ...fields }: VersionedFields): Parsed<Location> {
  const location = fields as unknown as Location;
  const problem = schemaProblem(LocationSchema, fields) ?? placeProblem(location);
  if (problem !== undefined) return { type: "damaged", problem };
  const { sessionId, sessionFile, sessionCreated, runId, rootSessionId, storageRoot, address, parent } = location;
  const value = { sessionId, sessionFile, sessionCreated, runId, rootSessionId, storageRoot, address, parent };
  return { type: "value", value };
}
