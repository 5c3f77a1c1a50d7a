// What a session leaves behind when it ends: a root's storage is removed if a person asked for it, or if it is in memory.
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../errors.ts";
import type { BranchIndex } from "../log/branch.ts";
import { FORGET_ENTRY, forgottenBy } from "../log/marks.ts";
import { thisProcess } from "../storage/processes.ts";
import { endEphemeral, removeTask } from "../task/forget.ts";
import type { SessionTask } from "../task/membership.ts";

export interface ForgettingParts {
  readonly sessionId: string;
  readonly task: Pick<SessionTask, "parent" | "context">;
  readonly agentDir: string;
  /** The index of the branch, brought up to the log. */
  readonly branch: () => BranchIndex;
  /** Writes a data entry on the log. */
  readonly mark: (customType: string, data: unknown) => void;
}

export class Forgetting {
  readonly #parts: ForgettingParts;
  /** The person's last word here, also when the branch no longer has it, or the host has released the log. */
  #isAsked: boolean | undefined;

  constructor(parts: ForgettingParts) {
    this.#parts = parts;
  }

  /** Whether a person has asked for what the session leaves to be removed when it ends. */
  isAsked(): boolean {
    const { task, branch } = this.#parts;
    // A child's notes and journal belong to its root.
    if (task.parent !== null) return false;
    return this.#isAsked ?? isDeepStrictEqual(forgottenBy(branch().lastCustom(FORGET_ENTRY)?.entry), this.#mark());
  }

  ask(): void {
    this.#isAsked = true;
    // On the log, so that it survives a reload; it does not count for a later process that resumes the session.
    this.#parts.mark(FORGET_ENTRY, this.#mark());
  }

  /** Keeps what the session leaves after all. */
  takeBack(): void {
    this.#isAsked = false;
    this.#parts.mark(FORGET_ENTRY, null);
  }

  /** The session ends: the log cannot be read any more. */
  ends(): void {
    this.#isAsked = this.isAsked();
  }

  /** After the end, when nothing is written any more: removes what is not to stay. */
  async leave(report: (problem: string) => void): Promise<void> {
    const { task, agentDir } = this.#parts;
    if (task.parent !== null) return;
    if (this.#isAsked) await removeTask(task.context, { agentDir }).catch((error: unknown) => report(messageOf(error)));
    else await endEphemeral(task.context, { agentDir });
  }

  /** Whose end is meant: a fork has its source's entries and may run in the same process. */
  #mark(): object {
    const { pid, start } = thisProcess();
    return { process: `${pid} ${start}`, session: this.#parts.sessionId };
  }
}
