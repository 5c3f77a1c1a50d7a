// A small world for the rule of categories: agents with logs and content, a registry file that anybody may spoil, and
// everything agents and people can do with them, by the package's own functions. What each piece of content really is
// is kept apart from what the package thinks it is.
import { expect } from "vitest";
import {
  type Classification,
  classify,
  isOutdated,
  ownerCategory,
  type RegistryCategory,
} from "../../src/category/classification.ts";
import { CATEGORY_ENTRY, categoryIn, type LogCategory } from "../../src/category/log.ts";
import { createRouter } from "../../src/category/router.ts";
import { CategoryModelError, TokenBudgetError } from "../../src/errors.ts";
import { assertFlow, type Category, mayRead, taskCategoryChoice } from "../../src/task/category.ts";
import type { TaskFacts } from "../../src/task/roster.ts";
import {
  agentAt,
  type Registration,
  type Roster,
  type RosterAgent,
  withCategory,
  withLogged,
  withParentContent,
  withSession,
} from "../../src/task/roster.ts";

/** Where the registry is kept. `read` throws when it is damaged or breaks a rule. */
export interface RegistryFile {
  read(): Roster;
  change(change: (roster: Roster) => Roster): Promise<void>;
  text(): string;
  spoil(text: string): void;
}

export const TASK: TaskFacts = {
  rootSessionId: "r",
  notesOf: (address) => `/s/notes/${address.length}`,
  historyOf: (address) => `/s/history/${address.length}`,
};

/** A registry file of no use. */
export const BROKEN = "{";

export type Step =
  | { readonly do: "dispatch" | "start"; readonly by: number; readonly declared: Category | undefined }
  | { readonly do: "work" | "send"; readonly by: number }
  | { readonly do: "read" | "write"; readonly by: number; readonly other: number }
  | { readonly do: "decide"; readonly by: number; readonly category: Category }
  | { readonly do: "spoil"; readonly edits: readonly Edit[] }
  | { readonly do: "break" | "repair" };

export interface Edit {
  readonly at: number;
  readonly category?: Category;
  readonly categoryOwn?: boolean;
  readonly parent?: number;
  readonly forgetDecision?: boolean;
}

const VIEWERS: readonly Category[] = [null, "s", "t"];
const LABELLED = { provider: "p", id: "s-model" };
const T_LABELLED = { provider: "p", id: "t-model" };
const FREE = { provider: "p", id: "free" };
const route = createRouter({
  categories: new Map([
    ["s", ["p/s-model"]],
    ["t", ["p/t-model"]],
  ]),
  palette: () => [FREE, T_LABELLED, LABELLED],
  lastResort: () => FREE,
});
const RECEIVES: Readonly<Record<string, Category>> = { "s-model": "s", "t-model": "t", free: null };

export class World {
  readonly #file: RegistryFile;
  readonly #addresses: string[] = ["/root"];
  readonly #logs = new Map<string, LogCategory>();
  /** The categories of what an agent has written down or been told. */
  readonly #content = new Map<string, Set<string>>();
  #good: string | undefined;
  #now = Date.parse("2025-01-02T03:04:05.000Z");
  /** How often something happened that the rule had to decide; a world in which nothing does shows nothing. */
  readonly seen = { refused: 0, secrets: 0, spoiled: 0 };

  constructor(file: RegistryFile) {
    this.#file = file;
  }

  async begin(category: Category): Promise<void> {
    await this.#file.change((roster) => withSession(roster, this.#registration("/root", null, category), TASK));
  }

  async run(step: Step): Promise<void> {
    this.#now += 1_000;
    try {
      await this.#run(step);
    } catch (error) {
      if (!(error instanceof TokenBudgetError)) throw error;
      this.seen.refused++;
    }
    this.check();
  }

