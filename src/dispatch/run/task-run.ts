// One run of a task, from its working directory to the commit of its end. It always ends: time limits stop a runner that
// hangs, and every failure becomes the task's error.
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../errors.ts";
import { extractText } from "../../extract/extract.ts";
import { realPathOf } from "../../storage/blobs.ts";
import type { TaskMembership } from "../../task/context.ts";
import { type BriefSources, type PromptAttachment, TASK_SYSTEM_PROMPT, taskPrompt } from "../brief/prompt.ts";
import type { NewFile } from "../files/roles.ts";
import { Workspace } from "../files/workspace.ts";
import { askedOf, ERROR_INTERRUPTED, filesByRole, isInRun, type TaskEnd } from "../record/rules.ts";
import { nowText, type TaskRecord } from "../record/schema.ts";
import type { RecordStore } from "../record/store.ts";
import type { RunEvent, Runner } from "../runner.ts";
import type { RunLimits } from "../settings.ts";
import type { RunUsage } from "../task-view.ts";
import { type InternalPaths, withoutInternalPaths, withoutTaskFolder } from "./result-text.ts";
import type { RunLog } from "./run-log.ts";

/** Why a run was stopped. */
export type StopReason =
  | { readonly type: "cancelled" }
  /** The process that runs it ends. */
  | { readonly type: "closed" }
  /** No event arrived for this long. */
  | { readonly type: "silent"; readonly ms: number };

export interface RunParts {
  readonly store: RecordStore;
  readonly workRoot: string;
  readonly record: TaskRecord;
  readonly runner: Runner;
  readonly membership: TaskMembership;
  readonly sources: () => Promise<BriefSources>;
  readonly extractChars: number;
  readonly limits: RunLimits;
  /** What is kept of the run's events. */
  readonly log: RunLog;
  /** Aborted with a `StopReason`. */
  readonly stop: AbortController;
  /** Called when steps or progress have changed. */
  readonly onEvent: (event: RunEvent) => void;
  readonly report: (problem: string) => void;
}

