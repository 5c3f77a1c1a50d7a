// Which failed responses mean that the request was too long.
import { expect, it } from "vitest";
import { isOtherFailure, isOverflowMessage } from "../../src/host/overflow.ts";

const isOverflow = (errorMessage: string, stopReason = "error") =>
  isOverflowMessage({ role: "assistant", stopReason, errorMessage }, 200_000);

it.each([
  "prompt is too long: 213462 tokens > 200000 maximum",
  "413 request_too_large: Request exceeds the maximum size",
  "Your input exceeds the context window of this model",
  "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
  "Please reduce the length of the messages or completion",
  "This endpoint's maximum context length is 8192 tokens",
  "the request exceeds the available context size, try increasing it",
  "The input is longer than the model's context length",
  "context_length_exceeded",
])("an overflow: %s", (message) => {
  expect(isOverflow(message)).toBe(true);
});

it.each([
  "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
  "`max_tokens` must be greater than `thinking.budget_tokens`",
  "Your daily token limit has been reached",
  "You have exceeded your monthly token allowance",
  "rate limit: too many tokens per minute",
  "invalid api key",
  "fetch failed",
])("no overflow: %s", (message) => {
  expect(isOverflow(message)).toBe(false);
});

it("only a failed response can be one", () => {
  expect(isOverflow("prompt is too long", "stop")).toBe(false);
});

it.each([
  ["request rejected: n_tokens=33613 while n_ctx=32768", false],
  ["400 invalid request", false],
  ["500 out of order", true],
  ["Provider returned error", true],
  ["upstream connect error or disconnect/reset before headers", true],
  ["the stream ended without a response", true],
  ["401 Unauthorized", true],
  ["429 slow down", true],
  ["fetch failed", true],
  ["503 overloaded", true],
  ["You have exceeded your monthly token allowance", true],
])("another failure than the request's: %s", (errorMessage, isOther) => {
  expect(isOtherFailure({ role: "assistant", stopReason: "error", errorMessage })).toBe(isOther);
});
