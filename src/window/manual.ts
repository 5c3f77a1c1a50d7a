// The control turn of a manual compaction: the model is asked for its checkpoint, and the caller waits until that turn
// has ended, one way or another. It never compacts and never judges whether the checkpoint was saved.

/** After this the checkpoint turn is ended and the compaction cancelled. */
const CHECKPOINT_TURN_LIMIT_MS = 5 * 60_000;

/** How long an aborted turn may take to end before it is left behind. */
const ABORTED_TURN_GRACE_MS = 10_000;

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

/** What a control turn has come to. */
export type Checkpoint =
  | { readonly type: "saved" }
  /** By the person, or by a bound of ours that has said so. */
  | { readonly type: "stopped" }
  | { readonly type: "timed_out" }
  | { readonly type: "unsaved" }
  /** The provider answered with an error; its words. */
  | { readonly type: "failed"; readonly error: string };

export type TurnOutcome = "ended" | "aborted" | "timed_out";

/** Runs the turn; `signal` is the compaction's own, aborted by Esc. */
export async function runControlTurn(
  turn: ControlTurn,
  signal: AbortSignal,
  limitMs: number = CHECKPOINT_TURN_LIMIT_MS,
): Promise<TurnOutcome> {
  if (signal.aborted) return "aborted";
  let timedOut = false;
  let grace: NodeJS.Timeout | undefined;
  let leaveBehind = () => {};
  const leftBehind = new Promise<void>((resolve) => {
    leaveBehind = resolve;
  });
  const abort = () => {
    grace ??= setTimeout(leaveBehind, ABORTED_TURN_GRACE_MS);
    try {
      turn.abort();
    } catch {
      // A session that is gone has no turn to end.
    }
  };
  const timer = setTimeout(() => {
    timedOut = true;
    abort();
  }, limitMs);
  signal.addEventListener("abort", abort, { once: true });
  try {
    turn.start();
    // Waited for even when aborted: hosts write the rest of the turn down while it ends.
    await Promise.race([turn.end, leftBehind]);
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    signal.removeEventListener("abort", abort);
  }
  if (timedOut) return "timed_out";
  return signal.aborted || turn.runSignal()?.aborted === true ? "aborted" : "ended";
}
