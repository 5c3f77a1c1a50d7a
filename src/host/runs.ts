// The runs of a session: whether one is under way, what waits for the end of one, and what starts the next. 0.73.1 reports
// less than newer hosts, and later.
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import type { HostContext, HostEvents } from "./api.ts";
import { blocksOf, type ImageBlock, isImageBlock, isTextBlock, type LogMessage, type TextBlock } from "./entries.ts";
import { isBusy } from "./settled.ts";

/**
 * A run without a final answer that ended so shortly before a manual compaction was ended by it: more than a busy machine
 * takes from the one to the other, and less than a person who presses Escape and then types the command.
 */
const INTERRUPTED_BY_COMPACTION_MS = 500;

/** How often to ask, after a compaction, whether the session is idle again. */
const IDLE_POLL_MS = 25;

/** How often to ask whether a run that was just started is under way. */
const BUSY_POLLS_MAX = 40;

/** How long to wait for the events of a run that is over: other extensions may hold them up. */
const LATE_EVENTS_WAIT_MS = 1_000;

export class Runs {
  readonly #sendUserMessage: (content: readonly (TextBlock | ImageBlock)[]) => void;
  #running = false;
  #runs = 0;
  #stoppedAt = Number.NEGATIVE_INFINITY;
  /** Since the last settled boundary; what was queued behind the run may have been answered meanwhile. */
  #isStopped = false;
  /** Called when the events of a run that is over have arrived. */
  readonly #behind: (() => void)[] = [];

  constructor(sendUserMessage: (content: readonly (TextBlock | ImageBlock)[]) => void) {
    this.#sendUserMessage = sendUserMessage;
  }

  readonly started = (): void => {
    this.#running = true;
    this.#runs++;
  };

  readonly ended = ({ messages }: HostEvents["agent_end"]["event"]): void => {
    this.#running = false;
    for (const resolve of this.#behind.splice(0)) resolve();
    const last = messages.at(-1);
    const isFinished = last?.stopReason === "stop" || last?.stopReason === "length";
    if (isFinished) return;
    this.#stoppedAt = performance.now();
    this.#isStopped = true;
  };

  /** What waits for the settled boundary, such as a manual compaction that stops a run, begins after its last handler. */
  readonly settled = (): void => {
    if (this.#isStopped) this.#stoppedAt = performance.now();
    this.#isStopped = false;
  };

  /** 0.73.1 shows no end of a run that a manual compaction aborts; newer hosts show it just before. */
  isInRun(): boolean {
    return this.#running || performance.now() - this.#stoppedAt < INTERRUPTED_BY_COMPACTION_MS;
  }

  /**
   * Resolves when the log holds what a run that is over has said. `prompt()` of 0.73.1 resolves before its events, and with
   * them its newest messages, have arrived; a run that is under way is not waited for.
   */
  async written(ctx: HostContext): Promise<void> {
    await nextTurn();
    if (!this.#running || isBusy(ctx)) return;
    const ended = new Promise<void>((resolve) => this.#behind.push(resolve));
    await Promise.race([ended, delay(LATE_EVENTS_WAIT_MS, undefined, { ref: false })]);
  }

  /** Calls `then` when the session is idle again, unless another run has begun meanwhile. */
  whenIdle(ctx: HostContext, then: () => void): void {
    const runs = this.#runs;
    // A compaction has ended the run before it, though 0.73.1 did not say so.
    this.#running = false;
    const tick = () => {
      try {
        if (this.#runs !== runs) return;
        if (ctx.isIdle() && !ctx.hasPendingMessages()) then();
        else setTimeout(tick, IDLE_POLL_MS);
      } catch {
        // The session is gone.
      }
    };
    setTimeout(tick, IDLE_POLL_MS);
  }

  /**
   * Sends a person's messages again that 0.73.1 took out of its queue during a compaction and did not write to the log. The
   * first starts a run, the others queue behind it.
   */
  repeat(ctx: HostContext, words: readonly LogMessage[]): void {
    const [next, ...rest] = words;
    if (!next) return;
    setTimeout(() => {
      try {
        const content = blocksOf(next.content).filter((block) => isTextBlock(block) || isImageBlock(block));
        this.#sendUserMessage(content);
        if (rest.length > 0) this.#whenBusy(ctx, () => this.repeat(ctx, rest));
      } catch {
        // The session is gone.
      }
    }, IDLE_POLL_MS);
  }

  #whenBusy(ctx: HostContext, then: () => void, polls = BUSY_POLLS_MAX): void {
    setTimeout(() => {
      try {
        if (polls === 0 || !ctx.isIdle()) then();
        else this.#whenBusy(ctx, then, polls - 1);
      } catch {
        // The session is gone.
      }
    }, IDLE_POLL_MS);
  }
}
