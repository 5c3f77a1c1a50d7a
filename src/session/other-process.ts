// Watches for another process that has the same session open, and warns of each new one.
import { forkCommand } from "../packages/host.ts";
import type { Presence } from "../task/presence.ts";

export class OtherProcessWatch {
  readonly #presence: Pick<Presence, "otherProcess">;
  readonly #sessionFile: string | undefined;
  readonly #report: (problem: string) => void;
  #warnedOf: number | undefined;

  constructor(
    presence: Pick<Presence, "otherProcess">,
    sessionFile: string | undefined,
    report: (problem: string) => void,
  ) {
    this.#presence = presence;
    this.#sessionFile = sessionFile;
    this.#report = report;
  }

  /** Whether there is one now. */
  get isThere(): boolean {
    return this.#presence.otherProcess() !== undefined;
  }

  /** Warns of one that was not there at the last look. */
  look(): void {
    const other = this.#presence.otherProcess();
    if (other !== undefined && other !== this.#warnedOf) this.#report(openElsewhere(other, this.#sessionFile));
    this.#warnedOf = other;
  }
}

function openElsewhere(pid: number, sessionFile: string | undefined): string {
  const inFork = sessionFile === undefined ? "" : `, or go on in a fork: ${forkCommand(sessionFile)}`;
  return (
    `another Pi, process ${pid}, has this session open too. Both write the same session file and the same notes, ` +
    `checkpoint.md among them. Close one of them${inFork}`
  );
}
