// What a locator says: which root task a session belongs to, and who it is there. Pure.
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

function isPlace(address: unknown, parent: unknown, isRoot: boolean): boolean {
  if (isRoot) return address === ROOT_ADDRESS && parent === null;
  if (typeof address !== "string" || typeof parent !== "string") return false;
  return isAddress(address) && isAddress(parent) && isBelow(address, parent);
}

/** The location that a locator's fields say; undefined when they are not well formed. */
export function parseLocation(fields: Readonly<Record<string, unknown>>): Location | undefined {
  const { sessionId, sessionFile, sessionCreated, runId, rootSessionId, storageRoot, address, parent } = fields;
  if (!isId(sessionId) || !isId(runId) || rootSessionId !== runId || !isAbsolutePath(storageRoot)) return undefined;
  if (sessionFile !== null && !isAbsolutePath(sessionFile)) return undefined;
  if (typeof sessionCreated !== "number" || !Number.isFinite(sessionCreated)) return undefined;
  if (!isPlace(address, parent, sessionId === rootSessionId)) return undefined;
  return {
    sessionId,
    sessionFile,
    sessionCreated,
    runId,
    rootSessionId: runId,
    storageRoot,
    address: address as string,
    parent: parent as string | null,
  };
}
