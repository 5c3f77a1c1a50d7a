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
  /** What the two are made from, beside the settings. */
  readonly parts: {
    /** The percentage of the window. */
    readonly share: number;
    /** The reminder never comes with more left. */
    readonly reminderMax: number;
    /** Above the host's reserve. */
    readonly margin: number;
    /** The fallback never comes with more left. */
    readonly fallbackMax: number;
  };
}

/** All in tokens. `reserve` is what the host keeps free, its compaction threshold. */
export function thresholds(contextWindow: number, reserve: number, settings: BudgetSettings): Thresholds {
  const { reminderRemainingPercent, reminderRemainingFloorTokens, reminderRemainingCeilingTokens } = settings;
  const share = reminderRemainingPercent * contextWindow;
  const reminderMax = contextWindow * REMINDER_MAX_SHARE;
  const fallbackMax = contextWindow * FALLBACK_MAX_SHARE;
  const wanted = Math.max(Math.min(share, reminderRemainingCeilingTokens), reminderRemainingFloorTokens);
  const reminder = Math.min(wanted, reminderMax);
  const margin = Math.max(FALLBACK_MARGIN_TOKENS, contextWindow * FALLBACK_MARGIN_SHARE);
  // A reminder that is switched off does not switch off the fallback.
  const belowReminder = reminder >= 1 ? reminder - 1 : Number.POSITIVE_INFINITY;
  const fallback = Math.min(reserve + margin, fallbackMax, belowReminder);
  const parts = { share, reminderMax, margin, fallbackMax };
  return { reminder: Math.floor(reminder), fallback: Math.floor(fallback), parts };
}

export type BudgetLevel = "ok" | "reminder" | "fallback";

export function budgetLevel(used: number | null, contextWindow: number, limits: Thresholds): BudgetLevel {
  if (used === null) return "ok";
  const remaining = contextWindow - used;
  if (remaining <= limits.fallback) return "fallback";
  return remaining <= limits.reminder ? "reminder" : "ok";
}
