// Accepts tasks: checks the request, chooses category and model, asks the quotas, and stores the record that a run starts
// from. It starts nothing, and a refusal leaves nothing behind (but a row that counts refusals by a quota).
import { shownValue, TokenBudgetError } from "../errors.ts";
import { type ProcessName, thisProcess } from "../storage/processes.ts";
import { ADDRESS_MAX_CHARS } from "../task/addresses.ts";
import { frozenReferences } from "./brief/sources.ts";
import type { DispatcherParts } from "./parts.ts";
import { dailyQuota } from "./quota.ts";
import { agentOfRun, PROGRESS_QUEUED, titleOf } from "./record/rules.ts";
import { newId, nowText, type TaskRecord, type TaskRow } from "./record/schema.ts";
import type { Admit, RecordStore } from "./record/store.ts";
import { checkedRequest, type DispatchRequest, freeAddress } from "./request.ts";
import { choiceAgain, chosenModel } from "./routing.ts";
import type { AcceptedTask } from "./run/queue.ts";
import type { Runner } from "./runner.ts";

export class Intake {
  readonly #parts: DispatcherParts;
  readonly #store: RecordStore;
  readonly #runners: ReadonlyMap<string, Runner>;
  readonly #mustWait: () => boolean;
  readonly #self: ProcessName = thisProcess();

  /** `mustWait`: whether a task that is accepted now has to wait for a free slot. */
  constructor(parts: DispatcherParts, store: RecordStore, mustWait: () => boolean) {
    this.#parts = parts;
    this.#store = store;
    this.#runners = new Map(parts.runners.map((runner) => [runner.name, runner]));
    this.#mustWait = mustWait;
  }

  async open(request: DispatchRequest): Promise<AcceptedTask> {
    const { parent, baseDirectory } = this.#parts;
    const id = newId();
    const parts = { parent, runners: this.#runners, baseDirectory, taskId: id };
    const { goal, context, choice, runner, address, pinned, attachments, cwd } = checkedRequest(request, parts);
    const model = await chosenModel(this.#parts, runner, { category: choice.category, pinned });
    const sandbox = (await runner.sandbox?.({ cwd })) ?? null;
    await parent.flush?.();
    const now = nowText();
    const names = attachments.map(({ filename }) => filename);
    const task: TaskRow = {
      id,
      rootSession: parent.context.rootSessionId,
      agent: address,
      parent: parent.agentName,
      category: choice.category,
      categoryOwn: choice.own,
      title: titleOf(goal, names),
      requirement: goal,
      context,
      runner: runner.name,
      sandbox,
      ...this.#started(),
      result: null,
      model,
      modelPinned: pinned !== undefined,
      cwd,
      references: await frozenReferences(parent),
      runs: 1,
      created: now,
      updated: now,
    };
    const { signal } = request;
    const claim = request.agentName === undefined ? undefined : () => this.#assertFree(request, id);
    const record = await this.#store.create(task, attachments, { signal, claim, admit: this.#admit() });
    return { record, runner, signal };
  }

  /** Accepts another run of a task that has ended. */
  async reopen({ task: old }: TaskRecord, signal: AbortSignal | undefined): Promise<AcceptedTask> {
    const runner = this.#runners.get(old.runner);
    if (runner === undefined)
      throw new TokenBudgetError(
        "refused",
        `Task ${old.id} ran on ${shownValue(old.runner)}, which this dispatcher does not have.`,
      );
    const pinned = old.modelPinned ? (old.model ?? undefined) : undefined;
    const { own: categoryOwn, category } = choiceAgain(old, this.#parts.parent, runner);
    const model = await chosenModel(this.#parts, runner, { category, pinned });
    const sandbox = (await runner.sandbox?.({ cwd: old.cwd })) ?? null;
    await this.#admit()?.(await this.#store.usedOn(nowText()));
    const record = await this.#store.restart(old.id, (task) => ({
      ...task,
      sandbox,
      category,
      categoryOwn,
      ...this.#started(),
      model,
      agent: this.#freeAgain(task),
      runs: task.runs + 1,
      updated: nowText(),
    }));
    return { record, runner, signal };
  }

  /** The fields that every run starts with. */
  #started(): Pick<TaskRow, "status" | "progress" | "steps" | "error" | "process"> {
    const progress = this.#mustWait() ? PROGRESS_QUEUED : "";
    return { status: "processing", progress, steps: [], error: null, process: this.#self };
  }

  /** A name belongs to one agent: also to one that has not joined yet. */
  #assertFree({ agentName }: DispatchRequest, taskId: string): void {
    const address = freeAddress(this.#parts.parent, agentName, taskId);
    const other = this.#store.processing().records.find(({ task }) => task.agent === address);
    if (other === undefined) return;
    throw new TokenBudgetError(
      "name_collision",
      `agentName is ${shownValue(agentName)}: ${address} is the agent of task ${other.task.id}, which is not over. Nothing was stored. Choose another name, or leave it out for an automatic one.`,
    );
  }

  /** The address of a task's next run. No task is named like a run, but another session may have joined under that name. */
  #freeAgain(task: TaskRow): string {
    const address = agentOfRun(task, task.runs + 1);
    if (address.length > ADDRESS_MAX_CHARS)
      throw new TokenBudgetError(
        "invalid_address",
        `The next run of task ${task.id} would have an address of ${address.length} characters, and at most ${ADDRESS_MAX_CHARS} are possible. Nothing was changed. Dispatch its goal as a new task.`,
      );
    if (!this.#parts.parent.agents().some(({ agentName }) => agentName === address)) return address;
    throw new TokenBudgetError(
      "name_collision",
      `The next run of task ${task.id} would be ${address}, and ${address} is another agent of this root task. Nothing was changed. Dispatch its goal as a new task.`,
    );
  }

  /** Asks the quotas, and counts a refusal; undefined where there are none. */
  #admit(): Admit | undefined {
    const { quota, settings } = this.#parts;
    const daily = settings().taskQuota;
    const quotas = [...(daily === null ? [] : [dailyQuota(daily)]), ...(quota ? [quota] : [])];
    if (quotas.length === 0) return undefined;
    return async (used) => {
      for (const ask of quotas) {
        const answer = await ask(used);
        if (answer.allowed) continue;
        await this.#store.addRefusal("task");
        throw new TokenBudgetError(
          "refused",
          `The task was not dispatched: ${answer.reason}. Nothing was stored. Wait until tomorrow, or have the quota raised.`,
        );
      }
    };
  }
}
