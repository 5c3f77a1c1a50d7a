// Long work as whoever waits for it sees it: how far it is, and a way to stop it.
export interface Work {
  /** Aborted when a person stops it: what is done stays, the rest is left. */
  readonly signal: AbortSignal;
  /** Told now and then; `done` equals `total` at the end. */
  report(done: number, total: number): void;
}
