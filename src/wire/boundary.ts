// The settled boundary: the journal, overflows that the host does not handle, the budget, and consolidation.
import { setTimeout as delay } from "node:timers/promises";
import type { HostContext } from "../host/api.ts";
import { compact, endsWithRun, hasStarted } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import type { Settled } from "../host/settled.ts";
import { isFinished, newestResponse } from "../window/responses.ts";
import type { SessionWindows } from "../window/windows.ts";
import type { Sessions } from "./sessions.ts";

/** A settled run waits until its messages are in the journal, but no longer than this on a slow disk. */
const SETTLED_SYNC_MAX_MS = 1_000;

/** Makes the host drop what it still holds of closed windows, before it compacts by itself again. */
export type DropClosedWindows = (windows: SessionWindows, ctx: HostContext) => Promise<void>;

export function boundarySteps(host: Host, sessions: Sessions) {
  let consolidating: Promise<void> | undefined;
  const drop = async ({ compactions }: SessionWindows, ctx: HostContext, isOff: boolean) => {
    if (endsWithRun(ctx) || !ctx.isIdle() || !compactions.needsConsolidation(isOff)) return;
    consolidating = compactions.consolidate(() => compact(ctx));
    await consolidating;
    consolidating = undefined;
  };
  const reached = async (settled: Settled, ctx: HostContext) => {
    const session = sessions.of(ctx);
    const { branch, windows } = session;
    if (!session.enabled()) return drop(windows, ctx, true);
    labelOpeners(host, windows, ctx);
    const overflowed = !settled.aborted && !isFinished(branch) && host.isOverflow(newestResponse(branch), ctx);
    const started = windows.loop.settled({ overflowed, aborted: settled.aborted });
    session.publish();
    if (started) {
      // Some hosts end the process after this handler: wait for what it has started.
      if (hasStarted(ctx)) await host.turnEnd(ctx);
      return;
    }
    await drop(windows, ctx, false);
  };
  const settled = host.settledBoundary(
    async (how, ctx) => {
      const journaled = sessions.of(ctx).journal.sync();
      await reached(how, ctx);
      await Promise.race([journaled, delay(SETTLED_SYNC_MAX_MS, undefined, { ref: false })]);
    },
    () => sessions.running.loaded.retry,
  );
  return {
    settled,
    /** A prompt that comes in this time waits for the few milliseconds it takes: otherwise hosts reject or lose it. */
    waitForConsolidation: async () => {
      await consolidating;
    },
    drop: ((windows, ctx) => drop(windows, ctx, true)) satisfies DropClosedWindows,
  };
}

function labelOpeners(host: Host, windows: SessionWindows, ctx: HostContext): void {
  try {
    for (const { entryId, label } of windows.loop.labelsDue()) host.label(ctx, entryId, label);
  } catch {
    // The session cannot be written now, which the host itself reports; the next boundary labels them.
  }
}
