// How long the event loop is held, in time of this process's processor, which others on the machine do not stretch.

/** The loop may be held for 50 ms; a test on a busy machine, with the collector of memory at work, sees a few times that. */
export const LONG_HOLD_MS = 150;

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export interface Held<T> {
  readonly answer: T;
  /** The longest that the loop was held at a time. */
  readonly heldMs: number;
}

/** Does something while the event loop is asked again and again whether it runs. */
export async function heldLongest<T>(work: () => Promise<T>): Promise<Held<T>> {
  let heldMs = 0;
  let isOver = false;
  let last = processorMs();
  const look = () => {
    const now = processorMs();
    heldMs = Math.max(heldMs, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  const answer = await work();
  isOver = true;
  look();
  return { answer, heldMs };
}
