// The settled boundary: nothing runs, nothing is queued, no retry is pending. Newer hosts have an event for it;
// for 0.73.1 it is emulated from agent_end by waiting until the session has been quiet.
import type { HostContext, HostEvents } from "./api.ts";

export interface Settled {
  readonly aborted: boolean;
}

export interface RetrySettings {
  readonly enabled: boolean;
  readonly maxRetries: number;
  readonly baseDelayMs: number;
}

/** Pi's own defaults. */
export const DEFAULT_RETRY: RetrySettings = { enabled: true, maxRetries: 3, baseDelayMs: 2_000 };

/**
 * How often 0.73.1 is asked whether it is quiet; the other quiet times are multiples of it. This variable is only for tests
 * that open hundreds of sessions.
 */
export const QUIET_TICK_VARIABLE = "PI_TOKEN_BUDGET_QUIET_TICK_MS";
const QUIET_TICK_MS = 25;
const QUIET_TICKS = 6;
/** The timer by which 0.73.1 continues after an overflow; no setting changes it. */
const HOST_CONTINUES_AFTER_MS = 100;
const TICKS_AFTER_COMPACTION = 4;
/** Added to the host's own back-off before a retry. */
const TICKS_AFTER_RETRY = 20;

/** The tick from an environment: a number of milliseconds from 1 up to the default, else the default. */
export function quietTickMs(env: Readonly<Record<string, string | undefined>>): number {
  const given = Number(env[QUIET_TICK_VARIABLE]);
  return given >= 1 && given <= QUIET_TICK_MS ? given : QUIET_TICK_MS;
}

/** How long it must be quiet on 0.73.1 after what happened last; `backOffMs` is the host's own wait before a retry. */
export function quietMs(tickMs: number, after: "run" | "compaction" | { readonly backOffMs: number }): number {
  if (after === "run") return QUIET_TICKS * tickMs;
  if (after === "compaction") return HOST_CONTINUES_AFTER_MS + TICKS_AFTER_COMPACTION * tickMs;
  return after.backOffMs + TICKS_AFTER_RETRY * tickMs;
}

/** How often 0.73.1 is asked whether a control turn has ended. */
const IDLE_POLL_MS = 20;

/**
 * Calls `handler` once at each settled boundary. On hosts with the native event the handler is awaited by the host; on
 * 0.73.1 it runs on its own. The methods in the first part are steps of the host's events.
 */
export class SettledBoundary {
  readonly #handler: (settled: Settled, ctx: HostContext) => Promise<void> | void;
  readonly #retry: () => RetrySettings;
  readonly #tickMs: number;
  /** The host has the event. */
  #isNative = false;
  readonly #waiting: (() => void)[] = [];
  /** Numbers the watches: an older one is over. */
  #watch = 0;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(
    handler: (settled: Settled, ctx: HostContext) => Promise<void> | void,
    retry: () => RetrySettings,
    tickMs: number,
  ) {
    this.#handler = handler;
    this.#retry = retry;
    this.#tickMs = tickMs;
  }

  readonly hostSettled = async (event: HostEvents["agent_settled"]["event"], ctx: HostContext): Promise<void> => {
    this.#isNative = true;
    this.#cancel();
    await this.#reached({ aborted: event.aborted === true }, ctx);
  };

  /** Something is about to run. */
  readonly cancel = (): void => this.#cancel();

  /** The session ends: nothing settles here any more. */
  readonly close = (): void => {
    this.#resolveWaiting();
    this.#cancel();
  };

  readonly prompted = (): void => {
    this.#failures = 0;
  };

  readonly runEnded = (event: HostEvents["agent_end"]["event"], ctx: HostContext): void => {
    const last = event.messages.findLast((message) => message.role === "assistant");
    const { enabled, maxRetries, baseDelayMs } = this.#retry();
    const mayRetry = last?.stopReason === "error" && enabled && this.#failures < maxRetries;
    const backOffMs = mayRetry ? baseDelayMs * 2 ** this.#failures++ : undefined;
    const after = backOffMs === undefined ? "run" : { backOffMs };
    this.#watchFor({ aborted: last?.stopReason === "aborted" }, ctx, quietMs(this.#tickMs, after));
  };

  readonly compacted = (_event: object, ctx: HostContext): void =>
    this.#watchFor({ aborted: false }, ctx, quietMs(this.#tickMs, "compaction"));

  /** Resolves at the next boundary. */
  runEnd(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Resolves when the run that was just started inside a compaction hook has ended. 0.73.1 sends no events there, so it
   * is asked; on newer hosts `isIdle` says nothing during a compaction and the event does.
   */
  async turnEnd(ctx: HostContext): Promise<void> {
    if (this.#isNative || ctx.mode !== undefined) return this.runEnd();
    do await new Promise((resolve) => setTimeout(resolve, IDLE_POLL_MS));
    while (isBusy(ctx));
  }

  #reached(settled: Settled, ctx: HostContext): Promise<void> | void {
    this.#resolveWaiting();
    return this.#handler(settled, ctx);
  }

  #resolveWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #cancel(): void {
    this.#watch++;
    clearTimeout(this.#timer);
  }

  #watchFor(settled: Settled, ctx: HostContext, forMs: number): void {
    if (this.#isNative) return;
    this.#cancel();
    const watch = this.#watch;
    const notBefore = performance.now() + forMs;
    let quietTicks = 0;
    const tick = () => {
      if (watch !== this.#watch) return;
      const quiet = isQuiet(ctx);
      if (quiet === undefined) return;
      quietTicks = quiet ? quietTicks + 1 : 0;
      if (quietTicks >= QUIET_TICKS && performance.now() >= notBefore) void this.#reached(settled, ctx);
      else this.#timer = setTimeout(tick, this.#tickMs);
    };
    this.#timer = setTimeout(tick, 0);
  }
}

/** Whether a run is under way; none is in a session that is gone. */
export function isBusy(ctx: HostContext): boolean {
  try {
    return !ctx.isIdle();
  } catch {
    // A context of a session that is gone.
    return false;
  }
}

/** Undefined when the context belongs to a session that is gone. */
function isQuiet(ctx: HostContext): boolean | undefined {
  try {
    return ctx.isIdle() && !ctx.hasPendingMessages();
  } catch {
    return undefined;
  }
}
