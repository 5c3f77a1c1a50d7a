// Words that a control turn took in and the log does not hold: kept once, held back, given out once.
import { describe, expect, it } from "vitest";
import type { LogMessage } from "../../src/host/entries.ts";
import { UnwrittenMessages } from "../../src/window/unwritten.ts";
import { indexOf, TestLog, text } from "../log/branches.ts";

const said = (words: string, timestamp: number): LogMessage => ({ role: "user", content: [text(words)], timestamp });

/** A log of one exchange, and the host's messages for it. */
function exchange() {
  const log = new TestLog();
  log.user([text("hello")]);
  log.assistant(text("hi"));
  return { branch: indexOf(log), messages: log.entries.flatMap(({ message }) => message ?? []) };
}

describe("words without an entry", () => {
  it("are kept in order, held back from requests from then on, and given out once", () => {
    const { branch, messages } = exchange();
    const words = new UnwrittenMessages();
    const lost = [said("one", 7), said("two", 8)];
    const result: LogMessage = { role: "toolResult", toolCallId: "t", content: [], timestamp: 6 };
    words.keep([...messages, result, ...lost], branch);
    words.keep([...messages, result, ...lost], branch);
    expect(words.heldBackFrom([...messages, result, ...lost])).toEqual([...messages, result]);
    expect(words.take()).toEqual(lost);
    expect(words.take()).toEqual([]);
    // Said again they are other messages.
    expect(words.heldBackFrom([...messages, ...lost, said("one", 20)])).toEqual([...messages, said("one", 20)]);
  });

  it("are none where every message has its entry: requests stay the very same list", () => {
    const { branch, messages } = exchange();
    const words = new UnwrittenMessages();
    words.keep(messages, branch);
    expect(words.take()).toEqual([]);
    expect(words.heldBackFrom(messages)).toBe(messages);
  });

  it("are not those before the newest message that has its entry: other extensions put messages there", () => {
    const { branch, messages } = exchange();
    const words = new UnwrittenMessages();
    words.keep([said("inserted", 3), ...messages], branch);
    expect(words.take()).toEqual([]);
  });
});
