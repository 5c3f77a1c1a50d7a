// The registry of a root task on disk: read without a lock and checked whole, changed under one lock and replaced
// atomically, and checked again before that. One that is damaged or breaks a rule is an error and stays as it is.
import { shownValue, TokenBudgetError } from "../errors.ts";
import { codeOf, type DiskCalls, ensurePrivateDirectory, NODE_DISK } from "../storage/disk.ts";
import {
  type JsonFile,
  JsonStore,
  lockOf,
  type Parsed,
  parseJson,
  type VersionedFields,
} from "../storage/json-store.ts";
import type { Sweep } from "../storage/left-overs.ts";
import { readPlainFile } from "../storage/plain-file.ts";
import { type Fate, fateOf, isRunning, isSameStart, type ProcessName, thisProcess } from "../storage/processes.ts";
import { ROOT_ADDRESS } from "./addresses.ts";
import type { Category } from "./category.ts";
import type { TaskContext } from "./context.ts";
import { type TaskLayout, taskLayout } from "./layout.ts";
import {
  type AgentState,
  agentOf,
  type Registration,
  type Roster,
  type RosterAgent,
  rosterProblem,
  type TaskFacts,
  withCategory,
  withEnded,
  withLogged,
  withRoot,
  withSession,
} from "./roster.ts";
import { parseRoster, rosterFields } from "./roster-file.ts";

/** Joining or reading never makes a task. */
export function noSuchTask({ runId, storageRoot }: TaskContext): TokenBudgetError {
  return new TokenBudgetError(
    "not_found",
    `There is no root task ${shownValue(runId)} in ${storageRoot}; nothing was made there. Pass the context of a session as getTokenBudgetTask answers it, as long as its storage is there, or one that createTask made.`,
  );
}

const REGISTRY_FORMAT_VERSION = 1;
const SHOWN = "The registry of this root task";
/** A file may change twice in one tick of its clock: a younger one is read again. */
const SURE_AFTER_MS = 2_000;

interface Known {
  /** Undefined while it is too young. */
  readonly stamp: string | undefined;
  /** Undefined where there is no file. */
  readonly bytes: Buffer | undefined;
  readonly roster: Roster;
}

export interface RegistryOptions {
  readonly context: TaskContext;
  readonly disk?: DiskCalls | undefined;
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
}

export class Registry implements TaskFacts {
  readonly context: TaskContext;
  readonly layout: TaskLayout;
  readonly #disk: DiskCalls;
  readonly #source: JsonFile<Roster>;
  readonly #store: JsonStore;
  /** What the file said, as long as its stamp stays. */
  #known: Known | undefined;
  /** Of this process, when it was asked for. */
  #own: ProcessName | undefined;

