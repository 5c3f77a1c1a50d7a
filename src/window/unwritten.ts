// A person's words that 0.73.1 takes out of its queue for a control turn and writes nowhere: they are kept out of that
// turn, where no tool may run, and said again when it is over. On other hosts every word has its entry.
import type { LogMessage } from "../host/entries.ts";
import type { BranchIndex } from "../log/branch.ts";
import { isCopyOf } from "./alignment.ts";

/** Entries that could be those of the newest messages. */
const NEWEST_ROWS = 32;

/** Messages of a person that are shown but in no entry, after the newest message that is in one. */
function unwritten(messages: readonly LogMessage[], branch: BranchIndex): readonly LogMessage[] {
  const rows = branch.rows.slice(-NEWEST_ROWS);
  const behind = messages.findLastIndex((message) => rows.some(({ entry }) => isCopyOf(message, entry))) + 1;
  return messages.slice(behind).filter(({ role }) => role === "user");
}

export class UnwrittenMessages {
  #kept: readonly LogMessage[] = [];
  /** They stay in the host's messages until its next compaction. */
  readonly #times = new Set<number>();

  /** Keeps what the messages of a control turn hold and the log does not. */
  keep(messages: readonly LogMessage[], branch: BranchIndex): void {
    const fresh = unwritten(messages, branch).filter((message) => !this.#isHeldBack(message));
    this.#kept = [...this.#kept, ...fresh];
    for (const { timestamp } of fresh) if (timestamp !== undefined) this.#times.add(timestamp);
  }

  heldBackFrom(messages: readonly LogMessage[]): readonly LogMessage[] {
    return this.#times.size === 0 ? messages : messages.filter((message) => !this.#isHeldBack(message));
  }

  /** What was kept, once. */
  take(): readonly LogMessage[] {
    const words = this.#kept;
    this.#kept = [];
    return words;
  }

  #isHeldBack({ role, timestamp }: LogMessage): boolean {
    return role === "user" && timestamp !== undefined && this.#times.has(timestamp);
  }
}