  /** Nobody holds content that its model or its readers may not see. */
  check(): void {
    for (const address of this.#addresses) {
      const secrets = [...(this.#content.get(address) ?? [])];
      const classification = this.#classification(address);
      if (classification.type === "known")
        for (const secret of secrets) expect([address, classification.category]).toEqual([address, secret]);
      const registered = this.#registered(address);
      if (registered.type === "unreadable") continue;
      const owner = ownerCategory(registered, this.#log(address));
      for (const viewer of VIEWERS) {
        if (mayRead(viewer, owner)) for (const secret of secrets) expect(viewer).toBe(secret);
      }
    }
  }

  async #run(step: Step): Promise<void> {
    switch (step.do) {
      case "dispatch":
        return this.#dispatch(this.#agent(step.by), step.declared);
      case "start":
        return this.#start(this.#agent(step.by), step.declared);
      case "work":
        return this.#work(this.#agent(step.by));
      case "send":
        return this.#send(this.#agent(step.by));
      case "read":
        return this.#read(this.#agent(step.by), this.#agent(step.other));
      case "write":
        return this.#write(this.#agent(step.by), this.#agent(step.other));
      case "decide":
        return this.#decide(this.#agent(step.by), step.category);
      case "spoil":
        return this.#spoil(step.edits);
      case "break":
        // Where only the registry knows of some content, its loss is a limit that docs/categories.md states.
        if (this.#good === undefined && !this.#logsStand()) return;
        this.#good ??= this.#file.text();
        return this.#file.spoil(BROKEN);
      case "repair":
        if (this.#good !== undefined) this.#file.spoil(this.#good);
        this.#good = undefined;
    }
  }

  #agent(number: number): string {
    return this.#addresses[number % this.#addresses.length] ?? "/root";
  }

  #registration(address: string, parent: string | null, declared: Category | undefined): Registration {
    const sessionId = address === "/root" ? "r" : address.replaceAll("/", "-");
    return {
      ...{ address, parent, declared, sessionId, sessionKey: sessionId, sessionFile: null, named: true },
      created: "2025-01-02T03:04:05.678Z",
      state: { type: "ended" },
    };
  }

  #registered(address: string): RegistryCategory {
    try {
      const agent = agentAt(this.#file.read(), address);
      return agent ? { ...agent, type: "said" } : { type: "unreadable", problem: "gone" };
    } catch (error) {
      return { type: "unreadable", problem: String(error) };
    }
  }

  #log(address: string): LogCategory {
    return this.#logs.get(address) ?? { type: "silent" };
  }

  #classification(address: string): Classification {
    return classify({ registry: this.#registered(address), log: this.#log(address), isChild: address !== "/root" });
  }

  #say(address: string, category: Category): void {
    const log = this.#log(address);
    const registered = this.#registered(address);
    const counts = log.type === "said" && !(registered.type === "said" && isOutdated(log, registered));
    if (log.type === "silent" ? category === null : counts && log.category === category) return;
    const timestamp = new Date(this.#now).toISOString();
    const said = categoryIn({ type: "custom", customType: CATEGORY_ENTRY, data: { category }, timestamp });
    if (said) this.#logs.set(address, said);
  }

  /** What every run begins with. */
  async #agreed(address: string): Promise<Category> {
    const classification = this.#classification(address);
    if (classification.type === "unknown") throw new TokenBudgetError("refused", classification.problem);
    const registered = this.#registered(address);
    if (registered.type === "said" && registered.category !== classification.category) {
      await this.#file.change((roster) => withLogged(roster, address, classification.category));
    }
    this.#say(address, classification.category);
    return classification.category;
  }

  #take(address: string, content: Iterable<string>): void {
    const held = this.#content.get(address) ?? new Set();
    for (const secret of content) held.add(secret);
    this.#content.set(address, held);
  }

