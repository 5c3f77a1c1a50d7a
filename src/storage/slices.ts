// Work that pauses now and then, done at once, or in slices with the event loop running in between. On a slow disk a slice
// is one step: who looks at many files pauses behind each.
import { setImmediate as nextTurn } from "node:timers/promises";

/** How long the event loop is held. */
const SLICE_MS = 8;

export function atOnce<T>(work: Generator<void, T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** Rejects with the signal's reason when that comes first. */
export async function inSlices<T>(work: Generator<void, T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    let untilMs = performance.now() + SLICE_MS;
    let step = work.next();
    for (; !step.done; step = work.next()) {
      if (performance.now() < untilMs) continue;
      await nextTurn();
      signal?.throwIfAborted();
      untilMs = performance.now() + SLICE_MS;
    }
    return step.value;
  } finally {
    // What it has open is closed.
    work.return(undefined as never);
  }
}
