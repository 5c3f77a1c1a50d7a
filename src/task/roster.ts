// What the registry of a root task says: its agents, the rules they keep, and how one is added. Pure: the registry
// reads and writes it. Whatever breaks a rule is refused whole; nothing here repairs.
import { isDeepStrictEqual } from "node:util";
import { shownValue, TokenBudgetError } from "../errors.ts";
import type { ProcessPlace } from "../storage/process-place.ts";
import { isAddress, isBelow, ROOT_ADDRESS } from "./addresses.ts";
import { type Categorized, type Category, categoryProblem, taskCategoryChoice } from "./category.ts";

export type AgentState =
  | {
      readonly type: "running";
      readonly pid: number;
      readonly processStart: string | null;
      /** Where its id is to be seen; absent where the system does not say. */
      readonly place?: ProcessPlace;
    }
  | { readonly type: "ended" };

export interface RosterAgent extends Categorized {
  /** Null for the root. */
  readonly parent: string | null;
  readonly sessionKey: string;
  readonly sessionId: string;
  /** Null for a session in memory. */
  readonly sessionFile: string | null;
  /** Absolute. */
  readonly notesRoot: string;
  /** Absolute. */
  readonly historyDir: string;
  /** When it was registered, ISO 8601. */
  readonly created: string;
  readonly state: AgentState;
  /** When a person last decided the category, ISO 8601; absent when none has. What logs said before is outdated. */
  readonly decided?: string;
  /** The agent of pi-subagents that a child is, by the name its definition has. */
  readonly subagent?: string;
  /** Tools of this package that a child runs without. */
  readonly lacks?: readonly string[];
}

export interface TaskAgent extends RosterAgent {
  /** Whether a process runs it now. */
  readonly running: boolean;
}

/** In the order of registration. */
export type Roster = readonly RosterAgent[];

/** Who a session says it is. */
export interface SessionName {
  readonly sessionKey: string;
  readonly sessionId: string;
  readonly sessionFile: string | null;
}

/** A session that wants to be an agent of the task. */
export interface Registration extends SessionName {
  readonly address: string;
  /** Whether that address was chosen; an automatic one gives way to the one the session has. */
  readonly named: boolean;
  /** Null for the root. */
  readonly parent: string | null;
  /** A child's category as its launcher declared it; for the root, the category it starts with. */
  readonly declared: Category | undefined;
  readonly created: string;
  readonly state: AgentState;
  readonly subagent?: string;
  readonly lacks?: readonly string[];
}

/** Facts of the task that a new entry needs. */
export interface TaskFacts {
  readonly rootSessionId: string;
  notesOf(address: string): string;
  historyOf(address: string): string;
}

export function agentAt(roster: Roster, address: string): RosterAgent | undefined {
  return roster.find((agent) => agent.address === address);
}

/** A session's own entry, by its id wherever its file lies now, else by its file. */
export function agentOf(roster: Roster, session: SessionName): RosterAgent | undefined {
  return (
    roster.find(({ sessionId }) => sessionId === session.sessionId) ??
    roster.find(({ sessionKey }) => sessionKey === session.sessionKey)
  );
}

