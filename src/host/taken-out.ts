// A finished answer whose usage exceeds the model's window: 0.73.1 takes it for an overflow and removes it from its messages
// before it asks whether to compact. When nothing is compacted, the answer is on the log but in no later request; here it is
// kept and put back. Where the host keeps it itself, nothing is added.
import type { LogMessage } from "./entries.ts";

function isSame(a: LogMessage, b: LogMessage): boolean {
  return a.role === b.role && a.timestamp === b.timestamp;
}

export class TakenOutAnswers {
  #answers: readonly LogMessage[] = [];

  keep(answer: LogMessage): void {
    if (!this.#answers.some((held) => isSame(held, answer))) this.#answers = [...this.#answers, answer];
  }

  /** The host has read its messages from the log again, which holds every answer. */
  forget(): void {
    this.#answers = [];
  }

  /** The messages with each answer in its place in time. */
  putBack(messages: readonly LogMessage[]): readonly LogMessage[] {
    const missing = this.#answers.filter((answer) => !messages.some((message) => isSame(message, answer)));
    if (missing.length === 0) return messages;
    const whole = [...messages];
    for (const answer of missing) {
      const later = whole.findIndex(({ timestamp }) => (timestamp ?? 0) > (answer.timestamp ?? 0));
      whole.splice(later < 0 ? whole.length : later, 0, answer);
    }
    return whole;
  }
}
