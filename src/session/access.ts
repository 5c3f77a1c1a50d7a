// One session among the agents of its root task: whose notes and history it may read and write, and its own journal,
// from which the others read. Every path between agents goes through `canRead` and `assertFlow` here.
import { setTimeout as delay } from "node:timers/promises";
import type { OwnerCategories } from "../category/owners.ts";
import { messageOf, TokenBudgetError } from "../errors.ts";
import type { ItemSource } from "../history/source.ts";
import { OpenJournals } from "../journal/reader.ts";
import { NotesStore } from "../notes/store.ts";
import { headOf, oneLine, shorten } from "../storage/text.ts";
import { isBelow, resolveAddress } from "../task/addresses.ts";
import { goalIn } from "../task/brief.ts";
import { assertFlow, type Category, canRead, mayRead } from "../task/category.ts";
import type { SessionTask } from "../task/membership.ts";
import type { TaskAgent } from "../task/roster.ts";
import type { RunningChild } from "../window/bootstrap.ts";

/** Agents named in one answer. */
const LISTED_AGENTS_MAX = 50;
/** Agents whose first request is read and named in one answer, the newest. */
const FIRST_REQUESTS_MAX = 20;
/** How many items are searched for the beginning of a child's task. */
const TASK_SEARCH_ROWS = 50;
const TASK_LINE_CODE_POINTS = 100;
/** A request or a list waits no longer than this for what its children were asked; their journals may be large. */
const MEETING_MAX_MS = 250;

export interface AgentAccessParts {
  readonly task: SessionTask;
  /** What the other agents' content is. */
  readonly owners: OwnerCategories;
  readonly ownNotes: NotesStore;
  /** The live branch, brought up to the log. */
  readonly ownHistory: () => ItemSource;
  /** What this session's content is; throws when that cannot be known. */
  readonly category: () => Category;
  readonly maxFileBytes: () => number;
}

/** Where a note is written. Notes that may be written but not read: then the answer says nothing of what is there. */
export interface NotesTarget {
  readonly notes: NotesStore;
  readonly readable: boolean;
}

/** Whose first requests are read. */
export type Met = "running children" | "listed agents";

/** Another agent, as lists show it. */
export interface ListedAgent {
  readonly address: string;
  /** Its content is not for this agent: nothing else of it is shown to a model. */
  readonly isRestricted: boolean;
  readonly running: boolean;
  /** The first line of what it was asked first; undefined when that is not known, or not for this agent. */
  readonly request: string | undefined;
  /** The agent of pi-subagents that it is. */
  readonly subagent: string | undefined;
  /** Tools of this package that it runs without. */
  readonly lacks: readonly string[];
}

export class AgentAccess {
  readonly #parts: AgentAccessParts;
  readonly #journals = new OpenJournals();
  /** First lines of what agents were asked first, which never change; null for one that ended without a request. */
  readonly #taskLines = new Map<string, string | null>();
  /** The newest walk over other agents; each begins when the one before it has ended. */
  #meeting: Promise<void> = Promise.resolve();
  /** Walks that have not begun, shared by all who ask for the same. */
  readonly #waiting = new Map<Met, Promise<void>>();

  constructor(parts: AgentAccessParts) {
    this.#parts = parts;
  }

  get agent(): string {
    return this.#parts.task.agent;
  }

  /** The history of an agent; this agent's own without a name. */
  async historyOf(agentName: string | undefined): Promise<ItemSource> {
    const address = resolveAddress(this.agent, agentName);
    if (address === this.agent) return this.#parts.ownHistory();
    const source = await this.#journals.read(this.#readable(address));
    // What it reads may have become content of a category while it was read.
    this.#readable(address);
    return source;
  }

  notesToRead(address: string): NotesStore {
    const { task, ownNotes } = this.#parts;
    // A place that another session took meanwhile is not this one's.
    if (address === this.agent && !task.isApart) task.assertJoined(address);
    if (address === this.agent) return ownNotes;
    return this.#notesOf(this.#readable(address));
  }

