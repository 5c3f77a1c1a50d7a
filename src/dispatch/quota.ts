// Quotas: whether today's usage allows one more task. Pure.
import type { QuotaUsage } from "./task-view.ts";

/** Allowed, or the reason why not. */
export type QuotaAnswer =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /** Ends the sentence "The task was not dispatched: …", without a full stop. */
      readonly reason: string;
    };

/** Asked before a task is stored, and again when another one was taken meanwhile; what it throws refuses the dispatch. */
export type Quota = (usage: QuotaUsage) => QuotaAnswer | Promise<QuotaAnswer>;

/** Limits of one day, in UTC. */
export interface DailyQuota {
  /** Tokens, counted as in `QuotaUsage`; no limit when left out. */
  readonly tokens?: number | undefined;
  /** Cost, counted as in `QuotaUsage`; no limit when left out. */
  readonly amount?: number | undefined;
}

export function dailyQuota({ tokens, amount }: DailyQuota): Quota {
  return (used) => {
    const refused = (reason: string): QuotaAnswer => ({ allowed: false, reason });
    if (tokens !== undefined && used.tokens >= tokens)
      return refused(`today's tasks used ${used.tokens} tokens of ${tokens} (setting taskQuota.tokens)`);
    if (amount !== undefined && used.amount >= amount)
      return refused(`today's tasks cost ${used.amount} of ${amount} (setting taskQuota.amount)`);
    return { allowed: true };
  };
}
