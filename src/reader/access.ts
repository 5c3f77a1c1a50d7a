// How a program without a session reads the content of agents: everything passes `mayRead`, as between agents.
import { OwnerCategories } from "../category/owners.ts";
import { shownValue, TokenBudgetError } from "../errors.ts";
import type { ItemSource } from "../history/source.ts";
import { OpenJournals } from "../journal/reader.ts";
import { agentInfo } from "../launcher.ts";
import { NotesStore } from "../notes/store.ts";
import { isAddress, ROOT_ADDRESS } from "../task/addresses.ts";
import { type Category, mayRead } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";
import { noSuchTask, Registry } from "../task/registry.ts";
import { agentAt, type RosterAgent } from "../task/roster.ts";
import type { ReadableAgent } from "./types.ts";

const AGENTS_NAMED_MAX = 10;

export class ReadAccess {
  readonly category: Category;
  readonly #registry: Registry;
  readonly #owners = new OwnerCategories();
  readonly #journals = new OpenJournals();

  constructor(context: TaskContext, category: Category) {
    this.category = category;
    this.#registry = new Registry({ context });
    this.#assertThere();
  }

  agents(): ReadableAgent[] {
    return this.#roster().map((agent) => {
      const content = this.#owners.of(agent);
      const running = this.#registry.isRunning(agent);
      return { ...agentInfo({ ...agent, running }, content), readable: this.#mayRead(content) };
    });
  }

  history<T>(agentName: string, read: (source: ItemSource) => T): Promise<T> {
    return this.#of(agentName, async (agent) => read(await this.#journals.read(agent)));
  }

  notes<T>(agentName: string, read: (notes: NotesStore) => T): Promise<T> {
    return this.#of(agentName, ({ notesRoot: root, address: agent }) =>
      read(new NotesStore({ root, agent, lister: "notes.list" })),
    );
  }

  /** Judged again after reading: the agent may have got a category in the meantime. */
  async #of<T>(agentName: string, read: (agent: RosterAgent) => T | Promise<T>): Promise<T> {
    const address = addressOf(agentName);
    const found = await read(this.#readable(address));
    this.#readable(address);
    return found;
  }

  #readable(address: string): RosterAgent {
    const roster = this.#roster();
    const agent = agentAt(roster, address);
    if (agent === undefined) throw unknownAgent(address, roster);
    const content = this.#owners.of(agent);
    if (this.#mayRead(content)) return agent;
    const reason =
      content === undefined
        ? "the registry and its own log disagree on what its content is, so nobody may read it. Decide it with setAgentCategory"
        : "its content is of a category, and this reader is of another or of none. A program that may see it opens the task with openTask(context, { category })";
    throw new TokenBudgetError("refused", `${address} is restricted: ${reason}.`);
  }

  #mayRead(content: Category | undefined): boolean {
    return mayRead(this.category, content);
  }

  #roster(): readonly RosterAgent[] {
    this.#assertThere();
    return this.#registry.read();
  }

  #assertThere(): void {
    if (this.#registry.holdsTask()) return;
    throw noSuchTask(this.#registry.context);
  }
}

function addressOf(agentName: string): string {
  const address = agentName.startsWith("/") ? agentName : `${ROOT_ADDRESS}/${agentName}`;
  if (isAddress(address)) return address;
  const message = `agentName is ${shownValue(agentName)}; give an address as agents() answers it: ${ROOT_ADDRESS}, ${ROOT_ADDRESS}/reviewer, or reviewer for the same.`;
  throw new TokenBudgetError("invalid_address", message);
}

function unknownAgent(address: string, roster: readonly RosterAgent[]): TokenBudgetError {
  const names = roster.map((agent) => agent.address);
  const more = names.length > AGENTS_NAMED_MAX ? `, and ${names.length - AGENTS_NAMED_MAX} more` : "";
  const known =
    names.length === 0
      ? "none has said anything yet; try again later"
      : `there are ${names.slice(-AGENTS_NAMED_MAX).join(", ")}${more}`;
  return new TokenBudgetError("unknown_agent", `No agent ${shownValue(address)} in this root task; ${known}.`);
}
