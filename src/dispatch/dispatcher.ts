// Opens tasks for child agents and keeps their records. Everything between a task and whoever looks at it goes through
// here: no path and no process leaves it, and every read goes through the rule of categories.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf, shownValue, TokenBudgetError } from "../errors.ts";
import { assertObject, type Fields, oneOf, optional, SIGNAL } from "../options.ts";
import { removeTree, streamOf } from "../storage/blobs.ts";
import { type ProcessName, thisProcess } from "../storage/processes.ts";
import type { Category } from "../task/category.ts";
import type { TaskMembership } from "../task/context.ts";
import { taskLayout } from "../task/layout.ts";
import { contentsOf, frozenReferences, readableReferences, readableTranscript } from "./brief/sources.ts";
import { newId } from "./files/names.ts";
import type { DispatchParent } from "./parent.ts";
import { dailyQuota, type Quota, usageOfDay } from "./quota.ts";
import { PROGRESS_QUEUED, type TaskRecord, type TaskRow, titleOf } from "./record/rules.ts";
import { RecordStore } from "./record/store.ts";
import { mayView, type RestrictedTask, type TaskView, taskView } from "./record/view.ts";
import { categoryAgain, checkedRequest, chosenModel, type DispatchRequest } from "./request.ts";
import { type Active, startHandle, type TaskEvent, type TaskHandle } from "./run/handle.ts";
import { RUN_LIMITS, type RunLimits, type StopReason } from "./run/limits.ts";
import type { RunEvent } from "./run/run-log.ts";
import type { Runner } from "./run/runner.ts";
import { Slots } from "./run/slots.ts";
import { TaskRun } from "./run/task-run.ts";
import type { TaskSettings } from "./settings.ts";

export interface DispatcherParts {
  readonly parent: DispatchParent;
  /** The first is the default. */
  readonly runners: readonly Runner[];
  readonly settings: () => TaskSettings;
  /** Asked besides the setting. */
  readonly quota?: Quota | undefined;
  /** Relative attachments are below it. */
  readonly baseDirectory: string;
  readonly limits?: Partial<RunLimits> | undefined;
  /** Told of what goes wrong beside a task. */
  readonly report?: ((problem: string) => void) | undefined;
  readonly now?: (() => Date) | undefined;
}

/** The bytes of a file of a task. */
export interface OpenedFile {
  /** A readable stream of Node, to be read or destroyed. */
  readonly stream: AsyncIterable<Uint8Array>;
  /** The name that it was given, without a folder. */
  readonly filename: string;
  /** Its MIME type, by the name. */
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
}

/** Who looks at a task. */
export interface LookOptions {
  /** `person`: a person or the launcher's own code, who may see every task; left out, the dispatching agent. */
  readonly viewer?: "person";
}

/** Who has a task done again, and how it is stopped. */
export interface RerunOptions extends LookOptions {
  /** Cancels the run when it is aborted; left out, `cancel` alone does. */
  readonly signal?: AbortSignal;
}

/** Who looks decides what is shown: a viewer that there is not must not pass for another. */
function assertLook(of: string, options: LookOptions, more: Fields = {}): void {
  assertObject(options, { of, what: "the options", fields: { viewer: optional(oneOf("person")), ...more } });
}

const CLOSED: StopReason = { type: "closed" };

/**
 * Opens tasks for child agents of one session and keeps their records. Whatever it is asked with the dispatching agent as
 * the viewer goes by the rule of categories.
 */
export class TaskDispatcher {
  readonly #parts: DispatcherParts;
  readonly #store: RecordStore;
  readonly #runners: ReadonlyMap<string, Runner>;
  readonly #slots: Slots;
  readonly #active = new Map<string, Active>();
  /** Dispatches that are being checked and stored. */
  readonly #opening = new Set<Promise<TaskHandle>>();
  readonly #self: ProcessName = thisProcess();
  readonly #recovered: Promise<void>;
  #isClosed = false;

