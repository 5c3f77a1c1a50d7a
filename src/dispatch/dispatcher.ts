// Opens tasks for child agents and keeps their records: intake.ts accepts, run/queue.ts runs, reader.ts reads.
import { setTimeout as delay } from "node:timers/promises";
import { messageOf, TokenBudgetError } from "../errors.ts";
import { assertObject, COUNT, type Fields, oneOf, optional, SIGNAL } from "../options.ts";
import { thisProcess } from "../storage/processes.ts";
import type { Category } from "../task/category.ts";
import { removeAgents } from "../task/forget-agents.ts";
import { taskLayout } from "../task/layout.ts";
import { Intake } from "./intake.ts";
import type { DispatcherParts } from "./parts.ts";
import { TaskReader } from "./reader.ts";
import { agentsOfRuns } from "./record/rules.ts";
import type { TaskRow } from "./record/schema.ts";
import { RecordStore } from "./record/store.ts";
import { taskView } from "./record/view.ts";
import type { DispatchRequest } from "./request.ts";
import { leftByDead, removeLeftovers, sweepWork } from "./run/leftovers.ts";
import { type AcceptedTask, TaskQueue } from "./run/queue.ts";
import { RUN_LIMITS } from "./settings.ts";
import type { LiveTask, OpenedFile, RestrictedTask, TaskHandle, TaskView } from "./task-view.ts";

/** The viewer of a task. */
export interface LookOptions {
  /** `person`: a person or the launcher's own code, who may see every task; left out, the dispatching agent. */
  readonly viewer?: "person";
}

/** Which tasks are listed, and for whom. */
export interface ListOptions extends LookOptions {
  /** Number of tasks, the newest, at most; all when left out. */
  readonly limit?: number;
}

/** The viewer who runs a task again, and how the run is cancelled. */
export interface RerunOptions extends LookOptions {
  /** Cancels the run when it is aborted; left out, `cancel` alone does. */
  readonly signal?: AbortSignal;
}

/** Strict, since a misspelt viewer must not pass for another. */
function assertLook(of: string, options: LookOptions, more: Fields = {}): void {
  assertObject(options, { of, what: "the options", fields: { viewer: optional(oneOf("person")), ...more } });
}

/**
 * Opens tasks for child agents of one session and keeps their records. With the dispatching agent as the viewer, every read
 * is checked against the rule of categories.
 */
export class TaskDispatcher {
  readonly #parts: DispatcherParts;
  readonly #store: RecordStore;
  readonly #intake: Intake;
  readonly #queue: TaskQueue;
  readonly #reader: TaskReader;
  readonly #self = thisProcess();
  /** Dispatches that are being checked and stored. */
  readonly #opening = new Set<Promise<TaskHandle>>();
  #recovered: Promise<void>;

  /** Use `createTaskDispatcher`. */
  constructor(parts: DispatcherParts) {
    const report = (problem: string) => parts.report?.(problem);
    this.#parts = parts;
    this.#store = new RecordStore(parts.parent.context);
    this.#queue = new TaskQueue(parts, this.#store, report);
    this.#intake = new Intake(parts, this.#store, () => this.#queue.isFull);
    this.#reader = new TaskReader(parts.parent, this.#store, report);
    this.#recovered = this.#recover(report);
  }

  /**
   * Checks, stores, and starts a task; resolves when it is stored. What is refused leaves nothing behind.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`, `too_large`, `invalid_address`: the request;
   * `name_collision`: `agentName`; `not_found`: the model; `refused`: category, quota, or a session that has ended;
   * `storage_failed`, `lock_unavailable`: the disk. `CategoryModelError`: no model may see the content.
   */
  dispatch(request: DispatchRequest): Promise<TaskHandle> {
    return this.#enqueue(() => this.#intake.open(request));
  }

  /**
   * All tasks of the root task, newest first; those that the viewer may not read in neutral form.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`: the options; `storage_failed`, `refused`: the disk,
   * or a registry that breaks a rule.
   */
  async list(options: ListOptions = {}): Promise<readonly (TaskView | RestrictedTask)[]> {
    assertLook("list", options, { limit: optional(COUNT) });
    await this.#upToDate();
    return this.#reader.list(options.viewer, options.limit);
  }

  /**
   * The ids of all tasks of the root task, newest first, for a person or a launcher's own code: none of them is read.
   *
   * @throws TokenBudgetError (rejects) `storage_failed`: the disk.
   */
  async ids(): Promise<readonly string[]> {
    await this.#upToDate();
    return this.#store.ids();
  }

