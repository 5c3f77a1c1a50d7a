// Progress of a long operation, and how to cancel it.
export interface Work {
  /** Aborted when a person stops it: what is done stays. */
  readonly signal: AbortSignal;
  /** Called now and then; `done` equals `total` at the end. */
  report(done: number, total: number): void;
}
