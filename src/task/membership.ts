// Which root task a session belongs to, and who it is there: decided once when the session starts, without writing
// anything. The registry and the locator are written with the session's first durable write (a note, a journal, a
// child), so that a session that only talks leaves no files.
import { join, resolve } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../errors.ts";
import type { SessionIdentity } from "../host/host.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { keepOutOfGit } from "../storage/git-ignore.ts";
import { thisPlace, thisProcess } from "../storage/processes.ts";
import { ADDRESS_MAX_CHARS, APART_ADDRESS, childAddress, parentAddress, ROOT_ADDRESS } from "./addresses.ts";
import type { Category } from "./category.ts";
import { isId, TASK_CONTEXT_VERSION, type TaskContext, type TaskMembership } from "./context.ts";
import { automaticName, copyId, hashedId, homeStorage, isEphemeral, launcherPlaces, sessionKey } from "./layout.ts";
import type { Location } from "./location.ts";
import { type Found, Locators } from "./locator.ts";
import { noSuchTask, Registry } from "./registry.ts";
import {
  type AgentState,
  agentAt,
  agentOf,
  type Registration,
  type Roster,
  type RosterAgent,
  type TaskAgent,
  withParentContent,
  withSession,
} from "./roster.ts";

export interface OpenTaskOptions {
  readonly identity: SessionIdentity;
  readonly agentDir: string;
  /** Joins the session to another one's task; checked by `parseMembership`. */
  readonly membership?: TaskMembership | undefined;
  /** The category that a new root starts with: a fork has its source's. */
  readonly category?: Category | undefined;
  /** What an agent's content is by its entry and its own log; undefined when nobody can say. Default: its entry. */
  readonly contentOf?: ((agent: RosterAgent) => Category | undefined) | undefined;
  /** The agent of pi-subagents that a child is. */
  readonly subagent?: string | undefined;
  /** Tools of this package that the session runs without. */
  readonly lacks?: readonly string[] | undefined;
  /** Told of each problem once; the session goes on. */
  readonly report?: ((problem: string) => void) | undefined;
  readonly disk?: DiskCalls | undefined;
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
}

export interface Ending {
  /** Whether the session starts again at once in this process, as in a reload. */
  readonly restarts?: boolean;
}

