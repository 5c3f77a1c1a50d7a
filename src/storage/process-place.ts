// Where a process runs, as it is written down: a type of its own, since programs that use this package see it.

/** Where a process id names one process: on one machine, since its boot, in one set of ids. */
export interface ProcessPlace {
  readonly host: string;
  /** Distinguishes machines of one name; null where the system does not say. */
  readonly machine: string | null;
  readonly boot: string;
  /** The set of ids: containers have their own. */
  readonly pids: string;
}
