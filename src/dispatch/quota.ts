// Whether one more task may be dispatched, by what was used today. Pure.
import type { TaskRecord } from "./record.ts";

/** What was used since the day began. */
export interface QuotaUsage {
  /** Read anew, cached and written. */
  readonly tokens: number;
  /** As far as providers gave a figure. */
  readonly amount: number;
  /** Tasks dispatched. */
  readonly tasks: number;
}

/** Allowed, or the reason why not. */
export type QuotaAnswer = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

export type Quota = (usage: QuotaUsage) => QuotaAnswer | Promise<QuotaAnswer>;

/** Limits of one day; undefined is none. */
export interface DailyQuota {
  readonly tokens?: number | undefined;
  readonly amount?: number | undefined;
}

/** Days are those of UTC, so that every process of a task counts the same. */
export function usageOfDay(records: readonly TaskRecord[], now: string): QuotaUsage {
  const day = now.slice(0, 10);
  const rows = records.flatMap(({ usage }) => usage).filter((row) => row.created.startsWith(day));
  return {
    tokens: rows.reduce((sum, row) => sum + row.input + row.output + row.cached, 0),
    amount: rows.reduce((sum, row) => sum + (row.amount ?? 0), 0),
    tasks: records.filter(({ task }) => task.created.startsWith(day)).length,
  };
}

export function dailyQuota({ tokens, amount }: DailyQuota): Quota {
  return (used) => {
    if (tokens !== undefined && used.tokens >= tokens) {
      return {
        allowed: false,
        reason: `today's tasks used ${used.tokens} tokens of ${tokens} (setting taskQuota.tokens)`,
      };
    }
    if (amount !== undefined && used.amount >= amount) {
      return { allowed: false, reason: `today's tasks cost ${used.amount} of ${amount} (setting taskQuota.amount)` };
    }
    return { allowed: true };
  };
}
