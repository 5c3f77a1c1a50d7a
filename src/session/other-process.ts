// Watches for another process that has the same session open, and warns of each one that comes.
import { forkCommand } from "../packages/host.ts";
import type { SessionTask } from "../task/membership.ts";

export class OtherProcessWatch {
  readonly #task: Pick<SessionTask, "otherProcess" | "stay">;
  readonly #sessionFile: string | undefined;
  readonly #report: (problem: string) => void;
  #warnedOf: number | undefined;

  constructor(
    task: Pick<SessionTask, "otherProcess" | "stay">,
    sessionFile: string | undefined,
    report: (problem: string) => void,
  ) {
    this.#task = task;
    this.#sessionFile = sessionFile;
    this.#report = report;
  }

  /** True while there is one. */
  look(): boolean {
    const other = this.#task.otherProcess();
    if (other !== undefined && other !== this.#warnedOf) this.#report(openElsewhere(other, this.#sessionFile));
    this.#warnedOf = other;
    // When that one is gone, this process takes the session up again.
    void this.#task.stay();
    return other !== undefined;
  }
}

function openElsewhere(pid: number, sessionFile: string | undefined): string {
  const inFork = sessionFile === undefined ? "" : `, or go on in a fork: ${forkCommand(sessionFile)}`;
  return (
    `another Pi, process ${pid}, has this session open too. Both write the same session file and the same notes, ` +
    `checkpoint.md among them. Close one of them${inFork}`
  );
}
