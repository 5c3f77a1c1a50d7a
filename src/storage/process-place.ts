// Where a process runs, as it is written down: a type of its own, since programs that use this package see it.

/** Where an id of a process means the same process: on one machine, since its start, in one set of ids. */
export interface ProcessPlace {
  readonly host: string;
  /** Tells machines of one name apart; null where the system does not say. */
  readonly machine: string | null;
  readonly boot: string;
  /** The set of ids: containers have their own. */
  readonly pids: string;
}
