// Whether a response means that the request was too long for the model. Pi's own judgement is used where there is one;
// this one knows what the providers' refusals have in common. It takes nothing for an overflow that speaks of output,
// quotas or rates: a window dropped by mistake costs more than one error shown.
import type { LogMessage } from "./entries.ts";

/** `contextWindow` is the model's, in tokens. */
export type IsOverflow = (message: LogMessage, contextWindow: number | undefined) => boolean;

/**
 * As other programs give it: Pi's own `isContextOverflow` of either host, or any function of a message. Its type of message
 * is its own, so that it fits without a cast.
 */
export type OverflowJudge = (message: never, contextWindow?: number) => boolean;

const REFUSALS: readonly RegExp[] = [
  /\b(prompt|input|request|conversation)\b.{0,40}\btoo (long|large)\b/i,
  /request_too_large|context[_ ]length[_ ]exceeded|context_window_exceeded/i,
  /exceed.{0,40}\b(context|prompt)\b.{0,20}\b(window|length|size|limit)?/i,
  /\b(input|prompt)\b.{0,40}\b(exceeds|longer than|greater than)\b/i,
  /\b(longer|greater) than\b.{0,40}\bcontext\b/i,
  /\b(maximum|configured)\b.{0,20}\b(context|prompt)\b.{0,20}\b(length|size)\b/i,
  /reduce the length of the messages|range of input length/i,
];
const OTHER_LIMITS =
  /max_tokens|output tokens|budget_tokens|rate.?limit|throttl|too many requests|quota|allowance|\b(daily|monthly|weekly|per (minute|day|month))\b|overloaded/i;

/** Failures of the provider, of its accounts or of the way to it. */
const UNREACHED =
  /\b(401|402|403|404|408|429|5\d\d)\b|api key|unauthori[sz]ed|forbidden|credential|billing|credit|connection|network|fetch failed|socket|ECONN\w*|ENOTFOUND|timed? ?out|timeout|unavailable/i;

/** What hosts retry by themselves, besides the above. */
const RETRIED =
  /provider.?returned.?error|(server|internal).?error|other side closed|upstream.?connect|reset before headers|ended (without|before)|http2|terminated|resource.?exhausted|retry delay/i;

/** Whether a failed response says that something other than the request was wrong. */
export function isOtherFailure({ errorMessage = "" }: LogMessage): boolean {
  return [OTHER_LIMITS, UNREACHED, RETRIED].some((failure) => failure.test(errorMessage));
}

export const isOverflowMessage: IsOverflow = ({ stopReason, errorMessage }) => {
  if (stopReason !== "error" || errorMessage === undefined || OTHER_LIMITS.test(errorMessage)) return false;
  return REFUSALS.some((refusal) => refusal.test(errorMessage));
};
