// Which place in which root task a session has: the one it was given, the one its locator says, or the root of its own.
// Only reads.
import { resolve } from "node:path";
import type { TokenBudgetError } from "../errors.ts";
import type { SessionIdentity } from "../host/context.ts";
import type { DiskCalls } from "../storage/disk.ts";
import { ADDRESS_MAX_CHARS, childAddress, parentAddress, ROOT_ADDRESS } from "./addresses.ts";
import type { Category } from "./category.ts";
import { isId, TASK_CONTEXT_VERSION, type TaskContext, type TaskMembership } from "./context.ts";
import { automaticName, copyId, hashedId, homeStorage, launcherPlaces, sessionKey } from "./layout.ts";
import type { Location } from "./location.ts";
import type { Found, Locators } from "./locator.ts";
import { Registry } from "./registry.ts";
import { agentAt, type RosterAgent } from "./roster.ts";

/** Who a session is in which task. */
export interface Seat {
  readonly context: TaskContext;
  readonly address: string;
  readonly named: boolean;
  readonly parent: string | null;
  readonly declared: Category | undefined;
  /** A locator says so, or it is a root: the place is the session's own whatever the registry can say now. */
  readonly certain: boolean;
  /** False when there is a locator that may not be replaced. */
  readonly locate: boolean;
  /** Why the place that was given could not be had; the session is apart then, and this is its own storage. */
  readonly problem?: TokenBudgetError;
  /** The session whose file this one's is a copy of. */
  readonly copyOf?: ForkSource;
}

/** The notes that a new root starts with a copy of. */
export interface ForkSource {
  readonly notesRoot: string;
  /** The address of the agent in its own task. */
  readonly agent: string;
  /** What its content is; the new root is of the same category. */
  readonly category: Category;
}

export interface SeatOptions {
  readonly identity: SessionIdentity;
  readonly agentDir: string;
  /** The category that a new root starts with: a fork has its source's. */
  readonly category?: Category | undefined;
  /** The agent of pi-subagents that a child is. */
  readonly subagent?: string | undefined;
  readonly disk?: DiskCalls | undefined;
}

/** An identity whose id can be written down and be a name; hosts make such ids, a hand-made session file may not. */
export function withUsableId(identity: SessionIdentity): SessionIdentity {
  return isId(identity.sessionId) ? identity : { ...identity, sessionId: hashedId(identity.sessionId) };
}

/** The root of a session that was given no place and has no locator. A copy of another session's file begins as its fork. */
export function ownSeat(options: SeatOptions, locators: Locators): Seat {
  const { identity, agentDir, category = null, disk } = options;
  const own = ownRoot(identity, agentDir, category);
  const original = originalOf(identity, own.context, locators, disk);
  if (original === undefined) return own;
  const { notesRoot, address: agent } = original;
  const copy = { ...identity, sessionId: copyId(identity.sessionId, identity.sessionFile as string) };
  const copyOf = { notesRoot, agent, category: original.category };
  return { ...ownRoot(copy, agentDir, original.category), copyOf };
}

/**
 * The session that has the folders which this one would have: another file in the same folder with the same id, so that
 * one of the two is a copy. A path that leads to the same file, or to none any more, is this session's own.
 */
function originalOf(
  identity: SessionIdentity,
  context: TaskContext,
  locators: Locators,
  disk: DiskCalls | undefined,
): RosterAgent | undefined {
  const { sessionFile } = identity;
  if (sessionFile === undefined) return undefined;
  let root: RosterAgent | undefined;
  try {
    root = agentAt(new Registry({ context, disk }).read(), ROOT_ADDRESS);
  } catch {
    // It is met again, and reported, as this session's own.
    return undefined;
  }
  const other = root?.sessionFile ?? sessionFile;
  if (resolve(other) === resolve(sessionFile) || !locators.isThere(other)) return undefined;
  return locators.isOneFile(other, sessionFile) ? undefined : root;
}

function rootSeat(context: TaskContext, declared: Category): Seat {
  return { context, address: ROOT_ADDRESS, named: true, parent: null, declared, certain: true, locate: true };
}

export function ownRoot(identity: SessionIdentity, agentDir: string, category: Category): Seat {
  const { sessionId } = identity;
  const storageRoot = homeStorage(identity, agentDir);
  return rootSeat({ version: TASK_CONTEXT_VERSION, runId: sessionId, storageRoot, rootSessionId: sessionId }, category);
}

export function foundSeat(found: Found): Seat | { readonly problem: string } | undefined {
  if (found.type === "none") return undefined;
  return found.type === "found" ? locatedSeat(found.location) : { problem: found.problem };
}

function locatedSeat({ runId, storageRoot, rootSessionId, address, parent }: Location): Seat {
  const context = { version: TASK_CONTEXT_VERSION, runId, storageRoot, rootSessionId } as const;
  return { context, address, named: false, parent, declared: undefined, certain: true, locate: true };
}

/** The agent whose session file a launcher has put this one below; the root when there is none. */
function launchedBy({ identity, disk }: SeatOptions, context: TaskContext): string {
  if (identity.sessionFile === undefined) return ROOT_ADDRESS;
  try {
    const roster = new Registry({ context, disk }).read();
    for (const { parentFile } of launcherPlaces(identity.sessionFile)) {
      const parent = roster.find(({ sessionFile }) => sessionFile === parentFile);
      if (parent !== undefined) return parent.address;
    }
  } catch {
    // Reported where it matters, by `refusal`.
  }
  return ROOT_ADDRESS;
}

/** The place of a child that its launcher gave no name. */
function automaticPlace(options: SeatOptions, context: TaskContext, parentAgentName: string | undefined) {
  const name = automaticName(sessionKey(options.identity), options.subagent);
  const parent = parentAgentName === undefined ? launchedBy(options, context) : parentAddress(parentAgentName);
  // A child too deep for an address is placed below the root.
  const isTooDeep = parent.length + 1 + name.length > ADDRESS_MAX_CHARS;
  const under = isTooDeep && parentAgentName === undefined ? ROOT_ADDRESS : parent;
  return { parent: under, address: childAddress(under, name) };
}

export function memberSeat(options: SeatOptions, membership: TaskMembership): Seat {
  const { parentAgentName, agentName, category, required: _, ...context } = membership;
  // The root itself, when it loads the entry that was made for its children.
  const { sessionId, sessionFile } = options.identity;
  const ids = [sessionId, ...(sessionFile === undefined ? [] : [copyId(sessionId, sessionFile)])];
  if (ids.includes(context.rootSessionId)) return rootSeat(context, null);
  const common = { context, declared: category, locate: true };
  if (agentName === undefined) {
    return { ...common, ...automaticPlace(options, context, parentAgentName), named: false, certain: true };
  }
  const parent = parentAddress(parentAgentName);
  return { ...common, parent, address: childAddress(parent, agentName), named: true, certain: false };
}