/** Which rule the agents break together; undefined when they break none. */
export function rosterProblem(roster: Roster): string | undefined {
  const byAddress = new Map<string, RosterAgent>();
  const bySession = new Map<string, RosterAgent>();
  for (const agent of roster) {
    if (byAddress.has(agent.address)) return `${agent.address} is in it twice`;
    const twin = bySession.get(agent.sessionId);
    if (twin) return `${twin.address} and ${agent.address} are one session`;
    byAddress.set(agent.address, agent);
    bySession.set(agent.sessionId, agent);
  }
  for (const agent of roster) {
    const problem = placeProblem(agent, byAddress);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function placeProblem(agent: RosterAgent, byAddress: ReadonlyMap<string, RosterAgent>): string | undefined {
  const { address, parent } = agent;
  if (!isAddress(address)) return `${shownValue(address)} is no agent address`;
  if ((address === ROOT_ADDRESS) !== (parent === null)) return `${address} has the parent ${shownValue(parent)}`;
  if (parent === null) return undefined;
  const above = byAddress.get(parent);
  if (above === undefined) return `${address} has the parent ${shownValue(parent)}, which is not in it`;
  if (!isBelow(address, parent)) return `${address} is not below its parent ${parent}`;
  return categoryProblem(above, agent);
}

function replaced(roster: Roster, agent: RosterAgent): Roster {
  return roster.map((other) => (other.address === agent.address ? agent : other));
}

function rejoined(roster: Roster, known: RosterAgent, wanted: Registration): Roster {
  if (wanted.named && wanted.address !== known.address) {
    throw new TokenBudgetError(
      "name_collision",
      `This session is the agent ${known.address} of this root task already and cannot be ${wanted.address} too. Leave agentName out, or give ${known.address}.`,
    );
  }
  const { sessionKey, sessionId, sessionFile, state, subagent = known.subagent, lacks } = wanted;
  const { lacks: _, ...before } = known;
  const agent: RosterAgent = {
    ...before,
    ...{ sessionKey, sessionId, sessionFile, state },
    ...(subagent === undefined ? {} : { subagent }),
    ...(lacks === undefined ? {} : { lacks }),
  };
  return isDeepStrictEqual(agent, known) ? roster : replaced(roster, agent);
}

function assertFree(roster: Roster, { address }: Registration): void {
  const holder = agentAt(roster, address);
  if (holder === undefined) return;
  const free = freeName(roster, address);
  throw new TokenBudgetError(
    "name_collision",
    `The agent name ${address} is held by another session of this root task, ${shownValue(holder.sessionId)}; a name stays with its session, also when that has ended. ${free} is free: give that as agentName, or leave agentName out for an automatic one.`,
  );
}

/** The address with the first free number behind it. */
function freeName(roster: Roster, address: string): string {
  const taken = new Set(roster.map((agent) => agent.address));
  const base = address.replace(/_\d{1,6}$/, "");
  let number = 2;
  while (taken.has(`${base}_${number}`)) number++;
  return `${base}_${number}`;
}

/** A root that has not registered yet, or that is no session: ordinary, since a decision would have registered it. */
function silentRoot(task: TaskFacts, created: string): RosterAgent {
  return {
    address: ROOT_ADDRESS,
    parent: null,
    sessionKey: task.rootSessionId,
    sessionId: task.rootSessionId,
    sessionFile: null,
    notesRoot: task.notesOf(ROOT_ADDRESS),
    historyDir: task.historyOf(ROOT_ADDRESS),
    category: null,
    categoryOwn: true,
    created,
    state: { type: "ended" },
  };
}

/** The roster with its root, which may not have registered yet. */
export function withRoot(roster: Roster, task: TaskFacts, created: string): Roster {
  return agentAt(roster, ROOT_ADDRESS) === undefined ? [...roster, silentRoot(task, created)] : roster;
}

/** The roster with a session in it: with a new entry, or with its own one brought up to date. */
export function withSession(roster: Roster, wanted: Registration, task: TaskFacts): Roster {
  const known = agentOf(roster, wanted);
  if (known) return rejoined(roster, known, wanted);
  assertFree(roster, wanted);
  const { address, parent, declared, named: _, ...rest } = wanted;
  const present = parent === ROOT_ADDRESS ? withRoot(roster, task, wanted.created) : roster;
  const places = { notesRoot: task.notesOf(address), historyDir: task.historyOf(address) };
  if (parent === null) {
    return [...present, { ...rest, ...places, address, parent, category: declared ?? null, categoryOwn: true }];
  }
  const above = agentAt(present, parent);
  if (above === undefined) {
    throw new TokenBudgetError(
      "unknown_agent",
      `parentAgentName is ${shownValue(parent)}, and there is no such agent in this root task. Give the address of the agent that starts this one, or leave it out for ${ROOT_ADDRESS}.`,
    );
  }
  const { own, category } = taskCategoryChoice(declared, above.category);
  return [...present, { ...rest, ...places, address, parent, category, categoryOwn: own }];
}

/**
 * The roster with a new child's parent as that one's own log says it is: an entry that became ordinary by mistake makes
 * no child ordinary. Throws when what the parent's content is cannot be known.
 */
export function withParentContent(
  roster: Roster,
  wanted: Registration,
  task: TaskFacts,
  contentOf: (agent: RosterAgent) => Category | undefined,
): Roster {
  const { parent, declared, created } = wanted;
  // An ordinary child takes nothing from its parent, and a registered one has its category.
  if (parent === null || declared === null || agentOf(roster, wanted)) return roster;
  const known = agentAt(roster, parent);
  // A root that is not in the registry may have been there, and have its journal.
  const above = known ?? (parent === ROOT_ADDRESS ? silentRoot(task, created) : undefined);
  if (above === undefined) return roster;
  const content = contentOf(above);
  if (content === above.category) return roster;
  if (content !== undefined) return withLogged(known ? roster : [...roster, above], parent, content);
  throw new TokenBudgetError(
    "refused",
    `It is not known which category the content of ${above.address} is of, and this session would be of the same. Say what it is with /category there, or declare this session's category as null.`,
  );
}

/**
 * The roster after an agent's process has left it. Another process may have taken the agent over meanwhile, or may still
 * run it from before: then it is `left` to that one.
 */
export function withEnded(roster: Roster, address: string, pid: number, left: AgentState = { type: "ended" }): Roster {
  const agent = agentAt(roster, address);
  if (agent?.state.type !== "running" || agent.state.pid !== pid) return roster;
  return replaced(roster, { ...agent, state: left });
}

/** A person's decision at a time: it moves everything below the agent too, ordinary tasks included. */
export function withCategory(roster: Roster, address: string, category: Category, decided: string): Roster {
  const moved = { category, decided };
  const decidedAgent = changed(roster, address, { ...moved, categoryOwn: true });
  return roster.map((other) => {
    if (other.address === address) return decidedAgent;
    return isDescendant(roster, other, address) ? { ...other, ...moved } : other;
  });
}

/** An agent as its own log says it is; what is below follows where it has its parent's category. */
export function withLogged(roster: Roster, address: string, category: Category): Roster {
  const moved = new Map([[address, changed(roster, address, { category, categoryOwn: true })]]);
  // A child is registered after its parent.
  for (const agent of roster) {
    if (agent.parent !== null && moved.has(agent.parent) && !agent.categoryOwn) {
      moved.set(agent.address, { ...agent, category });
    }
  }
  return roster.map((agent) => moved.get(agent.address) ?? agent);
}

/** An agent with another category; throws where its parent's does not let it have that. */
function changed(
  roster: Roster,
  address: string,
  change: Pick<RosterAgent, "category" | "categoryOwn" | "decided">,
): RosterAgent {
  const agent = agentAt(roster, address);
  if (agent === undefined) {
    throw new TokenBudgetError("unknown_agent", `There is no agent ${shownValue(address)} in this root task.`);
  }
  const above = agent.parent === null ? undefined : agentAt(roster, agent.parent);
  const after: RosterAgent = { ...agent, ...change };
  const problem = above && categoryProblem(above, after);
  if (problem === undefined) return after;
  throw new TokenBudgetError(
    "refused",
    `The category of ${address} was not changed: ${problem}. Give the parent's own category, or none.`,
  );
}

/** Addresses may skip levels, so that descent goes by parents and not by names. */
function isDescendant(roster: Roster, agent: RosterAgent, ancestor: string): boolean {
  for (let { parent } = agent; parent !== null; parent = agentAt(roster, parent)?.parent ?? null) {
    if (parent === ancestor) return true;
  }
  return false;
}
