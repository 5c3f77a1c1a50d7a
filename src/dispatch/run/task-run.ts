// One run of a task, from its working directory to the commit of its end. It always comes to an end: the runner is given
// bounds, and whatever fails on the way becomes the task's error.
import { join } from "node:path";
import { messageOf } from "../../errors.ts";
import { extractText } from "../../extract/extract.ts";
import { realPathOf } from "../../storage/blobs.ts";
import type { TaskMembership } from "../../task/context.ts";
import { type PromptAttachment, shownText, TASK_SYSTEM_PROMPT, taskPrompt } from "../brief/prompt.ts";
import type { Transcript } from "../brief/transcript.ts";
import { Workspace } from "../files/workspace.ts";
import type { NewFile } from "../record/rules.ts";
import { ERROR_INTERRUPTED, filesByRole, type TaskEnd, type TaskRecord } from "../record/rules.ts";
import type { RecordStore } from "../record/store.ts";
import type { RunLimits, StopReason } from "./limits.ts";
import { type RunEvent, RunLog, withoutInternalPaths } from "./run-log.ts";
import type { Runner } from "./runner.ts";

export interface RunParts {
  readonly store: RecordStore;
  readonly workRoot: string;
  readonly record: TaskRecord;
  readonly runner: Runner;
  readonly membership: TaskMembership;
  readonly transcript: () => Promise<Transcript>;
  readonly references: TaskRecord["task"]["references"] | undefined;
  readonly extractChars: number;
  readonly limits: RunLimits;
  readonly stop: AbortController;
  readonly onEvent: (event: RunEvent) => void;
  readonly report: (problem: string) => void;
}

export class TaskRun {
  readonly #parts: RunParts;
  readonly #log = new RunLog();
  #saving: Promise<void> = Promise.resolve();
  #saveTimer: NodeJS.Timeout | undefined;
  #silenceTimer: NodeJS.Timeout | undefined;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /** Runs it and commits its end; answers the record as it then is. Never rejects. */
  async run(): Promise<TaskRecord> {
    const { record, store, stop, workRoot } = this.#parts;
    const { task } = record;
    let workspace: Workspace | undefined;
    let end: TaskEnd;
    let files: readonly NewFile[] = [];
    try {
      const inputs = filesByRole(record.files, "input");
      const pathOf = (file: (typeof inputs)[number]) => store.pathOf(file);
      const { signal } = stop;
      workspace = await Workspace.open({ taskId: task.id, workRoot, cwd: task.cwd, inputs, pathOf, signal });
      await this.#work(workspace);
      const collection = await workspace.collect(`${task.requirement}\n${task.context ?? ""}`);
      for (const step of collection.steps) this.#log.addStep(step);
      end = this.#endOf(workspace, collection.files.length);
      if (end.status === "completed") files = collection.files;
    } catch (error) {
      end = this.#failure(error);
    } finally {
      clearTimeout(this.#silenceTimer);
    }
    const final = await this.#commit(end, files);
    workspace?.remove();
    return final;
  }

  /** The end of a task that never got its turn. */
  async giveUp(error: unknown): Promise<TaskRecord> {
    return this.#commit(this.#failure(error), []);
  }

  async #work(workspace: Workspace): Promise<void> {
    const { record, runner, membership, stop } = this.#parts;
    const prompt = await this.#prompt(workspace);
    stop.signal.throwIfAborted();
    this.#take({ type: "progress", text: "started" });
    this.#listen();
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
    const { record, transcript, references, extractChars, stop } = this.#parts;
    const attachments: PromptAttachment[] = [];
    for (const input of workspace.inputs) {
      const { filename: name, size: bytes } = input.file;
      this.#take({ type: "progress", text: `reading ${name}` });
      const extraction = await extractText(input.at, name, { maxChars: extractChars, signal: stop.signal });
      const textPath = extraction.type === "text" ? workspace.putText(input, extraction.text) : "";
      attachments.push({ name, bytes, path: input.path, text: shownText(extraction, textPath) });
    }
    const { requirement, context } = record.task;
    return taskPrompt({
      transcript: await transcript(),
      requirement,
      context,
      references,
      attachments,
      prefix: workspace.prefix,
    });
  }