  /** The session is registered before its first note is written. */
  async notesToWrite(address: string): Promise<NotesTarget> {
    const { task, ownNotes, category } = this.#parts;
    if (address === this.agent) {
      await task.join();
      return { notes: ownNotes, readable: true };
    }
    const other = task.agentNamed(address);
    const own = category();
    const content = this.contentOf(other);
    // If registry and log disagree, refuse.
    if (content === undefined) throw restricted(address);
    assertFlow(own, content);
    await task.join();
    return { notes: this.#notesOf(other), readable: canRead(own, content) };
  }

  /** What an agent's content is; undefined when that cannot be known, and then no agent may read it. */
  contentOf(agent: TaskAgent): Category | undefined {
    const { owners, category } = this.#parts;
    if (agent.address !== this.agent) return owners.of(agent);
    try {
      return category();
    } catch {
      return undefined;
    }
  }

  /** Agents by address, this one first; those that may not be read are marked. Throws when they cannot be known. */
  addresses(): readonly string[] {
    const { agents, omitted } = this.others();
    const shown = agents.map(({ address, isRestricted }) => (isRestricted ? shownRestricted(address) : address));
    return [this.agent, ...shown, ...(omitted === 0 ? [] : [`(${omitted} older agents left out)`])];
  }

  /** The same for an answer that must not fail: this agent and the reason, when the others cannot be known. */
  visible(): { readonly agents: readonly string[]; readonly problems: readonly string[] } {
    try {
      return { agents: this.addresses(), problems: [] };
    } catch (error) {
      return { agents: [this.agent], problems: [messageOf(error)] };
    }
  }

  /** The newest of the other agents, in the order of registration. Throws when they cannot be known. */
  others(): { readonly agents: readonly ListedAgent[]; readonly omitted: number } {
    const own = this.#parts.category();
    const others = this.#parts.task.agents().filter(({ address }) => address !== this.agent);
    const newest = others.slice(-LISTED_AGENTS_MAX);
    const agents = newest.map((other) => {
      const { address, running, subagent, lacks = [] } = other;
      const isRestricted = !mayRead(own, this.contentOf(other));
      const request = isRestricted ? undefined : (this.#taskLines.get(address) ?? undefined);
      return { address, isRestricted, running, request, subagent, lacks };
    });
    return { agents, omitted: others.length - newest.length };
  }

  /** What the newest listed agents were asked first, by address, as far as it is known. Throws when the agents cannot be known. */
  firstRequests(): Readonly<Record<string, string>> {
    const newest = this.others().agents.slice(-FIRST_REQUESTS_MAX);
    return Object.fromEntries(newest.flatMap(({ address, request }) => (request ? [[address, request]] : [])));
  }

  /** Agents below this one that have not ended, the newest first; none when the registry cannot be read. */
  children(): readonly RunningChild[] {
    try {
      const own = this.#parts.category();
      return this.#running().map((child) => {
        const task = this.#taskLines.get(child.address) ?? undefined;
        if (mayRead(own, this.contentOf(child))) return { address: child.address, task };
        return { address: shownRestricted(child.address), task: undefined };
      });
    } catch {
      // Reads of others report what is wrong; a window opens anyway.
      return [];
    }
  }

  /**
   * Reads what the running children were asked, or the newest agents that lists show, within the time that a request or a
   * list can wait. It never throws.
   */
  meet(which: Met): Promise<void> {
    return Promise.race([this.#meetInTurn(which), delay(MEETING_MAX_MS, undefined, { ref: false })]);
  }

  /** One walk at a time: few journals are kept open, and two walks would take each other's away. */
  #meetInTurn(which: Met): Promise<void> {
    const waiting = this.#waiting.get(which);
    if (waiting) return waiting;
    const meeting = this.#meeting.then(() => {
      this.#waiting.delete(which);
      return this.#meetEach(which);
    });
    this.#waiting.set(which, meeting);
    this.#meeting = meeting;
    return meeting;
  }

  async #meetEach(which: Met): Promise<void> {
    for (const agent of this.#toMeet(which)) {
      try {
        const line = taskLine(await this.#journals.read(agent));
        if (line !== undefined || !agent.running) this.#taskLines.set(agent.address, line ?? null);
      } catch {
        // An agent whose journal cannot be read is listed by its address alone.
      }
    }
  }

  /** The agents whose first request is still to be read; none when the agents cannot be known. */
  #toMeet(which: Met): readonly TaskAgent[] {
    try {
      const own = this.#parts.category();
      const agents = which === "running children" ? this.#running() : this.#newest();
      return agents.filter((agent) => {
        const known = this.#taskLines.get(agent.address);
        const isMet = known !== undefined && (known !== null || !agent.running);
        return !isMet && mayRead(own, this.contentOf(agent));
      });
    } catch {
      return [];
    }
  }

  #readable(address: string): TaskAgent {
    const { task, category } = this.#parts;
    const other = task.agentNamed(address);
    if (mayRead(category(), this.contentOf(other))) return other;
    throw restricted(address);
  }

  #notesOf({ notesRoot: root, address: agent }: TaskAgent): NotesStore {
    return new NotesStore({ root, agent, maxFileBytes: this.#parts.maxFileBytes() });
  }

  /** Agents that lists show with their first request, the newest first. */
  #newest(): readonly TaskAgent[] {
    const others = this.#parts.task.agents().filter(({ address, parent }) => address !== this.agent && parent !== null);
    return others.slice(-FIRST_REQUESTS_MAX).reverse();
  }

  #running(): readonly TaskAgent[] {
    const running = this.#parts.task.runningAgents();
    return running.filter(({ address }) => isBelow(address, this.agent)).reverse();
  }
}

/** An agent that may not be read, as lists show it. */
function shownRestricted(address: string): string {
  return `${address} (restricted)`;
}

function restricted(address: string): TokenBudgetError {
  return new TokenBudgetError("refused", `${address} is restricted: its content is not for this agent. Do without it.`);
}

/** The first line of what a child was asked first; of a dispatched task, of its goal. */
function taskLine(source: ItemSource): string | undefined {
  const end = Math.min(source.rows.length, TASK_SEARCH_ROWS);
  for (let at = 0; at < end; at++) {
    const row = source.rows.at(at);
    if (!row?.head.fromUser) continue;
    const prompt = source.text(row).points.text.trimStart();
    const text = (goalIn(prompt) ?? prompt).trimStart();
    const [line = ""] = headOf(text, TASK_LINE_CODE_POINTS * 4).split("\n", 1);
    return shorten(oneLine(line), TASK_LINE_CODE_POINTS).toWellFormed();
  }
  return undefined;
}