  async #work(address: string): Promise<void> {
    const category = await this.#agreed(address);
    if (category === null) return;
    this.seen.secrets++;
    this.#take(address, [category]);
  }

  async #send(address: string): Promise<void> {
    const category = await this.#agreed(address);
    const model = route({ contentCategory: category, pinned: FREE });
    for (const secret of this.#content.get(address) ?? []) expect(RECEIVES[model.id]).toBe(secret);
    expect(() => route({ contentCategory: "nobody" })).toThrow(CategoryModelError);
  }

  /** An honest agent: what it puts into an ordinary task is nothing of its category. */
  async #dispatch(parent: string, declared: Category | undefined): Promise<void> {
    const owner = await this.#agreed(parent);
    const { own, category } = taskCategoryChoice(declared, owner);
    const address = `${parent}/t${this.#addresses.length}`;
    const wanted = this.#registration(address, parent, own ? category : undefined);
    await this.#file.change((roster) => withSession(roster, wanted, TASK));
    this.#addresses.push(address);
    // Its first run begins before it is told anything.
    const inherited = await this.#agreed(address);
    expect(inherited).toBe(category);
    if (!own || category !== null) this.#take(address, this.#content.get(parent) ?? []);
  }

  /** A launcher's child, started while the parent does nothing; without a declaration it is told what the parent holds. */
  async #start(parent: string, declared: Category | undefined): Promise<void> {
    const address = `${parent}/t${this.#addresses.length}`;
    const wanted = this.#registration(address, parent, declared);
    const contentOf = (agent: RosterAgent) => ownerCategory(agent, this.#log(agent.address));
    await this.#file.change((roster) => withSession(withParentContent(roster, wanted, TASK, contentOf), wanted, TASK));
    this.#addresses.push(address);
    await this.#agreed(address);
    if (declared !== null) this.#take(address, this.#content.get(parent) ?? []);
  }

  async #read(viewer: string, owner: string): Promise<void> {
    await this.#agreed(viewer);
    const registered = this.#registered(owner);
    if (registered.type === "unreadable" || this.#registered(viewer).type === "unreadable") return;
    const viewing = this.#classification(viewer);
    if (viewing.type === "unknown") return;
    if (!mayRead(viewing.category, ownerCategory(registered, this.#log(owner)))) return;
    this.#take(viewer, this.#content.get(owner) ?? []);
  }

  async #write(from: string, to: string): Promise<void> {
    const category = await this.#agreed(from);
    const registered = this.#registered(to);
    if (registered.type === "unreadable") throw new TokenBudgetError("refused", registered.problem);
    const owner = ownerCategory(registered, this.#log(to));
    if (owner === undefined) throw new TokenBudgetError("refused", "unknown");
    assertFlow(category, owner);
    this.#take(to, this.#content.get(from) ?? []);
  }

  /** A person says what all content below an agent is from now on. */
  async #decide(address: string, category: Category): Promise<void> {
    const decided = new Date(this.#now).toISOString();
    await this.#file.change((roster) => withCategory(roster, address, category, decided));
    this.#now++;
    this.#say(address, category);
    for (const other of this.#addresses) {
      if (other !== address && !other.startsWith(`${address}/`)) continue;
      const held = this.#content.get(other) ?? new Set();
      this.#content.set(other, new Set(category === null || held.size === 0 ? [] : [category]));
    }
  }

  /** Changes agents whose own log has their category: one of the two layers is spoiled, the other stands. */
  #spoil(edits: readonly Edit[]): void {
    if (this.#good !== undefined) return;
    const before = this.#file.text();
    const canDoWithout = this.#logsStand();
    const file = JSON.parse(before) as { agents: RosterAgent[] };
    const agents = file.agents.map((agent, at) => {
      const edit = edits.find((each) => each.at % file.agents.length === at);
      const log = this.#log(agent.address);
      const said = log.type === "said" ? log.category : null;
      if (!edit || said !== agent.category || isOutdated(log, agent)) return agent;
      const { decided, ...rest } = agent;
      const parent = edit.parent === undefined ? {} : { parent: this.#agent(edit.parent) };
      const { forgetDecision = false, category, categoryOwn } = edit;
      return {
        ...rest,
        // A later time than the log's would be a person's decision.
        ...(decided === undefined || forgetDecision ? {} : { decided }),
        ...parent,
        ...(category === undefined ? {} : { category }),
        ...(categoryOwn === undefined ? {} : { categoryOwn }),
      };
    });
    this.#file.spoil(JSON.stringify({ ...file, agents }));
    if (this.#isReadable() || canDoWithout) this.seen.spoiled++;
    else this.#file.spoil(before);
  }

  #isReadable(): boolean {
    try {
      this.#file.read();
      return true;
    } catch {
      return false;
    }
  }

  /** Whether each agent with content of a category has a log that says so: the layer that stands when the registry falls. */
  #logsStand(): boolean {
    return this.#addresses.every((address) => {
      const log = this.#log(address);
      const registered = this.#registered(address);
      const counts = log.type === "said" && !(registered.type === "said" && isOutdated(log, registered));
      return [...(this.#content.get(address) ?? [])].every((secret) => counts && log.category === secret);
    });
  }
}
