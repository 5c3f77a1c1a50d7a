// What this process writes about its agent in the registry: it joins, joins again when another process that had taken the
// agent over is gone, and ends. The first durable write of a session joins it (a note, a journal, a child), so that a session
// that only talks leaves no files.
import { messageOf, TokenBudgetError } from "../errors.ts";
import { keepOutOfGit } from "../storage/git-ignore.ts";
import { thisPlace, thisProcess } from "../storage/processes.ts";
import type { Category } from "./category.ts";
import { isEphemeral, sessionKey } from "./layout.ts";
import { Locators } from "./locator.ts";
import type { Registry } from "./registry.ts";
import {
  type AgentState,
  agentOf,
  type Registration,
  type Roster,
  type RosterAgent,
  withParentContent,
  withSession,
} from "./roster.ts";
import type { Seat, SeatOptions } from "./seats.ts";

export interface PresenceOptions extends SeatOptions {
  /** What an agent's content is by its entry and its own log; undefined when that cannot be known. Default: its entry. */
  readonly contentOf?: ((agent: RosterAgent) => Category | undefined) | undefined;
  /** Tools of this package that the session runs without. */
  readonly lacks?: readonly string[] | undefined;
  /** Called once for each problem; the session continues. */
  readonly report: (problem: string) => void;
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
}

export interface Ending {
  /** Whether the session starts again at once in this process, as in a reload. */
  readonly restarts?: boolean;
}

type Running = Extract<AgentState, { type: "running" }>;

function registrationOf(options: PresenceOptions, seat: Seat): Registration {
  const { identity, subagent, lacks, disk } = options;
  const { parent } = seat;
  const { pid, start: processStart } = thisProcess(disk);
  const place = thisPlace(disk);
  return {
    sessionKey: sessionKey(identity),
    sessionId: identity.sessionId,
    sessionFile: identity.sessionFile ?? null,
    address: seat.address,
    named: seat.named,
    parent,
    declared: seat.declared,
    created: new Date().toISOString(),
    state: { type: "running", pid, processStart, ...(place && { place }) },
    ...(parent !== null && subagent !== undefined ? { subagent } : {}),
    ...(parent !== null && lacks?.length ? { lacks } : {}),
  };
}

export class Presence {
  /** What the registry said of this agent when this process came: another one may run it. */
  readonly known: RosterAgent | undefined;
  /** The agent's address in the registry. */
  readonly place: string;
  readonly #options: PresenceOptions;
  readonly #seat: Seat;
  readonly #registry: Registry;
  readonly #registration: Registration;
  #joining: Promise<void> | undefined;
  #staying: Promise<void> | undefined;
  #isRegistered = false;
  #problem: TokenBudgetError | undefined;

  constructor(options: PresenceOptions, seat: Seat, registry: Registry) {
    this.#options = options;
    this.#seat = seat;
    this.#registry = registry;
    this.#registration = registrationOf(options, seat);
    this.known = this.#registered();
    this.place = (!seat.named && this.known?.address) || seat.address;
  }

  /** Whether the registry has the session, by this process. */
  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** Why the last attempt to join found the place taken, or not certain to be the session's own. */
  get problem(): TokenBudgetError | undefined {
    return this.#problem;
  }

  /** The session's own entry. */
  selfIn(roster: Roster): RosterAgent | undefined {
    return agentOf(roster, this.#registration);
  }

  /** The roster as it would be with the session registered. Throws what joining would throw. */
  withSelf(roster: Roster): Roster {
    return withSession(this.#withParent(roster), this.#registration, this.#registry);
  }

  /**
   * Registers the session and writes its locator, once. To be awaited before the first durable write, and by a child
   * when it starts. Rejects when the place is not the session's own; then nothing may be written there. A session whose
   * place is certain continues when the disk fails, with a report, and tries again with its next write.
   */
  join(): Promise<void> {
    this.#joining ??= this.#join().catch((error: unknown) => {
      this.#joining = undefined;
      const isTaken = error instanceof TokenBudgetError && error.code === "name_collision";
      if (isTaken || !this.#seat.certain) {
        if (error instanceof TokenBudgetError) this.#problem = error;
        throw error;
      }
      this.#options.report(messageOf(error));
    });
    return this.#joining;
  }

