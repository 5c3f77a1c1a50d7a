// Whether a failed response means that the request was too long for the model. Pi knows it by the providers' words; its
// own predicate cannot be imported by the packed form, so these are the forms its documentation names, by what they share.
import type { LogMessage } from "./entries.ts";

/** "prompt is too long", "request_too_large", "too large for model with … maximum context length" */
const TOO_LONG = /\b(prompt|input|request|messages?)\b.{0,40}\btoo (long|large)\b|request_too_large|too many tokens/i;
/** "exceeds the context window", "context length exceeded", "maximum context length is", "token limit exceeded" */
const BEYOND_LIMIT =
  /(exceed|greater than|beyond|maximum|reduce).{0,80}(context|token|prompt|length)|(context|token|prompt).{0,40}(exceed|limit|maximum)/i;
/** Throttling also speaks of tokens and limits. */
const THROTTLED = /rate.?limit|throttl|too many requests|quota|per minute|overloaded/i;

export function isOverflowMessage(message: LogMessage): boolean {
  const { stopReason, errorMessage } = message;
  if (stopReason !== "error" || errorMessage === undefined || THROTTLED.test(errorMessage)) return false;
  return TOO_LONG.test(errorMessage) || BEYOND_LIMIT.test(errorMessage);
}
