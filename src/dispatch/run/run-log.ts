// What is kept of a run's events: short steps, the newest hint and answer, and the usage. Never the raw events.
import { progressLine, withStep } from "../record/rules.ts";
import { newId, type UsageRow } from "../record/schema.ts";
import type { RunEvent, RunUsage } from "../runner.ts";

export class RunLog {
  #steps: readonly string[] = [];
  #stepCount = 0;
  #progress = "";
  #answer: { readonly text: string; readonly error?: string } | undefined;
  readonly #usage = new Map<string, RunUsage>();

  get steps(): readonly string[] {
    return this.#steps;
  }

  get progress(): string {
    return this.#progress;
  }

  /** How many steps there were, those left out included. */
  get stepCount(): number {
    return this.#stepCount;
  }

  /** Input, cached and output tokens together. */
  get tokens(): number {
    return [...this.#usage.values()].reduce((sum, { input, output, cached }) => sum + input + output + cached, 0);
  }

  /** The newest answer; undefined before the first. */
  get answer(): { readonly text: string; readonly error?: string } | undefined {
    return this.#answer;
  }

  /** Returns whether steps or progress have changed. */
  add(event: RunEvent): boolean {
    switch (event.type) {
      case "step":
        this.#steps = withStep(this.#steps, event.text);
        this.#stepCount++;
        return true;
      case "progress":
        this.#progress = progressLine(event.text);
        return true;
      case "answer":
        this.#answer = event;
        return false;
      case "usage":
        this.#addUsage(event.usage);
        return false;
      case "alive":
        return false;
    }
  }

  #addUsage(usage: RunUsage): void {
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

  /** One row for each kind and model. */
  usageRows(task: string, created: string): readonly UsageRow[] {
    return [...this.#usage.values()].map((usage) => ({ id: newId(), ...usage, quantity: 1, task, created }));
  }
}
