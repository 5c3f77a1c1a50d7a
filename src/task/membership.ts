// One session's life in its root task: it joins, is seen to run, and ends. Its place is decided when the session starts
// (seats.ts), without writing anything. The registry and the locator are written with the session's first durable write (a
// note, a journal, a child), so that a session that only talks leaves no files. Longer than other files because the agents
// of the task, as this session sees them, follow from its own registration.
import { join } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../errors.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { keepOutOfGit } from "../storage/git-ignore.ts";
import { thisPlace, thisProcess } from "../storage/processes.ts";
import { APART_ADDRESS, ROOT_ADDRESS } from "./addresses.ts";
import type { Category } from "./category.ts";
import type { TaskContext, TaskMembership } from "./context.ts";
import { isEphemeral, sessionKey } from "./layout.ts";
import { Locators } from "./locator.ts";
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
import type { ForkSource, Seat, SeatOptions } from "./seats.ts";

export interface OpenTaskOptions extends SeatOptions {
  /** Joins the session to another one's task; checked by `parseMembership`. */
  readonly membership?: TaskMembership | undefined;
  /** What an agent's content is by its entry and its own log; undefined when that cannot be known. Default: its entry. */
  readonly contentOf?: ((agent: RosterAgent) => Category | undefined) | undefined;
  /** Tools of this package that the session runs without. */
  readonly lacks?: readonly string[] | undefined;
  /** Told of each problem once; the session goes on. */
  readonly report?: ((problem: string) => void) | undefined;
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
}

export interface Ending {
  /** Whether the session starts again at once in this process, as in a reload. */
  readonly restarts?: boolean;
}

const LISTED_AGENTS_MAX = 10;

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
  /** The registry's agents as they were read last, and as they are with this session. */
  #joined: { readonly read: Roster; readonly roster: Roster } | undefined;
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
  async stay({ isAtWork = false } = {}): Promise<void> {
    if (this.#staying) return this.#staying;
    const isLeft = (roster: Roster) => this.#isLeft(agentOf(roster, this.#registration), isAtWork);
    try {
      if (!this.#isRegistered || !isLeft(this.registry.read())) return;
    } catch {
      // Reported where it matters, by `refusal`.
      return;
    }
    const registered = this.registry.update((roster) => (isLeft(roster) ? this.#with(roster) : roster));
    this.#staying = registered.then(
      () => undefined,
      (error: unknown) => this.#options.report(messageOf(error)),
    );
    await this.#staying;
    this.#staying = undefined;
  }

  /**
   * Whether the registry names no living process for the agent. One that may run elsewhere counts as living; a registry
   * that somebody has removed is made again by who works on, and not under the hands of who removed it.
   */
  #isLeft(agent: RosterAgent | undefined, isAtWork: boolean): boolean {
    if (agent === undefined) return isAtWork;
    return agent.state.type === "ended" || this.registry.fateOf(agent) === "gone";
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
    const read = this.registry.read();
    if (this.#joined?.read === read) return this.#joined.roster;
    const roster = this.#with(read);
    // What a session that is not registered would be depends on its parent's log too.
    const isSettled = this.#seat.parent === null || agentOf(read, this.#registration) !== undefined;
    this.#joined = isSettled ? { read, roster } : undefined;
    return roster;
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
