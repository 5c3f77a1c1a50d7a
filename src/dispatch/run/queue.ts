// The tasks that this process runs: each gets a handle at once, waits for a free slot, runs, and ends.
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import { ROOT_ADDRESS } from "../../task/addresses.ts";
import type { TaskMembership } from "../../task/context.ts";
import { taskLayout } from "../../task/layout.ts";
import { briefSources, type OtherTasks } from "../brief/sources.ts";
import { FINISHED_TASKS_MAX } from "../brief/transcript.ts";
import type { DispatcherParts } from "../parts.ts";
import type { TaskRecord } from "../record/schema.ts";
import type { RecordStore } from "../record/store.ts";
import { taskView } from "../record/view.ts";
import type { Runner } from "../runner.ts";
import { RUN_LIMITS } from "../settings.ts";
import type { LiveTask, TaskEvent, TaskHandle } from "../task-view.ts";
import { RunLog } from "./run-log.ts";
import { Slots } from "./slots.ts";
import { type StopReason, TaskRun } from "./task-run.ts";

const CANCELLED: StopReason = { type: "cancelled" };
const CLOSED: StopReason = { type: "closed" };

/** A stored task that is ready to run. */
export interface AcceptedTask {
  readonly record: TaskRecord;
  readonly runner: Runner;
  /** Cancels it. */
  readonly signal: AbortSignal | undefined;
}

interface Start extends Pick<AcceptedTask, "record" | "runner"> {
  readonly stop: AbortController;
  readonly emit: (event: TaskEvent) => void;
  readonly log: RunLog;
}

interface Active {
  readonly handle: TaskHandle;
  readonly log: RunLog;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly stop: AbortController;
}

export class TaskQueue {
  readonly #parts: DispatcherParts;
  readonly #store: RecordStore;
  readonly #report: (problem: string) => void;
  readonly #slots: Slots;
  /** By the agent of a task that dispatches tasks itself: its places are none of those that it may hold and wait for. */
  readonly #nested = new Map<string, Slots>();
  readonly #active = new Map<string, Active>();
  #isStopped = false;

  constructor(parts: DispatcherParts, store: RecordStore, report: (problem: string) => void) {
    this.#parts = parts;
    this.#store = store;
    this.#report = report;
    this.#slots = this.#slotsIn("slots");
  }

  get isFull(): boolean {
    return this.#slots.isFull;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  handle(taskId: string): TaskHandle | undefined {
    return this.#active.get(taskId)?.handle;
  }

  /** What runs or waits here, in the order in which it was dispatched. */
  live(): readonly LiveTask[] {
    return [...this.#active.values()].map(({ handle, log, sinceMs }) => {
      const { id, title, agent, progress } = handle.task;
      const { stepCount: steps, tokens } = log;
      return { id, title, agent, progress: log.progress || progress, steps, tokens, sinceMs };
    });
  }

  /** Interrupts all tasks here, and those added later. */
  stop(): void {
    this.#isStopped = true;
    for (const { stop } of this.#active.values()) stop.abort(CLOSED);
  }

  /** Resolves when every task here has ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#active.values()].map(({ handle }) => handle.result));
  }

  add({ record, runner, signal }: AcceptedTask): TaskHandle {
    const { id } = record.task;
    const listeners = new Set<(event: TaskEvent) => void>();
    const emit = (event: TaskEvent) => {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (error) {
          this.#report(messageOf(error));
        }
      }
    };
    const stop = new AbortController();
    const cancel = () => stop.abort(CANCELLED);
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    if (this.#isStopped) stop.abort(CLOSED);
    const log = new RunLog();
    const result = this.#run({ record, runner, stop, emit, log }).then((final) => {
      const task = taskView(final);
      this.#active.delete(id);
      signal?.removeEventListener("abort", cancel);
      emit({ type: "ended", task });
      return task;
    });
    const handle: TaskHandle = {
      task: taskView(record),
      result,
      subscribe: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      cancel: async () => {
        cancel();
        await result;
      },
    };
    this.#active.set(id, { handle, stop, log, sinceMs: Date.now() });
    return handle;
  }

  async #run({ record, runner, stop, emit, log }: Start): Promise<TaskRecord> {
    const { parent, settings, limits } = this.#parts;
    const { task } = record;
    const run = new TaskRun({
      store: this.#store,
      workRoot: taskLayout(parent.context.storageRoot, parent.context).work,
      record,
      runner,
      membership: this.#membershipOf(record),
      sources: () => briefSources(parent, task, this.#othersThan(task.id), settings()),
      extractChars: settings().taskExtractChars,
      limits: { ...RUN_LIMITS, ...limits },
      log,
      stop,
      onEvent: (event) => {
        if (event.type === "step" || event.type === "progress") emit(event);
      },
      report: this.#report,
    });
    try {
      return await this.#slotsOf(task.parent).run(stop.signal, async () => {
        await parent.childExtension();
        return run.run();
      });
    } catch (error) {
      return run.giveUp(error);
    }
  }

  #slotsIn(...names: readonly string[]): Slots {
    const { settings } = this.#parts;
    return new Slots({
      directory: join(this.#store.meta, ...names),
      files: this.#store.locked,
      max: () => Math.max(1, settings().maxConcurrentTasks),
    });
  }

  /** The places for tasks of this agent: those of the root task, unless the agent is itself one of a task that runs. */
  #slotsOf(parent: string): Slots {
    const isOfTask = ({ task }: TaskRecord) => task.agent === parent;
    if (parent === ROOT_ADDRESS || !this.#store.processing().records.some(isOfTask)) return this.#slots;
    const own = this.#nested.get(parent) ?? this.#slotsIn("nested-slots", parent.replaceAll("/", "."));
    this.#nested.set(parent, own);
    return own;
  }

  /** The tasks that a child may be told of. */
  #othersThan(id: string): OtherTasks {
    const ids = this.#store.ids().filter((other) => other !== id);
    const { records } = this.#store.those(ids.slice(0, FINISHED_TASKS_MAX));
    return { records, older: Math.max(0, ids.length - FINISHED_TASKS_MAX) };
  }

  #membershipOf({ task }: TaskRecord): TaskMembership {
    const declared = task.categoryOwn ? { category: task.category } : {};
    // A child that is no agent of the task could not read what it was told of.
    const place = { parentAgentName: task.parent, agentName: task.agent, required: true };
    return { ...this.#parts.parent.context, ...place, ...declared };
  }
}
