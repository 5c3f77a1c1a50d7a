// The control turn of a manual compaction: the model is asked for its checkpoint, and the caller waits until that turn
// has ended, one way or another. It never compacts and never judges whether the checkpoint was saved.

/** After this the checkpoint turn is ended and the compaction cancelled. */
export const CHECKPOINT_TURN_LIMIT_MS = 5 * 60_000;

export interface ControlTurn {
  /** Sends the message that starts the turn. */
  readonly start: () => void;
  /** Resolves when the turn has ended. Made before it starts. */
  readonly end: Promise<void>;
  /** Ends the turn early; `end` resolves then too. */
  readonly abort: () => void;
  /** The signal of the turn's own run, once it has one. */
  readonly runSignal: () => AbortSignal | undefined;
}

export type TurnOutcome = "ended" | "aborted" | "timed_out";

/** Runs the turn; `signal` is the compaction's own, aborted by Esc. */
export async function runControlTurn(
  turn: ControlTurn,
  signal: AbortSignal,
  limitMs: number = CHECKPOINT_TURN_LIMIT_MS,
): Promise<TurnOutcome> {
  if (signal.aborted) return "aborted";
  let timedOut = false;
  const onAbort = () => turn.abort();
  const timer = setTimeout(() => {
    timedOut = true;
    turn.abort();
  }, limitMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    turn.start();
    // Waited for even when aborted: hosts write the rest of the turn down while it ends.
    await turn.end;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
  if (timedOut) return "timed_out";
  return signal.aborted || turn.runSignal()?.aborted === true ? "aborted" : "ended";
}
