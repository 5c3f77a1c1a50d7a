// A task that runs here, as whoever dispatched it holds it: its events, its end, and the way to stop it.
import { messageOf } from "../../errors.ts";
import type { TaskView } from "../record/view.ts";
import type { StopReason } from "./limits.ts";

/** What happens to a task. */
export type TaskEvent =
  | {
      readonly type: "progress";
      /** What it does now: one line of at most 500 characters. */
      readonly text: string;
    }
  | {
      readonly type: "step";
      /** What it did, as it is kept in `steps`: one line of at most 500 characters. */
      readonly text: string;
    }
  | {
      readonly type: "ended";
      /** The task after its end; nothing comes behind it. */
      readonly task: TaskView;
    };

/** A task that this process runs. */
export interface TaskHandle {
  /** The task as it was stored. */
  readonly task: TaskView;
  /** The task after its end, whatever that was: look at `status`. It never rejects. */
  readonly result: Promise<TaskView>;
  /** Tells what happens from now on; call what is returned to stop that. What a listener throws goes to `report`; never throws. */
  subscribe(listener: (event: TaskEvent) => void): () => void;
  /** Ends it, also while it waits; resolves when it has ended, at once when it had already. Never rejects. */
  cancel(): Promise<void>;
}

/** What the dispatcher keeps of it. */
export interface Active {
  readonly handle: TaskHandle;
  readonly stop: AbortController;
}

export interface StartParts {
  /** Cancels the task. */
  readonly signal: AbortSignal | undefined;
  readonly report: (problem: string) => void;
  /** Never rejects. */
  readonly run: (stop: AbortController, emit: (event: TaskEvent) => void) => Promise<TaskView>;
}

export function startHandle(task: TaskView, { signal, report, run }: StartParts): Active {
  const listeners = new Set<(event: TaskEvent) => void>();
  const emit = (event: TaskEvent) => {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        report(messageOf(error));
      }
    }
  };
  const stop = new AbortController();
  const cancelled: StopReason = { type: "cancelled" };
  const onAbort = () => stop.abort(cancelled);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const result = run(stop, emit).then((final) => {
    signal?.removeEventListener("abort", onAbort);
    emit({ type: "ended", task: final });
    return final;
  });
  const subscribe = (listener: (event: TaskEvent) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const cancel = async () => {
    onAbort();
    await result;
  };
  return { handle: { task, result, subscribe, cancel }, stop };
}