/** Who a session is in which task. */
interface Seat {
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

const LISTED_AGENTS_MAX = 10;

const GOES_ON_APART = "The session goes on apart from the task: it can neither read nor write anything there.";
const SENDS_NOTHING = "Its task is required, so this session sends nothing to a model.";

/** An identity whose id can be written down and be a name; hosts make such ids, a hand-made session file may not. */
export function withUsableId(identity: SessionIdentity): SessionIdentity {
  return isId(identity.sessionId) ? identity : { ...identity, sessionId: hashedId(identity.sessionId) };
}

/**
 * The root task of a session. Never throws: whatever is wrong is reported. A session that was given a task and cannot have
 * its place there is apart; any other is the root of its own.
 */
export function openTask(options: OpenTaskOptions): SessionTask {
  const identity = withUsableId(options.identity);
  const reported = new Set<string>();
  const report = (problem: string) => {
    if (reported.has(problem)) return;
    reported.add(problem);
    options.report?.(problem);
  };
  const open = (seat: Seat) => {
    const { parent, context } = seat;
    // A root is known by the id of its task: that of a copy is not the id in its file.
    const sessionId =
      parent === null && identity.sessionFile !== undefined ? context.rootSessionId : identity.sessionId;
    return new SessionTask({ ...options, identity: { ...identity, sessionId }, report }, seat);
  };
  const alone = (problem: string, category: Category) => {
    report(problem);
    return open({ ...ownRoot(identity, options.agentDir, category), locate: false });
  };
  const { membership, category = null } = options;
  const locators = new Locators(options);
  const seat = membership ? memberSeat({ ...options, identity }, membership) : foundSeat(locators.find(identity));
  if (seat === undefined) {
    const own = ownRoot(identity, options.agentDir, category);
    const original = originalOf(identity, own.context, locators, options.disk);
    if (original === undefined) return open(own);
    const { notesRoot, address: agent } = original;
    const copy = { ...identity, sessionId: copyId(identity.sessionId, identity.sessionFile as string) };
    const copyOf = { notesRoot, agent, category: original.category };
    return open({ ...ownRoot(copy, options.agentDir, original.category), copyOf });
  }
  if (!("address" in seat)) return alone(seat.problem, category);
  const task = open(seat);
  const refusal = task.refusal();
  if (refusal === undefined) return task;
  const { problem, category: strictest } = refusal;
  if (!membership) return alone(`${problem.message} The session goes on as a root task of its own.`, strictest);
  report(`${problem.message} ${membership.required ? SENDS_NOTHING : GOES_ON_APART}`);
  return open({ ...ownRoot(identity, options.agentDir, strictest), locate: false, problem });
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

function ownRoot(identity: SessionIdentity, agentDir: string, category: Category): Seat {
  const { sessionId } = identity;
  const storageRoot = homeStorage(identity, agentDir);
  return rootSeat({ version: TASK_CONTEXT_VERSION, runId: sessionId, storageRoot, rootSessionId: sessionId }, category);
}

function foundSeat(found: Found): Seat | { readonly problem: string } | undefined {
  if (found.type === "none") return undefined;
  return found.type === "found" ? locatedSeat(found.location) : { problem: found.problem };
}

function locatedSeat({ runId, storageRoot, rootSessionId, address, parent }: Location): Seat {
  const context = { version: TASK_CONTEXT_VERSION, runId, storageRoot, rootSessionId } as const;
  return { context, address, named: false, parent, declared: undefined, certain: true, locate: true };
}

/** The agent whose session file a launcher has put this one below; the root when there is none. */
function launchedBy({ identity, disk }: OpenTaskOptions, context: TaskContext): string {
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
function automaticPlace(options: OpenTaskOptions, context: TaskContext, parentAgentName: string | undefined) {
  const name = automaticName(sessionKey(options.identity), options.subagent);
  const parent = parentAgentName === undefined ? launchedBy(options, context) : parentAddress(parentAgentName);
  // Deeper than an address can say, a child stands below the root.
  const isTooDeep = parent.length + 1 + name.length > ADDRESS_MAX_CHARS;
  const under = isTooDeep && parentAgentName === undefined ? ROOT_ADDRESS : parent;
  return { parent: under, address: childAddress(under, name) };
}

function memberSeat(options: OpenTaskOptions, membership: TaskMembership): Seat {
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

function typed(error: unknown): TokenBudgetError {
  return error instanceof TokenBudgetError
    ? error
    : new TokenBudgetError("refused", messageOf(error), { cause: error });
}

type Opened = OpenTaskOptions & { readonly report: (problem: string) => void };

const META = ".meta";

/** The notes folders in a folder: each has its `.meta` beside it, at the latest with the first write. */
function foldersWithMeta(folder: string, disk: DiskCalls = NODE_DISK): readonly string[] {
  try {
    const names = disk.readdirSync(folder).filter((name) => name.endsWith(META));
    return names.map((name) => join(folder, name.slice(0, -META.length)));
  } catch {
    // No child has written any.
    return [];
  }
}

/** One session's place in its root task. */
export class SessionTask {
  readonly context: TaskContext;
  /** The session's own address, as it is spoken of. */
  readonly agent: string;
  /** Its address in the registry; another one only when it is apart. */
  readonly place: string;
  /** Null for the root. */
  readonly parent: string | null;
  /** The agent of pi-subagents that this session is. */
  readonly subagent: string | undefined;
  readonly notesRoot: string;
  readonly historyDir: string;
  readonly registry: Registry;
  /** The session whose file this one's is a copy of: its notes are what this one starts with. */
  readonly copyOf: ForkSource | undefined;
  readonly #options: Opened;
  readonly #seat: Seat;
  readonly #registration: Registration;
  #joining: Promise<void> | undefined;
  #isRegistered = false;
  #staying: Promise<void> | undefined;
  #joinProblem: TokenBudgetError | undefined;
  /** What the registry said of this agent when this process came: another one may run it. */
  readonly #before: AgentState | undefined;

  /** Use `openTask`. */
  constructor(options: Opened, seat: Seat) {
    this.#options = options;
    this.#seat = seat;
    this.subagent = options.subagent;
    this.context = seat.context;
    this.copyOf = seat.copyOf;
    this.registry = new Registry({ ...options, context: seat.context });
    const { pid, start: processStart } = thisProcess(options.disk);
    const runsAt = thisPlace(options.disk);
    this.#registration = {
      sessionKey: sessionKey(options.identity),
      sessionId: options.identity.sessionId,
      sessionFile: options.identity.sessionFile ?? null,
      address: seat.address,
      named: seat.named,
      parent: seat.parent,
      declared: seat.declared,
      created: new Date().toISOString(),
      state: { type: "running", pid, processStart, ...(runsAt && { place: runsAt }) },
      ...(seat.parent !== null && options.subagent !== undefined ? { subagent: options.subagent } : {}),
      ...(seat.parent !== null && options.lacks?.length ? { lacks: options.lacks } : {}),
    };
    const known = this.#known();
    this.#before = known?.state;
    const { layout } = this.registry;
    this.place = (!seat.named && known?.address) || seat.address;
    this.agent = seat.problem ? APART_ADDRESS : this.place;
    this.parent = known?.address === this.place ? known.parent : seat.parent;
    this.notesRoot = known?.notesRoot ?? layout.notes(this.place);
    this.historyDir = known?.historyDir ?? layout.history(this.place);
  }

  /**
   * Registers the session and writes its locator, once. To be awaited before the first durable write, and by a child
   * when it starts. Rejects when the place is not the session's own; then nothing may be written there. A session whose
   * place is certain goes on when the disk fails, with a report, and tries again with its next write.
   */
  join(): Promise<void> {
    this.#joining ??= this.#join().catch((error: unknown) => {
      this.#joining = undefined;
      const isTaken = error instanceof TokenBudgetError && error.code === "name_collision";
      if (isTaken || !this.#seat.certain) {
        if (error instanceof TokenBudgetError) this.#joinProblem = error;
        throw error;
      }
      this.#options.report(messageOf(error));
    });
    return this.#joining;
  }

  /** Whether the registry has the session, by this process. */
  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** Why the session is not in the task that it was given; undefined when it is, or was given none. */
  get problem(): TokenBudgetError | undefined {
    return this.#seat.problem ?? this.#joinProblem;
  }

  /** Whether it goes on by itself, in a storage of its own. */
  get isApart(): boolean {
    return this.#seat.problem !== undefined;
  }

  /** Throws when the session is not in the task that it was given. */
  assertJoined(what: string): void {
    const { problem } = this;
    if (problem === undefined) return;
    const message = `${what} is not to be had here, because this session could not join its root task: ${problem.message}`;
    throw new TokenBudgetError(problem.code, message, { cause: problem });
  }

  /** Every agent of the task, this one included; throws when the registry cannot be read. */
  agents(): readonly TaskAgent[] {
    if (this.isApart) return [this.#apart()];
    return this.#roster().map((agent) => ({ ...agent, running: this.registry.isRunning(agent) }));
  }

  /** Those that a process runs; throws when the registry cannot be read. */
  runningAgents(): readonly TaskAgent[] {
    if (this.isApart) return [this.#apart()];
    const running = this.#roster().filter((agent) => this.registry.isRunning(agent));
    return running.map((agent) => ({ ...agent, running: true }));
  }

  /** Throws `unknown_agent` when the task has none at this address. */
  agentNamed(address: string): TaskAgent {
    if (this.isApart && address === this.agent) return this.#apart();
    if (this.isApart) this.assertJoined(shownValue(address));
    const roster = this.#roster();
    const agent = agentAt(roster, address);
    if (agent) return { ...agent, running: this.registry.isRunning(agent) };
    const others = roster.map((other) => other.address).filter((other) => other !== this.agent);
    const listed = others.slice(-LISTED_AGENTS_MAX).join(", ");
    const more = others.length > LISTED_AGENTS_MAX ? `, and ${others.length - LISTED_AGENTS_MAX} more` : "";
    const known =
      others.length === 0
        ? `there is only ${this.agent}, yourself`
        : `you are ${this.agent}; there are ${listed}${more}`;
    throw new TokenBudgetError("unknown_agent", `No agent ${shownValue(address)} in this root task; ${known}.`);
  }

  /** This agent's own category; throws when the registry cannot be read. */
  category(): Category {
    return this.#self(this.#roster()).category;
  }

  /**
   * Says that this process no longer runs the agent; a session that never joined has nothing to say. One that starts
   * again here at once runs on, unless another process runs it too: that one is found again then.
   */
  async markEnded({ restarts = false }: Ending = {}): Promise<void> {
    await this.#joining?.catch(() => undefined);
    if (!this.#isRegistered) return;
    const left = this.#isOthers(this.#before) ? this.#before : undefined;
    if (restarts && left === undefined) return;
    this.#isRegistered = false;
    await this.#staying;
    try {
      await this.registry.markEnded(this.place, process.pid, left);
    } catch (error) {
      this.#options.report(messageOf(error));
    }
  }

  /**
   * Registers this process again when the one that registered after it is gone: the agent still runs here. Costs a look at
   * the registry while nothing changes.
   */
  async stay(): Promise<void> {
    if (this.#staying) return this.#staying;
    if (!this.#isRegistered || !this.#isLeft(this.#known())) return;
    const registered = this.registry.update((roster) =>
      this.#isLeft(agentOf(roster, this.#registration)) ? this.#with(roster) : roster,
    );
    this.#staying = registered.then(
      () => undefined,
      (error: unknown) => this.#options.report(messageOf(error)),
    );
    await this.#staying;
    this.#staying = undefined;
  }

  /** Whether the registry names no living process for the agent. One that may run elsewhere counts as living. */
  #isLeft(agent: RosterAgent | undefined): boolean {
    return agent !== undefined && (agent.state.type === "ended" || this.registry.fateOf(agent) === "gone");
  }

  /** The id of the process that ran this agent when this one came, and still does; undefined when there is none. */
  get earlierProcess(): number | undefined {
    return this.#isOthers(this.#before) ? this.#before.pid : undefined;
  }

  /** The id of another process that runs this agent too, came it earlier or later. */
  otherProcess(): number | undefined {
    const newest = this.#known()?.state;
    return this.earlierProcess ?? (this.#isOthers(newest) ? newest.pid : undefined);
  }

  /** Whether it goes with its root's end. */
  get isEphemeral(): boolean {
    return isEphemeral(this.context.storageRoot, this.#options.agentDir);
  }

  #isOthers(state: AgentState | undefined): state is Extract<AgentState, { type: "running" }> {
    return state?.type === "running" && state.pid !== process.pid && this.registry.isRunningState(state);
  }

  /** Where other agents of the task have written notes, by their folders: one look for the children's. */
  otherNotes(): readonly string[] {
    const { childNotes } = this.registry.layout;
    const roots = [this.registry.layout.notes(ROOT_ADDRESS), ...foldersWithMeta(childNotes, this.#options.disk)];
    return roots.filter((root) => root !== this.notesRoot);
  }

  /** Removes what killed processes left behind. */
  sweep(): void {
    this.registry.sweep();
    new Locators(this.#options).sweep(this.context.storageRoot);
  }

  /** Why this session cannot have its place, and the strictest category it may be of; undefined when it can. */
  refusal(): { readonly problem: TokenBudgetError; readonly category: Category } | undefined {
    if (this.#options.membership && !this.registry.holdsTask())
      return { problem: noSuchTask(this.context), category: null };
    let roster: Roster;
    try {
      roster = this.registry.read();
    } catch (error) {
      // Whether the place is its own stays open: reads of others and uncertain writes are refused until that is known.
      this.#options.report(messageOf(error));
      return undefined;
    }
    try {
      this.#with(roster);
      return undefined;
    } catch (error) {
      const { parent, declared } = this.#seat;
      const inherited = parent === null ? null : (agentAt(roster, parent)?.category ?? null);
      const category = declared === null ? null : (inherited ?? declared ?? null);
      return { problem: typed(error), category };
    }
  }

  async #join(): Promise<void> {
    const { storageRoot } = this.context;
    // Before anything that could be committed lies there; whether a work tree is around it may change later.
    if (!this.isEphemeral) keepOutOfGit(storageRoot, this.#options.disk);
    const agent = await this.registry.register(this.#registration, (roster) => this.#withParent(roster));
    if (agent.address !== this.place) {
      const message = `This session became the agent ${agent.address} in another process. Start it again.`;
      throw new TokenBudgetError("name_collision", message);
    }
    this.#isRegistered = true;
    this.#joinProblem = undefined;
    if (this.#seat.locate) await this.#locate(agent);
  }

  async #locate({ address, parent }: RosterAgent): Promise<void> {
    const { identity, report } = this.#options;
    const { sessionId, sessionFile = null, createdAt: sessionCreated } = identity;
    const { runId, rootSessionId, storageRoot } = this.context;
    const task = { runId, rootSessionId, storageRoot, address, parent };
    try {
      await new Locators(this.#options).save(identity, { sessionId, sessionFile, sessionCreated, ...task });
    } catch (error) {
      report(`${messageOf(error)} Until then the session goes on, and is not found again in this root task.`);
    }
  }

  /** The registry's agents as they are with this session in it. */
  #roster(): Roster {
    return this.#with(this.registry.read());
  }

  #with(roster: Roster): Roster {
    return withSession(this.#withParent(roster), this.#registration, this.registry);
  }

  #withParent(roster: Roster): Roster {
    const { contentOf } = this.#options;
    return contentOf ? withParentContent(roster, this.#registration, this.registry, contentOf) : roster;
  }

  /** The session in its own storage, by the name that it goes by. */
  #apart(): TaskAgent {
    return { ...this.#self(this.#roster()), address: this.agent, running: true };
  }

  #self(roster: Roster): RosterAgent {
    const self = agentOf(roster, this.#registration);
    if (self === undefined) throw new Error("a session is in its own roster");
    return self;
  }

  #known(): RosterAgent | undefined {
    try {
      return agentOf(this.registry.read(), this.#registration);
    } catch {
      // Reported where it matters, by `refusal`.
      return undefined;
    }
  }
}