  /** Use `createTaskDispatcher`. */
  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { context } = parts.parent;
    this.#store = new RecordStore({ context, now: parts.now });
    this.#runners = new Map(parts.runners.map((runner) => [runner.name, runner]));
    this.#slots = new Slots(() => Math.max(1, parts.settings().maxConcurrentTasks));
    this.#recovered = this.#recover();
  }

  /**
   * Checks, stores, and starts a task; resolves when it is stored. Whatever is refused leaves nothing behind.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`, `too_large`, `invalid_address`: the request;
   * `name_collision`: `agentName`; `not_found`: the model; `refused`: category, quota, or a session that has ended;
   * `storage_failed`, `lock_unavailable`: the disk. `CategoryModelError`: no model may see the content.
   */
  dispatch(request: DispatchRequest): Promise<TaskHandle> {
    return this.#open(this.#dispatch(request));
  }

  async #dispatch(request: DispatchRequest): Promise<TaskHandle> {
    await this.#ready();
    const { parent, baseDirectory } = this.#parts;
    const taskId = newId();
    const [defaultRunner = ""] = this.#runners.keys();
    const checked = checkedRequest(request, { parent, runners: this.#runners, defaultRunner, baseDirectory, taskId });
    const { goal, context, choice, runner, address, pinned, attachments, cwd } = checked;
    const model = await chosenModel(parent, runner, { category: choice.category, pinned });
    await this.#assertQuota();
    await parent.flush?.();
    const now = this.#store.now();
    const task: TaskRow = {
      id: taskId,
      rootSession: parent.context.rootSessionId,
      agent: address,
      parent: parent.agentName,
      category: choice.category,
      categoryOwn: choice.own,
      title: titleOf(
        goal,
        attachments.map(({ filename }) => filename),
      ),
      requirement: goal,
      context,
      runner: runner.name,
      ...this.#beginning(),
      model,
      modelPinned: pinned !== undefined,
      cwd,
      references: await frozenReferences(parent),
      runs: 1,
      created: now,
      updated: now,
    };
    const record = await this.#store.create(task, attachments, request.signal);
    return this.#start(record, runner, request.signal);
  }

  /**
   * All tasks of the root task, newest first; those that the viewer may not read in neutral form.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`: the options; `storage_failed`, `refused`: the disk,
   * or a registry that breaks a rule.
   */
  async list(options: LookOptions = {}): Promise<readonly (TaskView | RestrictedTask)[]> {
    assertLook("list", options);
    await this.#recovered;
    const may = this.#viewing(options.viewer);
    const { records, problems } = this.#store.list();
    for (const problem of problems) this.#report(problem);
    return records.map((record) => (may(record) ? taskView(record) : { agent: record.task.agent, restricted: true }));
  }

  /**
   * One task.
   *
   * @throws TokenBudgetError (rejects) `not_found`: there is none with this id; `refused`: it is not for this viewer;
   * `invalid_argument`, `unknown_field`: the options; `storage_failed`, `newer_format`: its record.
   */
  async get(taskId: string, options: LookOptions = {}): Promise<TaskView> {
    assertLook("get", options);
    await this.#recovered;
    return taskView(this.#readable(taskId, options.viewer));
  }

  /**
   * The bytes of one of its files, by the ids in `files`, `outputs` and `intermediates`.
   *
   * @throws TokenBudgetError (rejects) as `get` does; `not_found` also where the task has no such file.
   */
  async openFile(taskId: string, fileId: string, options: LookOptions = {}): Promise<OpenedFile> {
    assertLook("openFile", options);
    await this.#recovered;
    const { files } = this.#readable(taskId, options.viewer);
    const file = files.find(({ id }) => id === fileId);
    if (file === undefined) {
      throw new TokenBudgetError(
        "not_found",
        `Task ${taskId} has no file ${shownValue(fileId)}; its files are in files, outputs and intermediates.`,
      );
    }
    const { filename, contentType, size } = file;
    return { stream: streamOf(this.#store.pathOf(file)), filename, contentType, size };
  }

  /**
   * Runs a task that has ended once more, as another agent, with its own content's category. Its old products are
   * dropped, what was in between is kept.
   *
   * @throws TokenBudgetError (rejects) as `get` and `dispatch` do; `refused` also where it runs, or its runner is not here.
   */
  rerun(taskId: string, options: RerunOptions = {}): Promise<TaskHandle> {
    return this.#open(this.#rerun(taskId, options));
  }

  async #rerun(taskId: string, options: RerunOptions): Promise<TaskHandle> {
    assertLook("rerun", options, { signal: optional(SIGNAL) });
    const { viewer, signal } = options;
    await this.#ready();
    const { parent } = this.#parts;
    const { task: old } = this.#readable(taskId, viewer);
    const runner = this.#runners.get(old.runner);
    if (runner === undefined)
      throw new TokenBudgetError(
        "refused",
        `Task ${taskId} ran on ${shownValue(old.runner)}, which this dispatcher does not have.`,
      );
    const pinned = old.modelPinned ? (old.model ?? undefined) : undefined;
    const { own: categoryOwn, category } = categoryAgain(old, contentsOf(parent), runner);
    const model = await chosenModel(parent, runner, { category, pinned });
    await this.#assertQuota();
    const record = await this.#store.restart(taskId, (task) => ({
      ...task,
      category,
      categoryOwn,
      ...this.#beginning(),
      model,
      // An address stays with its session: another run is another agent.
      agent: `${task.agent.replace(/_run\d+$/, "")}_run${task.runs + 1}`,
      runs: task.runs + 1,
      updated: this.#store.now(),
    }));
    return this.#start(record, runner, signal);
  }

  /**
   * Ends a task that runs here; resolves when it has ended, at once where it does not run here.
   *
   * @throws TokenBudgetError (rejects) as `get` does.
   */
  async cancel(taskId: string, options: LookOptions = {}): Promise<void> {
    assertLook("cancel", options);
    await this.#recovered;
    this.#readable(taskId, options.viewer);
    await this.#active.get(taskId)?.handle.cancel();
  }

  /**
   * Removes a task and all its files; one that runs here is cancelled first.
   *
   * @throws TokenBudgetError (rejects) as `get` does; `refused` also where it runs in another process.
   */
  async remove(taskId: string, options: LookOptions = {}): Promise<void> {
    assertLook("remove", options);
    await this.#recovered;
    this.#readable(taskId, options.viewer);
    await this.#active.get(taskId)?.handle.cancel();
    const { task } = this.#store.read(taskId);
    if (task.status === "processing") {
      throw new TokenBudgetError(
        "refused",
        `Task ${taskId} runs in another process; cancel it there, or end that process, then remove it.`,
      );
    }
    await this.#store.remove(taskId);
    removeTree(task.cwd === null ? join(this.#workRoot, taskId) : join(task.cwd, ".pi-task", taskId));
  }

  /** The handle of a task that runs here; undefined when there is none. Never throws. */
  running(taskId: string): TaskHandle | undefined {
    return this.#active.get(taskId)?.handle;
  }

  /**
   * The dispatching agent's category; results may only reach it when they may flow there.
   *
   * @throws TokenBudgetError `refused`, `storage_failed`, `newer_format`: nobody can know it.
   */
  category(): Category {
    return this.#parts.parent.category();
  }

  /** Ends what runs here; those tasks are `failed: interrupted`, and can be run again. Then it dispatches nothing. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#recovered;
    for (const { stop } of this.#active.values()) stop.abort(CLOSED);
    // What is being stored is stored, and ends before it starts; a launcher's quota or router may take its time.
    const { stopLimitMs } = { ...RUN_LIMITS, ...this.#parts.limits };
    await Promise.race([Promise.allSettled(this.#opening), delay(stopLimitMs, undefined, { ref: false })]);
    await Promise.all([...this.#active.values()].map(({ handle }) => handle.result));
  }

  #open(opening: Promise<TaskHandle>): Promise<TaskHandle> {
    this.#opening.add(opening);
    return opening.finally(() => this.#opening.delete(opening));
  }

  get #workRoot(): string {
    const { context } = this.#parts.parent;
    return taskLayout(context.storageRoot, context).work;
  }

  async #ready(): Promise<void> {
    await this.#recovered;
    if (this.#isClosed || this.#parts.parent.ended === true)
      throw new TokenBudgetError("refused", "This session has ended; tasks are dispatched from a running one.");
  }

  async #recover(): Promise<void> {
    try {
      for (const problem of await this.#store.recover(this.#self)) this.#report(problem);
    } catch (error) {
      this.#report(messageOf(error));
    }
  }

  #report(problem: string): void {
    this.#parts.report?.(problem);
  }

  /** What a viewer may see: a person or a launcher's own code everything, an agent what its category may read. */
  #viewing(viewer: "person" | undefined): (record: TaskRecord) => boolean {
    if (viewer === "person") return () => true;
    const own = this.category();
    const contents = contentsOf(this.#parts.parent);
    return (record) => mayView(own, record, contents(record.task.agent));
  }

  #readable(taskId: string, viewer: "person" | undefined): TaskRecord {
    const may = this.#viewing(viewer);
    const record = this.#store.read(taskId);
    if (may(record)) return record;
    throw new TokenBudgetError(
      "refused",
      `Task ${shownValue(taskId)} is restricted: its content is not for this agent. Do without it.`,
    );
  }

  async #assertQuota(): Promise<void> {
    const { quota, settings } = this.#parts;
    const daily = settings().taskQuota;
    const asked = [...(daily === null ? [] : [dailyQuota(daily)]), ...(quota ? [quota] : [])];
    if (asked.length === 0) return;
    const used = usageOfDay(this.#store.list().records, this.#store.now());
    for (const ask of asked) {
      const answer = await ask(used);
      if (answer.allowed) continue;
      await this.#store.addRefusal("task");
      throw new TokenBudgetError(
        "refused",
        `The task was not dispatched: ${answer.reason}. Nothing was stored. Wait until tomorrow, or have the quota raised.`,
      );
    }
  }

  /** What every run of a task begins with. */
  #beginning(): Pick<TaskRow, "status" | "progress" | "steps" | "result" | "error" | "process"> {
    const progress = this.#slots.isFull ? PROGRESS_QUEUED : "";
    return { status: "processing", progress, steps: [], result: null, error: null, process: this.#self };
  }

  #othersThan({ task }: TaskRecord): readonly TaskRecord[] {
    return this.#store.list().records.filter((other) => other.task.id !== task.id);
  }

  #membershipOf({ task }: TaskRecord): TaskMembership {
    const declared = task.categoryOwn ? { category: task.category } : {};
    return { ...this.#parts.parent.context, parentAgentName: task.parent, agentName: task.agent, ...declared };
  }

  #start(record: TaskRecord, runner: Runner, signal: AbortSignal | undefined): TaskHandle {
    const { id } = record.task;
    const active = startHandle(taskView(record), {
      signal,
      report: (problem) => this.#report(problem),
      run: async (stop, emit) => {
        if (this.#isClosed) stop.abort(CLOSED);
        const final = taskView(await this.#run(record, runner, stop, emit));
        this.#active.delete(id);
        return final;
      },
    });
    this.#active.set(id, active);
    return active.handle;
  }

  async #run(
    record: TaskRecord,
    runner: Runner,
    stop: AbortController,
    emit: (event: TaskEvent) => void,
  ): Promise<TaskRecord> {
    const { parent, settings } = this.#parts;
    const run = new TaskRun({
      store: this.#store,
      workRoot: this.#workRoot,
      record,
      runner,
      membership: this.#membershipOf(record),
      transcript: () => readableTranscript(parent, record.task, this.#othersThan(record), settings()),
      references: readableReferences(parent, record.task),
      extractChars: settings().taskExtractChars,
      limits: { ...RUN_LIMITS, ...this.#parts.limits },
      stop,
      onEvent: (event: RunEvent) => {
        if (event.type === "step" || event.type === "progress") emit(event);
      },
      report: (problem) => this.#report(problem),
    });
    try {
      return await this.#slots.run(stop.signal, async () => {
        await parent.childExtension();
        return run.run();
      });
    } catch (error) {
      return run.giveUp(error);
    }
  }
}
