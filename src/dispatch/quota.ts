// Whether one more task may be dispatched, by what was used today. Pure.
import type { TaskRecord } from "./record/rules.ts";

/** What the tasks of this root task used since the day began, in UTC. */
export interface QuotaUsage {
  /** Tokens read anew, read from a cache, and written, together. */
  readonly tokens: number;
  /** Cost, in the currency of the provider's figures (Pi's: US dollars), as far as providers gave one. */
  readonly amount: number;
  /** Number of tasks dispatched. */
  readonly tasks: number;
}

/** Allowed, or the reason why not. */
export type QuotaAnswer =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** Ends the sentence "The task was not dispatched: …", without a full stop. */
      readonly reason: string;
    };

/** Asked before a task is stored; what it throws refuses the dispatch. */
export type Quota = (usage: QuotaUsage) => QuotaAnswer | Promise<QuotaAnswer>;

/** Limits of one day, in UTC. */
export interface DailyQuota {
  /** Tokens, counted as in `QuotaUsage`; no limit when left out. */
  readonly tokens?: number | undefined;
  /** Cost, counted as in `QuotaUsage`; no limit when left out. */
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