  /**
   * One task.
   *
   * @throws TokenBudgetError (rejects) `not_found`: no task has this id; `refused`: this viewer may not read it;
   * `invalid_argument`, `unknown_field`: the options; `storage_failed`, `newer_format`: its record.
   */
  async get(taskId: string, options: LookOptions = {}): Promise<TaskView> {
    assertLook("get", options);
    await this.#upToDate();
    return taskView(this.#reader.record(taskId, options.viewer));
  }

  /**
   * The bytes of one of its files, by the ids in `files`, `outputs` and `intermediates`.
   *
   * @throws TokenBudgetError (rejects) as `get` does; `not_found` also where the task has no such file.
   */
  async openFile(taskId: string, fileId: string, options: LookOptions = {}): Promise<OpenedFile> {
    assertLook("openFile", options);
    await this.#upToDate();
    return this.#reader.openFile(taskId, fileId, options.viewer);
  }

  /**
   * Runs a task that has ended once more, as another agent, with the category of its content. Its products and its result stay
   * until that run is completed, and are replaced then; intermediate files are kept.
   *
   * @throws TokenBudgetError (rejects) as `get` and `dispatch` do; `refused` also where it runs, or its runner is not here.
   */
  rerun(taskId: string, options: RerunOptions = {}): Promise<TaskHandle> {
    return this.#enqueue(() => {
      assertLook("rerun", options, { signal: optional(SIGNAL) });
      return this.#intake.reopen(this.#reader.record(taskId, options.viewer), options.signal);
    });
  }

  /**
   * Ends a task that runs here; resolves when it has ended, at once where it does not run here.
   *
   * @throws TokenBudgetError (rejects) as `get` does.
   */
  async cancel(taskId: string, options: LookOptions = {}): Promise<void> {
    assertLook("cancel", options);
    await this.#upToDate();
    this.#reader.record(taskId, options.viewer);
    await this.running(taskId)?.cancel();
  }

  /**
   * Removes a task with all its files, and its agents with their journals and notes; one that runs here is cancelled first.
   *
   * @throws TokenBudgetError (rejects) as `get` does; `refused` also where it runs in another process.
   */
  async remove(taskId: string, options: LookOptions = {}): Promise<void> {
    assertLook("remove", options);
    await this.#upToDate();
    this.#reader.record(taskId, options.viewer);
    await this.running(taskId)?.cancel();
    // Before the record, so that what fails halfway can be tried again.
    await this.#store.remove(taskId, async (task) => {
      await removeAgents(this.#parts.parent.context, this.#agentsOf(task));
      await removeLeftovers({ taskId, workRoot: this.#workRoot, cwd: task.cwd });
    });
  }

  /** The handle of a task that runs here; undefined when it does not. Never throws. */
  running(taskId: string): TaskHandle | undefined {
    return this.#queue.handle(taskId);
  }

  /** What runs or waits here, oldest first, with what it has done so far. Never throws. */
  active(): readonly LiveTask[] {
    return this.#queue.live();
  }

  /** Address of the dispatching agent. */
  get agentName(): string {
    return this.#parts.parent.agentName;
  }

  /**
   * The dispatching agent's category; it receives only results that may flow there.
   *
   * @throws TokenBudgetError `refused`, `storage_failed`, `newer_format`: the category cannot be known.
   */
  category(): Category {
    return this.#parts.parent.category();
  }

  /**
   * Interrupts what runs here: those tasks are `failed: interrupted`, and can be run again. Nothing is dispatched after
   * that. Never rejects.
   */
  async close(): Promise<void> {
    this.#queue.stop();
    await this.#recovered;
    // What is being stored ends before it starts; a launcher's quota or router may take long.
    const { stopLimitMs } = { ...RUN_LIMITS, ...this.#parts.limits };
    await Promise.race([Promise.allSettled(this.#opening), delay(stopLimitMs, undefined, { ref: false })]);
    await this.#queue.ended();
  }

  #enqueue(accept: () => Promise<AcceptedTask>): Promise<TaskHandle> {
    const opening = this.#ready()
      .then(accept)
      .then((task) => this.#queue.add(task));
    this.#opening.add(opening);
    return opening.finally(() => this.#opening.delete(opening));
  }

  async #ready(): Promise<void> {
    await this.#upToDate();
    if (this.#queue.isStopped || this.#parts.parent.ended === true)
      throw new TokenBudgetError("refused", "This session has ended; tasks are dispatched from a running one.");
  }

  /** What processes that died since have left is brought to its end before anybody sees it. */
  #upToDate(): Promise<void> {
    const { report } = this.#parts;
    this.#recovered = this.#recovered.then(async () => {
      if (this.#hasLeft()) await this.#recover((problem) => report?.(problem));
    });
    return this.#recovered;
  }

  #hasLeft(): boolean {
    try {
      return this.#store.hasLeft(this.#self);
    } catch {
      // The disk fails: what is asked for says so itself.
      return false;
    }
  }

  async #recover(report: (problem: string) => void): Promise<void> {
    try {
      const workRoot = this.#workRoot;
      const { problems, interrupted } = await this.#store.recover(this.#self, {
        filesOf: (record) => leftByDead(record, workRoot),
        clear: ({ id: taskId, cwd }) => removeLeftovers({ taskId, workRoot, cwd }),
      });
      for (const problem of problems) report(problem);
      if (interrupted.length > 0) this.#parts.interrupted?.(interrupted.map(taskView));
      await sweepWork(workRoot, (id, clear) => this.#store.whileEnded(id, clear));
    } catch (error) {
      report(messageOf(error));
    }
  }

  /** The agents of a task, but for one whose name another task has: it was free again where the first had not joined. */
  #agentsOf(task: TaskRow): readonly string[] {
    const others = this.#store.list().records.filter((other) => other.task.id !== task.id);
    const theirs = new Set(others.flatMap((other) => agentsOfRuns(other.task)));
    return agentsOfRuns(task).filter((address) => !theirs.has(address));
  }

  get #workRoot(): string {
    const { context } = this.#parts.parent;
    return taskLayout(context.storageRoot, context).work;
  }
}
