// The settled boundary: nothing runs, nothing is queued, no retry is pending. Newer hosts have an event for it;
// for 0.73.1 it is emulated from agent_end by waiting until the session has been quiet.
import type { HostApi, HostContext } from "./api.ts";

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
 * How often 0.73.1 is asked whether it is quiet; the other quiet times are so many ticks. Tests that open hundreds of
 * sessions make it shorter with this variable, which is for nothing else.
 */
export const QUIET_TICK_VARIABLE = "PI_TOKEN_BUDGET_QUIET_TICK_MS";
const QUIET_TICK_MS = 25;
const QUIET_TICKS = 6;
/** 0.73.1 continues after an overflow by a timer of so long, which no setting changes. */
const HOST_CONTINUES_AFTER_MS = 100;
const TICKS_AFTER_COMPACTION = 4;
/** Added to the host's own back-off before a retry. */
const TICKS_AFTER_RETRY = 20;

/** The tick from an environment; anything but a number of milliseconds from 1 up to the usual one is the usual one. */
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

interface EmulationState {
  turn: number;
  timer: NodeJS.Timeout | undefined;
  failures: number;
}

/** How often 0.73.1 is asked whether a control turn has ended. */
const IDLE_POLL_MS = 20;

/** A boundary to wait for, beside the handler. */
export interface SettledBoundary {
  /**
   * Resolves when the run that was just started inside a compaction hook has ended. 0.73.1 sends no events there, so it
   * is asked; on newer hosts `isIdle` says nothing during a compaction and the event does.
   */
  turnEnd(ctx: HostContext): Promise<void>;
  /** Resolves at the next boundary. */
  runEnd(): Promise<void>;
}

/**
 * Calls `handler` once at each settled boundary. On hosts with the native event the handler is awaited by the host; on
 * 0.73.1 it runs on its own.
 */
export function onSettled(
  api: HostApi,
  handler: (settled: Settled, ctx: HostContext) => Promise<void> | void,
  retry: () => RetrySettings,
  tickMs: number,
): SettledBoundary {
  let native = false;
  const waiting: (() => void)[] = [];
  const state: EmulationState = { turn: 0, timer: undefined, failures: 0 };
  const cancel = () => {
    state.turn++;
    clearTimeout(state.timer);
  };
  const reached = (settled: Settled, ctx: HostContext) => {
    for (const resolve of waiting.splice(0)) resolve();
    return handler(settled, ctx);
  };
  api.on("agent_settled", async (event, ctx) => {
    native = true;
    cancel();
    await reached({ aborted: event.aborted === true }, ctx);
    return undefined;
  });
  const watch = (ctx: HostContext, settled: Settled, quietMs: number) => {
    if (native) return;
    cancel();
    const turn = state.turn;
    const notBefore = performance.now() + quietMs;
    let quietTicks = 0;
    const tick = () => {
      if (turn !== state.turn) return;
      const quiet = isQuiet(ctx);
      if (quiet === undefined) return;
      quietTicks = quiet ? quietTicks + 1 : 0;
      if (quietTicks >= QUIET_TICKS && performance.now() >= notBefore) void reached(settled, ctx);
      else state.timer = setTimeout(tick, tickMs);
    };
    state.timer = setTimeout(tick, 0);
  };
  const stop = () => {
    cancel();
    return undefined;
  };
  api.on("agent_start", stop);
  api.on("session_before_compact", stop);
  api.on("session_shutdown", () => {
    // Nothing will settle here any more.
    for (const resolve of waiting.splice(0)) resolve();
    return stop();
  });
  api.on("before_agent_start", () => {
    state.failures = 0;
    return undefined;
  });
  api.on("agent_end", (event, ctx) => {
    const last = event.messages.findLast((message) => message.role === "assistant");
    const { enabled, maxRetries, baseDelayMs } = retry();
    const mayRetry = last?.stopReason === "error" && enabled && state.failures < maxRetries;
    const backOffMs = mayRetry ? baseDelayMs * 2 ** state.failures++ : undefined;
    const after = backOffMs === undefined ? "run" : { backOffMs };
    watch(ctx, { aborted: last?.stopReason === "aborted" }, quietMs(tickMs, after));
    return undefined;
  });
  api.on("session_compact", (_event, ctx) => {
    watch(ctx, { aborted: false }, quietMs(tickMs, "compaction"));
    return undefined;
  });
  const runEnd = () => new Promise<void>((resolve) => waiting.push(resolve));
  return {
    runEnd,
    turnEnd: async (ctx) => {
      if (native || ctx.mode !== undefined) return runEnd();
      do await new Promise((resolve) => setTimeout(resolve, IDLE_POLL_MS));
      while (isBusy(ctx));
    },
  };
}

/** Whether a run goes on; none does in a session that is gone. */
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