  /** The runner's end, or a bounded time after a stop that it does not obey. */
  async #bounded(run: Promise<void>): Promise<void> {
    const { stop, limits } = this.#parts;
    let timer: NodeJS.Timeout | undefined;
    let onAbort = () => {};
    const disobeyed = new Promise<void>((_resolve, reject) => {
      onAbort = () => {
        timer = setTimeout(() => reject(stop.signal.reason), limits.stopLimitMs);
      };
      stop.signal.addEventListener("abort", onAbort, { once: true });
      if (stop.signal.aborted) onAbort();
    });
    try {
      await Promise.race([run, disobeyed]);
    } finally {
      clearTimeout(timer);
      stop.signal.removeEventListener("abort", onAbort);
      run.catch(() => undefined);
    }
  }

  #listen(): void {
    const { stop, limits } = this.#parts;
    clearTimeout(this.#silenceTimer);
    const reason: StopReason = { type: "silent", ms: limits.silenceLimitMs };
    this.#silenceTimer = setTimeout(() => stop.abort(reason), limits.silenceLimitMs);
  }

  #take(event: RunEvent): void {
    if (this.#silenceTimer !== undefined) this.#listen();
    if (!this.#log.add(event)) return;
    this.#parts.onEvent(event);
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      this.#saving = this.#saving.then(() => this.#save());
    }, this.#parts.limits.saveEveryMs);
  }

  async #save(): Promise<void> {
    const { store, record } = this.#parts;
    const { steps, progress } = this.#log;
    try {
      await store.update(record.task.id, (current) => {
        if (current.task.status !== "processing") return current;
        return { ...current, task: { ...current.task, steps: [...steps], progress, updated: store.now() } };
      });
    } catch {
      // The next save, or the end, says it all; what is wrong with the disk shows there.
    }
  }

  #endOf(workspace: Workspace, files: number): TaskEnd {
    const { answer } = this.#log;
    if (answer === undefined) return failed("the run ended without an answer");
    if (answer.error !== undefined) return failed(answer.error);
    if (answer.text === "" && files === 0) return failed("the run ended with an empty answer and no files");
    const { base, prefix } = workspace;
    const directories = [...new Set([realPathOf(base), base, join(this.#parts.workRoot), this.#parts.store.directory])];
    return { status: "completed", result: withoutInternalPaths(answer.text, { directories, prefix }), error: null };
  }

  /** Errors of disks and runners name files of ours, and are told to whoever dispatched the task. */
  #withoutPaths(error: string): string {
    const { workRoot, membership, record } = this.#parts;
    return withoutInternalPaths(error, {
      directories: [join(workRoot, record.task.id), workRoot, membership.storageRoot],
      prefix: "",
    });
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

  async #commit(reached: TaskEnd, files: readonly NewFile[]): Promise<TaskRecord> {
    clearTimeout(this.#saveTimer);
    await this.#saving;
    const { store, record } = this.#parts;
    const { id } = record.task;
    const end = { ...reached, error: reached.error === null ? null : this.#withoutPaths(reached.error) };
    const usage = this.#log.usageRows(id, store.now());
    const steps = [...this.#log.steps];
    try {
      return await store.finish(id, end, { files, usage, steps });
    } catch (error) {
      this.#parts.report(`Task ${id}: ${messageOf(error)}`);
    }
    // Without its files: a disk that is full may still take the record.
    const problem = failed("its files could not be stored; see the message above");
    try {
      return await store.finish(id, files.length > 0 ? problem : end, { usage, steps });
    } catch {
      const task = {
        ...record.task,
        status: "failed" as const,
        progress: "",
        error: "its end could not be stored",
        process: null,
      };
      return { ...record, task };
    }
  }
}

function failed(error: string): TaskEnd {
  return { status: "failed", result: null, error };
}
