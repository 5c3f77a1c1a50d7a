// What a window's state says to others: its phase by name. Pure.
import { fenceOf, type WindowState } from "./machine.ts";

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
  // A checkpoint that opens the window by itself is over when it is saved.
  const isOver = live.manual?.phase === "saved" && live.manual.opensByWrite;
  if (fenceOf(state) || (live.manual && !isOver)) return "checkpoint_required";
  if (log.number > 1 && !live.requestSent) return "rollover_pending";
  return log.reminded ? "reminded" : "ready";
}
