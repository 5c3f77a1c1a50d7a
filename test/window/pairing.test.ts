// Calls and results in a request.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogMessage } from "../../src/host/entries.ts";
import { pairCalls } from "../../src/window/pairing.ts";

const assistant = (stopReason: string, ...ids: string[]): LogMessage => ({
  role: "assistant",
  stopReason,
  timestamp: 1,
  content: [{ type: "text", text: "t" }, ...ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} }))],
});
const result = (toolCallId: string, value = "real"): LogMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content: [{ type: "text", text: value }],
});
const user: LogMessage = { role: "user", content: "u" };
const textOf = (message: LogMessage | undefined) => JSON.stringify(message?.content);

function callIds(message: LogMessage): string[] {
  const blocks = message.role === "assistant" ? (message.content as { type: string; id: string }[]) : [];
  return blocks.filter(({ type }) => type === "toolCall").map(({ id }) => id);
}

/** What stands without its other half, or not directly behind it. */
function unpaired(messages: readonly LogMessage[]): string[] {
  const wrong: string[] = [];
  let open: string[] = [];
  for (const message of messages) {
    const at = message.role === "toolResult" ? open.indexOf(message.toolCallId ?? "") : -1;
    if (message.role === "toolResult" && at < 0) wrong.push(`result ${message.toolCallId}`);
    else if (at >= 0) open.splice(at, 1);
    else {
      wrong.push(...open);
      open = callIds(message);
    }
  }
  return [...wrong, ...open];
}

describe("pairing", () => {
  it("leaves a paired list as it is", () => {
    const messages = [user, assistant("toolUse", "a", "b"), result("a"), result("b"), user];
    expect(pairCalls(messages)).toBe(messages);
  });

  it("answers a call that never got a result", () => {
    const paired = pairCalls([assistant("toolUse", "a", "b"), result("a"), user]);
    expect(paired.map(({ role }) => role)).toEqual(["assistant", "toolResult", "toolResult", "user"]);
    expect(textOf(paired[2])).toContain("interrupted");
  });

  it("finds a real result behind another message instead of inventing one", () => {
    const paired = pairCalls([assistant("toolUse", "a", "b"), result("a"), user, result("b")]);
    expect(paired.map(({ role }) => role)).toEqual(["assistant", "toolResult", "toolResult", "user"]);
    expect(JSON.stringify(paired)).not.toContain("interrupted");
  });

  it("keeps both results of two calls with one id", () => {
    const paired = pairCalls([assistant("toolUse", "a", "a"), result("a", "one"), result("a", "two")]);
    expect(paired.slice(1).map(textOf)).toEqual([textOf(result("a", "one")), textOf(result("a", "two"))]);
  });

  it("takes the calls out of a response that never finished, and drops results without a call", () => {
    const paired = pairCalls([result("x"), assistant("aborted", "a"), user]);
    expect(paired.map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(textOf(paired[0])).not.toContain("toolCall");
  });

  it("holds for any list", () => {
    const message = fc.oneof(
      fc.constant(user),
      fc.constantFrom("a", "b", "c").map((id) => result(id)),
      fc
        .tuple(
          fc.constantFrom("toolUse", "stop", "aborted"),
          fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 3 }),
        )
        .map(([stop, ids]) => assistant(stop, ...ids)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
        const paired = pairCalls(messages);
        expect(unpaired(paired)).toEqual([]);
        expect(pairCalls(paired)).toBe(paired);
      }),
    );
  });
});
