// One session's place in its root task, and what it may ask of the task's other agents. The place is decided when the session
// starts (seats.ts), without writing anything; what this process writes about it is in presence.ts.
import { join } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../errors.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { APART_ADDRESS, ROOT_ADDRESS } from "./addresses.ts";
import type { Category } from "./category.ts";
import type { TaskContext, TaskMembership } from "./context.ts";
import { isEphemeral } from "./layout.ts";
import { Locators } from "./locator.ts";
import { Presence, type PresenceOptions } from "./presence.ts";
import { noSuchTask, Registry } from "./registry.ts";
import { agentAt, type Roster, type RosterAgent, type TaskAgent } from "./roster.ts";
import type { ForkSource, Seat } from "./seats.ts";

export interface OpenTaskOptions extends Omit<PresenceOptions, "report"> {
  /** Joins the session to another one's task; checked by `parseMembership`. */
  readonly membership?: TaskMembership | undefined;
  /** Called once for each problem; the session continues. */
  readonly report?: ((problem: string) => void) | undefined;
}

const LISTED_AGENTS_MAX = 10;

function typed(error: unknown): TokenBudgetError {
  return error instanceof TokenBudgetError
    ? error
    : new TokenBudgetError("refused", messageOf(error), { cause: error });
}

type Opened = OpenTaskOptions & PresenceOptions;

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
  /** The session's own address, as it is shown. */
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
  /** What this process writes to the registry. */
  readonly presence: Presence;
  /** The session whose file this one's is a copy of: its notes are what this one starts with. */
  readonly copyOf: ForkSource | undefined;
  readonly #options: Opened;
  readonly #seat: Seat;
  /** The registry's agents as they were read last, and as they are with this session. */
  #joined: { readonly read: Roster; readonly roster: Roster } | undefined;

  /** Use `openTask`. */
  constructor(options: Opened, seat: Seat) {
    this.#options = options;
    this.#seat = seat;
    this.subagent = options.subagent;
    this.context = seat.context;
    this.copyOf = seat.copyOf;
    this.registry = new Registry({ ...options, context: seat.context });
    this.presence = new Presence(options, seat, this.registry);
    const { known, place } = this.presence;
    const { layout } = this.registry;
    this.place = place;
    this.agent = seat.problem ? APART_ADDRESS : place;
    this.parent = known?.address === place ? known.parent : seat.parent;
    this.notesRoot = known?.notesRoot ?? layout.notes(place);
    this.historyDir = known?.historyDir ?? layout.history(place);
  }

  /** As `Presence.join`. */
  join(): Promise<void> {
    return this.presence.join();
  }

  /** Why the session is not in the task that it was given; undefined when it is, or was given none. */
  get problem(): TokenBudgetError | undefined {
    return this.#seat.problem ?? this.presence.problem;
  }

  /** Whether it runs apart from its task, in a storage of its own. */
  get isApart(): boolean {
    return this.#seat.problem !== undefined;
  }

  /** Throws when the session is not in the task that it was given. */
  assertJoined(what: string): void {
    const { problem } = this;
    if (problem === undefined) return;
    const message = `${what} is not available here, because this session could not join its root task: ${problem.message}`;
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
    return this.#self().category;
  }

  /** Whether its storage is removed when its root ends. */
  get isEphemeral(): boolean {
    return isEphemeral(this.context.storageRoot, this.#options.agentDir);
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
      this.presence.withSelf(roster);
      return undefined;
    } catch (error) {
      const { parent, declared } = this.#seat;
      const inherited = parent === null ? null : (agentAt(roster, parent)?.category ?? null);
      const category = declared === null ? null : (inherited ?? declared ?? null);
      return { problem: typed(error), category };
    }
  }

  /** The registry's agents as they are with this session in it. */
  #roster(): Roster {
    const read = this.registry.read();
    if (this.#joined?.read === read) return this.#joined.roster;
    const roster = this.presence.withSelf(read);
    // What a session that is not registered would be depends on its parent's log too.
    const isSettled = this.#seat.parent === null || this.presence.selfIn(read) !== undefined;
    this.#joined = isSettled ? { read, roster } : undefined;
    return roster;
  }

  /** The session in its own storage, under its name there. */
  #apart(): TaskAgent {
    return { ...this.#self(), address: this.agent, running: true };
  }

  #self(): RosterAgent {
    const self = this.presence.selfIn(this.#roster());
    if (self === undefined) throw new Error("a session is in its own roster");
    return self;
  }
}