  constructor({ context, disk = NODE_DISK, staleLockMs: staleMs, lockWaitMs: waitMs }: RegistryOptions) {
    this.context = context;
    this.layout = taskLayout(context.storageRoot, context);
    this.#disk = disk;
    this.#source = {
      file: this.layout.registry,
      version: REGISTRY_FORMAT_VERSION,
      shown: SHOWN,
      parse: (fields) => this.#parsed(fields),
      fields: (roster) => rosterFields(roster, context),
    };
    this.#store = new JsonStore(this.layout.meta, { disk, staleMs, waitMs });
  }

  get rootSessionId(): string {
    return this.context.rootSessionId;
  }

  notesOf(address: string): string {
    return this.layout.notes(address);
  }

  historyOf(address: string): string {
    return this.layout.history(address);
  }

  /** The agents, in the order of registration; none before the first one registers. Costs one look while nothing changes. */
  read(): Roster {
    const known = this.#known;
    // Taken before reading: a file that changes meanwhile has another one. A single read needs none.
    const stamp = known && this.#stamp();
    if (known && stamp !== undefined && stamp === known.stamp) return known.roster;
    const { bytes, roster } = this.#readBytes();
    this.#known = { stamp, bytes, roster };
    return roster;
  }

  /** What changes whenever the file is replaced or edited; undefined when it is not there, or too young to be sure. */
  #stamp(): string | undefined {
    try {
      const { ino, size, mtimeMs, ctimeMs } = this.#disk.lstatSync(this.#source.file);
      const isSure = Date.now() - Math.max(mtimeMs, ctimeMs) > SURE_AFTER_MS;
      return isSure ? `${ino} ${size} ${mtimeMs} ${ctimeMs}` : undefined;
    } catch {
      // Reading it says what is wrong.
      return undefined;
    }
  }

  /** The same bytes as last time are the same agents. */
  #readBytes(): Omit<Known, "stamp"> {
    const { file, shown } = this.#source;
    const bytes = readPlainFile(this.#disk, file, shown)?.bytes;
    const known = this.#known;
    const isSame = bytes === undefined ? known && known.bytes === undefined : known?.bytes?.equals(bytes);
    return known && isSame ? known : { bytes, roster: bytes === undefined ? [] : parseJson(this.#source, bytes) };
  }

  #parsed(fields: VersionedFields): Parsed<Roster> {
    const parsed = parseRoster(fields, this.context);
    const problem = parsed.type === "value" ? rosterProblem(parsed.value) : undefined;
    if (problem !== undefined) throw this.#broken(problem);
    return parsed;
  }

  /** Changes the agents under the lock; what `change` throws comes through and changes nothing. */
  update(change: (roster: Roster) => Roster): Promise<Roster> {
    const checked = (before: Roster = []) => {
      const after = change(before);
      const problem = after === before ? undefined : rosterProblem(after);
      if (problem !== undefined) throw this.#broken(problem);
      return after;
    };
    return this.#store.update(this.#source, checked, () => this.#readBytes().roster);
  }

  /** Registers a session, or brings its own entry up to date; `ready` may bring others up to date before. */
  async register(wanted: Registration, ready = (roster: Roster) => roster): Promise<RosterAgent> {
    const agent = agentOf(await this.update((roster) => withSession(ready(roster), wanted, this)), wanted);
    if (agent === undefined) throw new Error("a registered session is in the registry");
    return agent;
  }

  /** Says that this process no longer runs the agent. */
  async markEnded(address: string, pid: number, left?: AgentState): Promise<void> {
    await this.update((roster) => withEnded(roster, address, pid, left));
  }

  /** Hands the agents over to be removed with all they have left, under the lock; throws while one of them runs. */
  async remove(remove: (roster: Roster) => void): Promise<void> {
    await this.#store.hold(lockOf(this.#source), (held) => {
      const { roster } = this.#readBytes();
      const running = roster.filter((agent) => this.isRunning(agent));
      if (running.length > 0) {
        const [first] = running as [RosterAgent];
        const pid = first.state.type === "running" ? `, process ${first.state.pid}` : "";
        const others = running.length > 1 ? ` and ${running.length - 1} more` : "";
        const who = first.parent === null ? "the session is open" : `${first.address} runs`;
        throw new TokenBudgetError("refused", `Nothing was removed: ${who}${pid}${others}. End it first.`);
      }
      held.assertOwned();
      remove(roster);
    });
  }

  /** A person's change of category; it moves everything below the agent too. */
  async setCategory(address: string, category: Category): Promise<void> {
    const decided = new Date().toISOString();
    await this.update((roster) => {
      const present = address === ROOT_ADDRESS ? withRoot(roster, this, decided) : roster;
      return withCategory(present, address, category, decided);
    });
  }

  /** Brings an agent up to the category that its own log has. */
  async raiseCategory(address: string, category: Category): Promise<void> {
    await this.update((roster) => withLogged(roster, address, category));
  }

  /** Whether the process of an agent still runs it. */
  isRunning({ state }: RosterAgent): boolean {
    return this.isRunningState(state);
  }

  isRunningState(state: AgentState): boolean {
    if (state.type !== "running") return false;
    const named = { pid: state.pid, start: state.processStart };
    // Asked with every request.
    if (state.pid !== process.pid) return isRunning(named, this.#disk);
    this.#own ??= thisProcess(this.#disk);
    return isSameStart(named, this.#own);
  }

  /** What became of an agent's process; undefined when it has said that it ends. */
  fateOf({ state }: RosterAgent): Fate | undefined {
    if (state.type !== "running") return undefined;
    return fateOf({ pid: state.pid, start: state.processStart }, state.place, this.#disk);
  }

  /** Whether there is something in the registry's place; never throws. */
  exists(): boolean {
    try {
      this.#disk.lstatSync(this.#source.file);
      return true;
    } catch (error) {
      return codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR";
    }
  }

  /**
   * Whether the storage holds this task, registered or only handed out; never throws. Joining never makes a task: a context
   * of a storage that is gone, or of another one, would start a task with no other agent in it.
   */
  holdsTask(): boolean {
    try {
      return this.#disk.lstatSync(this.layout.directory).isDirectory();
    } catch {
      return false;
    }
  }

  /** Makes the task's directory, so that a session given its context finds it. */
  makeDirectory(): void {
    ensurePrivateDirectory(this.#disk, this.layout.directory);
  }

  /** Removes what killed processes left beside the registry. Call it at start. */
  sweep(): Sweep {
    return this.#store.sweep();
  }

  #broken(problem: string): TokenBudgetError {
    return new TokenBudgetError(
      "refused",
      `${SHOWN} breaks a rule: ${problem} (${this.#source.file}). It is left as it is, and nothing of other agents is shown.`,
    );
  }
}
