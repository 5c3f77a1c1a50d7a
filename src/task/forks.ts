// Where the notes of a forked session's source are. A fork is a root task of its own that starts with a copy of them.
import { basename, isAbsolute, resolve } from "node:path";
import { TokenBudgetError } from "../errors.ts";
import type { SessionIdentity } from "../host/context.ts";
import type { DiskCalls } from "../storage/disk.ts";
import { readFirstLine } from "../storage/first-line.ts";
import { ROOT_ADDRESS } from "./addresses.ts";
import { storageLayout } from "./layout.ts";
import { Locators } from "./locator.ts";
import { Registry } from "./registry.ts";
import { agentOf } from "./roster.ts";
import { type ForkSource, withUsableId } from "./seats.ts";

export interface ForkSourceOptions {
  readonly agentDir: string;
  readonly disk?: DiskCalls | undefined;
}

/** Hosts name session files `<time>_<id>.jsonl`. */
const FILE_NAME = /_([^_]+)\.jsonl$/;

/** Who the session in a file is; undefined when neither the file nor its name says so. */
function identityIn(sessionFile: string, disk: DiskCalls | undefined): SessionIdentity | undefined {
  try {
    const header: unknown = JSON.parse(readFirstLine(sessionFile, disk) ?? "");
    if (typeof header === "object" && header !== null && "id" in header && typeof header.id === "string") {
      const createdAt = Date.parse("timestamp" in header ? String(header.timestamp) : "");
      return { sessionId: header.id, sessionFile, createdAt: Number.isNaN(createdAt) ? 0 : createdAt };
    }
  } catch {
    // No header: the name may hold the id.
  }
  const [, sessionId] = FILE_NAME.exec(basename(sessionFile)) ?? [];
  return sessionId === undefined ? undefined : { sessionId, sessionFile, createdAt: 0 };
}

/**
 * The notes of the session that this one was forked from, by the session file its header names; undefined when it is no
 * fork. Throws when the source's place or category cannot be read: notes of unknown category are not copied.
 */
export function forkSource(
  { sessionId }: SessionIdentity,
  parentSession: string | undefined,
  { agentDir, disk }: ForkSourceOptions,
): ForkSource | undefined {
  if (parentSession === undefined || !isAbsolute(parentSession)) return undefined;
  const found = identityIn(resolve(parentSession), disk);
  if (found === undefined || found.sessionId === sessionId) return undefined;
  const source = withUsableId(found);
  const located = new Locators({ agentDir, disk }).find(source);
  if (located.type === "unusable") {
    throw new TokenBudgetError("storage_failed", `The notes of the forked session were not copied: ${located.problem}`);
  }
  const home = storageLayout(source, agentDir);
  const storageRoot = located.type === "found" ? located.location.storageRoot : home.root;
  const { runId, rootSessionId } =
    located.type === "found" ? located.location : { runId: source.sessionId, rootSessionId: source.sessionId };
  const registry = new Registry({ context: { version: 1, runId, rootSessionId, storageRoot }, disk });
  const sessionFile = source.sessionFile ?? null;
  const agent = agentOf(registry.read(), { sessionId: source.sessionId, sessionKey: sessionFile ?? "", sessionFile });
  if (agent) return { notesRoot: agent.notesRoot, agent: agent.address, category: agent.category };
  const address = located.type === "found" ? located.location.address : ROOT_ADDRESS;
  return { notesRoot: registry.layout.notes(address), agent: address, category: null };
}
