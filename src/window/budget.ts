// The figures of a window's budget, and what they call for. Pure; unknown is null, never zero.
/** Margin of the fallback above the host's compaction reserve: at least this many tokens … */
const FALLBACK_MARGIN_TOKENS = 4_096;
/** … or this share of the window. */
const FALLBACK_MARGIN_SHARE = 0.02;
const FALLBACK_MAX_SHARE = 0.25;
const REMINDER_MAX_SHARE = 0.5;

export interface BudgetSettings {
  readonly reminderRemainingPercent: number;
  readonly reminderRemainingFloorTokens: number;
  readonly reminderRemainingCeilingTokens: number;
  readonly hardRolloverUsedTokens: number;
}

export interface BudgetFigures {
  readonly used_tokens: number | null;
  readonly remaining_tokens: number | null;
  readonly remaining_to_hard_trigger: number | null;
}

export function budgetFigures(
  used: number | null,
  contextWindow: number | undefined,
  hardRolloverUsedTokens: number,
): BudgetFigures {
  if (used === null || contextWindow === undefined)
    return { used_tokens: null, remaining_tokens: null, remaining_to_hard_trigger: null };
  return {
    used_tokens: used,
    remaining_tokens: Math.max(0, contextWindow - used),
    remaining_to_hard_trigger: hardRolloverUsedTokens === 0 ? null : Math.max(0, hardRolloverUsedTokens - used),
  };
}

export interface Thresholds {
  /** Remaining tokens at which the reminder comes. */
  readonly reminder: number;
  /** Remaining tokens at which the fallback comes, before the host's own compaction. */
  readonly fallback: number;
}

/** All in tokens. `reserve` is what the host keeps free, its compaction threshold. */
export function thresholds(contextWindow: number, reserve: number, settings: BudgetSettings): Thresholds {
  const { reminderRemainingPercent, reminderRemainingFloorTokens, reminderRemainingCeilingTokens } = settings;
  const share = Math.min(reminderRemainingPercent * contextWindow, reminderRemainingCeilingTokens);
  const reminder = Math.min(Math.max(share, reminderRemainingFloorTokens), contextWindow * REMINDER_MAX_SHARE);
  const margin = Math.max(FALLBACK_MARGIN_TOKENS, contextWindow * FALLBACK_MARGIN_SHARE);
  // A reminder that is switched off does not switch off the fallback.
  const belowReminder = reminder >= 1 ? reminder - 1 : Number.POSITIVE_INFINITY;
  const fallback = Math.min(reserve + margin, contextWindow * FALLBACK_MAX_SHARE, belowReminder);
  return { reminder: Math.floor(reminder), fallback: Math.floor(fallback) };
}

export type BudgetLevel = "ok" | "reminder" | "fallback";

export function budgetLevel(used: number | null, contextWindow: number, limits: Thresholds): BudgetLevel {
  if (used === null) return "ok";
  const remaining = contextWindow - used;
  if (remaining <= limits.fallback) return "fallback";
  return remaining <= limits.reminder ? "reminder" : "ok";
}