export class TaskRun {
  readonly #parts: RunParts;
  #saving: Promise<void> = Promise.resolve();
  #isUnaccounted = false;
  /** Once it works there. */
  #places: Pick<InternalPaths, "directories" | "prefix"> | undefined;
  #saveTimer: NodeJS.Timeout | undefined;
  #silenceTimer: NodeJS.Timeout | undefined;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  get #log(): RunLog {
    return this.#parts.log;
  }

  /** Runs the task and commits its end; returns the record after that. Never rejects. */
  async run(): Promise<TaskRecord> {
    let workspace: Workspace;
    try {
      workspace = await this.#open();
    } catch (error) {
      return this.giveUp(error);
    }
    let failure: TaskEnd | undefined;
    try {
      await this.#work(workspace);
    } catch (error) {
      failure = this.#failure(error);
    } finally {
      clearTimeout(this.#silenceTimer);
    }
    const { end, files } = await this.#reached(workspace, failure);
    return this.#commit(end, files, () => workspace.remove());
  }

  #open(): Promise<Workspace> {
    const { record, store, stop, workRoot } = this.#parts;
    const { id: taskId, cwd } = record.task;
    const inputs = filesByRole(record.files, "input").map((row) => ({ ...row, stored: store.files.pathOf(row) }));
    return Workspace.open({ taskId, workRoot, cwd, inputs, signal: stop.signal });
  }

  /** The end of the run, and what it has written, which is kept whatever the end is. */
  async #reached(
    workspace: Workspace,
    failure: TaskEnd | undefined,
  ): Promise<{ readonly end: TaskEnd; readonly files: readonly NewFile[] }> {
    try {
      const { files, steps } = await workspace.collect(askedOf(this.#parts.record));
      for (const text of steps) this.#log.add({ type: "step", text });
      return { end: failure ?? this.#endOf(workspace, files), files };
    } catch (error) {
      return { end: failure ?? this.#failure(error), files: [] };
    }
  }

  /** Commits the end of a task that never got its turn. Never rejects. */
  async giveUp(error: unknown): Promise<TaskRecord> {
    return this.#commit(this.#failure(error), []);
  }

  async #work(workspace: Workspace): Promise<void> {
    const { record, runner, membership, stop } = this.#parts;
    this.#places = { directories: directoriesOf(workspace), prefix: workspace.prefix };
    const prompt = await this.#prompt(workspace);
    stop.signal.throwIfAborted();
    this.#take({ type: "progress", text: "started" });
    this.#expectEvent();
    const run = runner.run({
      taskId: record.task.id,
      prompt,
      systemPrompt: TASK_SYSTEM_PROMPT,
      cwd: workspace.cwd,
      model: record.task.model,
      membership,
      signal: stop.signal,
      onEvent: (event) => this.#take(event),
    });
    await this.#bounded(run);
    stop.signal.throwIfAborted();
  }

  async #prompt(workspace: Workspace): Promise<string> {
    const { record, sources, extractChars, stop } = this.#parts;
    const attachments: PromptAttachment[] = [];
    for (const input of workspace.inputs) {
      const { filename: name, size: bytes } = input;
      this.#take({ type: "progress", text: `reading ${name}` });
      const extraction = await extractText(input.at, extractChars, { signal: stop.signal });
      const text =
        extraction.type === "none"
          ? { reason: extraction.reason }
          : { path: workspace.putText(input, extraction.text), cut: extraction.cut };
      attachments.push({ name, bytes, path: input.path, text });
    }
    const { requirement, context } = record.task;
    return taskPrompt({ ...(await sources()), requirement, context, attachments, prefix: workspace.prefix });
  }

  /** Settles with the runner, or rejects a while after a stop that the runner ignores. */
  async #bounded(run: Promise<void>): Promise<void> {
    const { stop, limits } = this.#parts;
    const settled = new AbortController();
    const { signal } = settled;
    const ignored = async () => {
      if (!stop.signal.aborted) await once(stop.signal, "abort", { signal });
      await delay(limits.stopLimitMs, undefined, { signal });
      throw stop.signal.reason;
    };
    const race = [run, ignored()];
    try {
      await Promise.race(race);
    } finally {
      settled.abort();
      for (const each of race) each.catch(() => undefined);
    }
  }

  /** Restarts the silence timer. */
  #expectEvent(): void {
    const { stop, limits } = this.#parts;
    clearTimeout(this.#silenceTimer);
    const reason: StopReason = { type: "silent", ms: limits.silenceLimitMs };
    this.#silenceTimer = setTimeout(() => stop.abort(reason), limits.silenceLimitMs);
  }

  #take(event: RunEvent): void {
    if (this.#silenceTimer !== undefined) this.#expectEvent();
    if (event.type === "usage") this.#account(event.usage);
    const shown = this.#asShown(event);
    if (!this.#log.add(shown)) return;
    this.#parts.onEvent(shown);
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      this.#saving = this.#saving.then(() => this.#save());
    }, this.#parts.limits.saveEveryMs);
  }

  /** A person and the dispatching agent read steps, and know nothing of where the task's folders lie. */
  #asShown(event: RunEvent): RunEvent {
    const places = this.#places;
    if (places === undefined || (event.type !== "step" && event.type !== "progress")) return event;
    return { ...event, text: withoutTaskFolder(event.text, places) };
  }

  /** At once, so that a kill loses nothing of it. A disk that fails is reported once, and stops no run. */
  #account(usage: RunUsage): void {
    const { store, record, report } = this.#parts;
    try {
      store.ledger.addUsage({ task: record.task.id, run: record.task.runs }, usage);
    } catch (error) {
      if (!this.#isUnaccounted) report(`Task ${record.task.id}: ${messageOf(error)}`);
      this.#isUnaccounted = true;
    }
  }

  async #save(): Promise<void> {
    const { store, record } = this.#parts;
    const { steps, progress } = this.#log;
    try {
      await store.update(record.task.id, (current) => {
        if (!isInRun(current.task, record.task)) return current;
        return { ...current, task: { ...current.task, steps, progress, updated: nowText() } };
      });
    } catch {
      // The next save or the end writes it all; a disk that fails is reported there.
    }
  }

  #endOf(workspace: Workspace, files: readonly NewFile[]): TaskEnd {
    const { prefix } = workspace;
    const { answer } = this.#log;
    if (answer === undefined) return failed("the run ended without an answer");
    if (answer.error !== undefined) return failed(answer.error);
    if (answer.text === "" && files.length === 0) return failed("the run ended with an empty answer and no files");
    const { workRoot, store } = this.#parts;
    const directories = [...new Set([...directoriesOf(workspace), workRoot, store.directory])];
    const names = workspace.namesOf(files);
    return {
      status: "completed",
      result: withoutInternalPaths(answer.text, { directories, prefix, names }),
      error: null,
    };
  }

  #failure(error: unknown): TaskEnd {
    const { stop } = this.#parts;
    if (!stop.signal.aborted) return failed(messageOf(error));
    const reason = stop.signal.reason as StopReason;
    switch (reason.type) {
      case "closed":
        return failed(ERROR_INTERRUPTED);
      case "silent":
        return failed(`nothing was heard of the run for ${Math.round(reason.ms / 1_000)} s, so it was stopped`);
      default:
        return { status: "cancelled", result: null, error: null };
    }
  }

  /** `clear` removes what the run has left elsewhere. */
  async #commit(reached: TaskEnd, files: readonly NewFile[], clear = async () => {}): Promise<TaskRecord> {
    clearTimeout(this.#saveTimer);
    await this.#saving;
    const { store, record, report } = this.#parts;
    const { task } = record;
    const end = { ...reached, error: reached.error && this.#withoutPaths(reached.error) };
    const usage = this.#log.usageRows(task.id, nowText());
    const { steps } = this.#log;
    try {
      return this.#ofThisRun(await store.finish(task, end, { files, usage, steps, clear }));
    } catch (error) {
      report(`Task ${task.id}: ${messageOf(error)}`);
    }
    // A full disk may still take the record without its files.
    const problem = failed("its files could not be stored; see the message above");
    const rest = files.length > 0 && end.status === "completed" ? problem : end;
    try {
      return this.#ofThisRun(await store.finish(task, rest, { usage, steps, clear }));
    } catch {
      // The record still says that this run is not over, so no other one has begun.
      await clear();
      return this.#lost("its end could not be stored");
    }
  }

  /** Where another process took this one for dead, the task may be in another run, which is not this one's to tell of. */
  #ofThisRun(after: TaskRecord): TaskRecord {
    return after.task.runs === this.#parts.record.task.runs ? after : this.#lost(ERROR_INTERRUPTED);
  }

  #lost(error: string): TaskRecord {
    const { record } = this.#parts;
    const lost = { status: "failed", progress: "", error, process: null } as const;
    return { ...record, task: { ...record.task, ...lost } };
  }

  /** Errors of disks and runners name our files, and the dispatching agent reads them. */
  #withoutPaths(error: string): string {
    const { workRoot, membership, record } = this.#parts;
    const directories = [join(workRoot, record.task.id), workRoot, membership.storageRoot];
    return withoutInternalPaths(error, { directories, prefix: "", names: new Map() });
  }
}

/** The task's folders, by both names where the way there goes through a link. */
function directoriesOf({ base }: Workspace): readonly string[] {
  return [...new Set([realPathOf(base), base])];
}

function failed(error: string): TaskEnd {
  return { status: "failed", result: null, error };
}
