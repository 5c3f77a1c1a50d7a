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

const QUIET_TICK_MS = 25;
const QUIET_TICKS = 6;
/** 0.73.1 continues after an overflow by a 100 ms timer. */
const QUIET_AFTER_RUN_MS = 150;
const QUIET_AFTER_COMPACTION_MS = 200;
/** Added to the host's own back-off before a retry. */
const RETRY_MARGIN_MS = 500;

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
}

/**
 * Calls `handler` once at each settled boundary. On hosts with the native event the handler is awaited by the host; on
 * 0.73.1 it runs on its own.
 */
export function onSettled(
  api: HostApi,
  handler: (settled: Settled, ctx: HostContext) => Promise<void> | void,
  retry: () => RetrySettings,
): SettledBoundary {
  let native = false;
  const waiting: (() => void)[] = [];
  const state: EmulationState = { turn: 0, timer: undefined, failures: 0 };
  const cancel = () => {
    state.turn++;
    clearTimeout(state.timer);
  };
  api.on("agent_settled", async (event, ctx) => {
    native = true;
    cancel();
    for (const resolve of waiting.splice(0)) resolve();
    await handler({ aborted: event.aborted === true }, ctx);
    return undefined;
  });
  const watch = (ctx: HostContext, settled: Settled, quietMs: number) => {
    if (native) return;
    cancel();
    const turn = state.turn;
    const notBefore = Date.now() + quietMs;
    let quietTicks = 0;
    const tick = () => {
      if (turn !== state.turn) return;
      const quiet = isQuiet(ctx);
      if (quiet === undefined) return;
      quietTicks = quiet ? quietTicks + 1 : 0;
      if (quietTicks >= QUIET_TICKS && Date.now() >= notBefore) void handler(settled, ctx);
      else state.timer = setTimeout(tick, QUIET_TICK_MS);
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
    const holdMs = mayRetry ? baseDelayMs * 2 ** state.failures++ + RETRY_MARGIN_MS : QUIET_AFTER_RUN_MS;
    watch(ctx, { aborted: last?.stopReason === "aborted" }, holdMs);
    return undefined;
  });
  api.on("session_compact", (_event, ctx) => {
    watch(ctx, { aborted: false }, QUIET_AFTER_COMPACTION_MS);
    return undefined;
  });
  return {
    turnEnd: async (ctx) => {
      if (native || ctx.mode !== undefined) return new Promise((resolve) => waiting.push(resolve));
      do await new Promise((resolve) => setTimeout(resolve, IDLE_POLL_MS));
      while (isBusy(ctx));
    },
  };
}

function isBusy(ctx: HostContext): boolean {
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
