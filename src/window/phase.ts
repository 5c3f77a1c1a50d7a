// What a window's state says to others: its phase by name, and how much of it is used. Pure.
import type { HostFigures } from "./budget.ts";
import { fenceOf, type WindowState } from "./machine.ts";

/**
 * Tokens used in this window. Right after a change the host still counts the old window; where the provider reports no
 * usage at all, the window's own estimate stands in once it has been answered.
 */
export function usedTokens(host: HostFigures | undefined, state: WindowState, estimate: () => number): number | null {
  const { log } = state;
  if (log.usageKnown || log.number === 1) return host?.tokens ?? null;
  return log.answered ? estimate() : null;
}

export const PHASES = [
  "disabled",
  "ready",
  "reminded",
  "checkpoint_required",
  "rollover_pending",
  "rolling_over",
] as const;
export type Phase = (typeof PHASES)[number];

/** The phase as tools, status line and coordination name it. */
export function phaseOf(state: WindowState, enabled: boolean, compacting: boolean): Phase {
  if (!enabled) return "disabled";
  const { log, live } = state;
  if (compacting && live.manual?.phase !== "awaiting") return "rolling_over";
  if (fenceOf(state) || live.manual) return "checkpoint_required";
  if (log.number > 1 && !live.requestSent) return "rollover_pending";
  return log.reminded ? "reminded" : "ready";
}
