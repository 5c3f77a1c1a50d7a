// What is kept of a run's events: short steps, the newest hint and answer, and the usage. Never the raw events.
import { progressLine, withStep } from "../record/rules.ts";
import type { UsageRow } from "../record/schema.ts";
import { UsageSum } from "../record/usage.ts";
import type { RunEvent } from "../runner.ts";

export class RunLog {
  #steps: readonly string[] = [];
  #stepCount = 0;
  #progress = "";
  #answer: { readonly text: string; readonly error?: string } | undefined;
  readonly #usage = new UsageSum();

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
    return this.#usage.tokens;
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
        this.#usage.add(event.usage);
        return false;
      case "alive":
        return false;
    }
  }

  /** One row for each kind and model. */
  usageRows(task: string, created: string): readonly UsageRow[] {
    return this.#usage.rows(task, created);
  }
}