  async #join(): Promise<void> {
    const { disk, agentDir } = this.#options;
    const { storageRoot } = this.#seat.context;
    // Before anything that could be committed lies there; whether a work tree is around it may change later.
    if (!isEphemeral(storageRoot, agentDir)) keepOutOfGit(storageRoot, disk);
    const agent = await this.#registry.register(this.#registration, (roster) => this.#withParent(roster));
    if (agent.address !== this.place) {
      const message = `This session became the agent ${agent.address} in another process. Start it again.`;
      throw new TokenBudgetError("name_collision", message);
    }
    this.#isRegistered = true;
    this.#problem = undefined;
    if (this.#seat.locate) await this.#locate(agent);
  }

  async #locate({ address, parent }: RosterAgent): Promise<void> {
    const { identity, report } = this.#options;
    const { sessionId, sessionFile = null, createdAt: sessionCreated } = identity;
    const { runId, rootSessionId, storageRoot } = this.#seat.context;
    const task = { runId, rootSessionId, storageRoot, address, parent };
    try {
      await new Locators(this.#options).save(identity, { sessionId, sessionFile, sessionCreated, ...task });
    } catch (error) {
      report(`${messageOf(error)} Until then the session continues, and is not found again in this root task.`);
    }
  }

  /**
   * Registers this process again when the one that registered after it is gone: the agent still runs here. Costs a look at
   * the registry while nothing changes.
   */
  async stay({ isAtWork = false } = {}): Promise<void> {
    if (this.#staying) return this.#staying;
    const isLeft = (roster: Roster) => this.#isLeft(this.selfIn(roster), isAtWork);
    try {
      if (!this.#isRegistered || !isLeft(this.#registry.read())) return;
    } catch {
      // Reported where it matters, by `refusal`.
      return;
    }
    const registered = this.#registry.update((roster) => (isLeft(roster) ? this.withSelf(roster) : roster));
    this.#staying = registered.then(
      () => undefined,
      (error: unknown) => this.#options.report(messageOf(error)),
    );
    await this.#staying;
    this.#staying = undefined;
  }

  /**
   * Whether the registry names no living process for the agent. One that may run elsewhere counts as living. A registry that
   * was removed is made again by a session at work, and not while it is being removed.
   */
  #isLeft(agent: RosterAgent | undefined, isAtWork: boolean): boolean {
    if (agent === undefined) return isAtWork;
    return agent.state.type === "ended" || this.#registry.fateOf(agent) === "gone";
  }

  /**
   * Says that this process no longer runs the agent; a session that never joined has nothing to say. One that starts
   * again here at once runs on, unless another process runs it too: that one is found again then.
   */
  async markEnded({ restarts = false }: Ending = {}): Promise<void> {
    await this.#joining?.catch(() => undefined);
    if (!this.#isRegistered) return;
    const before = this.known?.state;
    const left = this.#isOthers(before) ? before : undefined;
    if (restarts && left === undefined) return;
    this.#isRegistered = false;
    await this.#staying;
    try {
      await this.#registry.markEnded(this.place, process.pid, left);
    } catch (error) {
      this.#options.report(messageOf(error));
    }
  }

  /** The id of the process that ran this agent when this one came, and still does; undefined when there is none. */
  get earlierProcess(): number | undefined {
    const before = this.known?.state;
    return this.#isOthers(before) ? before.pid : undefined;
  }

  /** The id of another process that runs this agent too, whether it came earlier or later. */
  otherProcess(): number | undefined {
    const newest = this.#registered()?.state;
    return this.earlierProcess ?? (this.#isOthers(newest) ? newest.pid : undefined);
  }

  #isOthers(state: AgentState | undefined): state is Running {
    return state?.type === "running" && state.pid !== process.pid && this.#registry.isRunningState(state);
  }

  #withParent(roster: Roster): Roster {
    const { contentOf } = this.#options;
    return contentOf ? withParentContent(roster, this.#registration, this.#registry, contentOf) : roster;
  }

  #registered(): RosterAgent | undefined {
    try {
      return this.selfIn(this.#registry.read());
    } catch {
      // Reported where it matters, by `refusal`.
      return undefined;
    }
  }
}
