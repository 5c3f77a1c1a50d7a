// The settled boundary: the journal, overflows that the host does not handle, the budget, and consolidation.
import { setTimeout as delay } from "node:timers/promises";
import type { HostContext } from "../host/api.ts";
import { compact, endsWithRun, type Host, hasStarted } from "../host/host.ts";
import type { Settled } from "../host/settled.ts";
import { isFinished, newestResponse } from "../window/responses.ts";
import type { SessionWindows } from "../window/windows.ts";
import type { CurrentSession } from "./current.ts";

/** Whoever started a run finds what it wrote in the journal when it has ended, but no slow disk holds it up for longer. */
const SETTLED_SYNC_MAX_MS = 1_000;

/** Has the host drop what it still holds of closed windows, before it compacts by itself again. */
export type DropClosedWindows = (windows: SessionWindows, ctx: HostContext) => Promise<void>;

export function wireBoundary(host: Host, session: CurrentSession): DropClosedWindows {
  let consolidating: Promise<void> | undefined;
  const drop = async (windows: SessionWindows, ctx: HostContext, isOff: boolean) => {
    if (endsWithRun(ctx) || !ctx.isIdle() || !windows.compactions.needsConsolidation(isOff)) return;
    consolidating = windows.compactions.consolidate(() => compact(ctx));
    await consolidating;
    consolidating = undefined;
  };
  const boundary = async (settled: Settled, ctx: HostContext) => {
    const { branch, windows, enabled, publish } = session.of(ctx);
    if (!enabled()) return drop(windows, ctx, true);
    labelOpeners(host, windows, ctx);
    const overflowed = !settled.aborted && !isFinished(branch) && host.isOverflow(newestResponse(branch), ctx);
    const started = windows.loop.settled({ overflowed, aborted: settled.aborted });
    publish();
    if (started) {
      // Some hosts end the process behind this handler: what was started is waited for where it runs already.
      if (hasStarted(ctx)) await host.turnEnd(ctx);
      return;
    }
    await drop(windows, ctx, false);
  };
  host.onSettled(
    async (settled, ctx) => {
      const journaled = session.of(ctx).access.sync();
      await boundary(settled, ctx);
      await Promise.race([journaled, delay(SETTLED_SYNC_MAX_MS, undefined, { ref: false })]);
    },
    () => session.running.retry(),
  );
  // A prompt that comes meanwhile waits for the few milliseconds it takes: otherwise hosts reject or lose it.
  host.on("input", async () => {
    await consolidating;
    return undefined;
  });
  return (windows, ctx) => drop(windows, ctx, true);
}

function labelOpeners(host: Host, windows: SessionWindows, ctx: HostContext): void {
  try {
    for (const { entryId, label } of windows.loop.labelsDue()) host.label(ctx, entryId, label);
  } catch {
    // The session cannot be written now, which its own entries will tell; the next boundary labels them.
  }
}
