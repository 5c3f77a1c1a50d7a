// The usage of one run: steps of models summed by kind and model, as rows of a record. Pure but for the ids of rows.
import type { RunUsage } from "../task-view.ts";
import { newId, type UsageRow } from "./schema.ts";

export class UsageSum {
  readonly #usage = new Map<string, RunUsage>();

  add(usage: RunUsage): void {
    const key = `${usage.kind} ${usage.model}`;
    const known = this.#usage.get(key);
    if (known === undefined) {
      this.#usage.set(key, usage);
      return;
    }
    const amount = known.amount === null && usage.amount === null ? null : (known.amount ?? 0) + (usage.amount ?? 0);
    this.#usage.set(key, {
      ...known,
      input: known.input + usage.input,
      output: known.output + usage.output,
      cached: known.cached + usage.cached,
      amount,
    });
  }

  /** Input, cached and output tokens together. */
  get tokens(): number {
    return [...this.#usage.values()].reduce((sum, { input, output, cached }) => sum + input + output + cached, 0);
  }

  /** One row for each kind and model. */
  rows(task: string, created: string): readonly UsageRow[] {
    return [...this.#usage.values()].map((usage) => ({ id: newId(), ...usage, quantity: 1, task, created }));
  }
}
