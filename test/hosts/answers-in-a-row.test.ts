// A checkpoint asked for by hand that was not saved leaves no trace in later requests: its message is not shown, and so its
// answer would stand directly behind the answer before it.
import { describe, expect, it } from "vitest";
import { call, type Request } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, last, pi, roles, SHORT_COMPACTION, unpaired, whole } from "./support.ts";

closeAfterEach();

const isAsked = (request: Request) => whole(request).includes("the user asked for a fresh window");
/** More than the host keeps of a session in these settings. */
const LONG = "x".repeat(2_000);

const inARow = (request: Request | undefined) =>
  roles(request).some((role, at, all) => role === "assistant" && all[at - 1] === "assistant");

describe("two answers never stand in a row", () => {
  it("after a /compact whose request was answered with words", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      next: (request, n) => (isAsked(request) ? "no, thank you" : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    await s.settled();
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    await s.settled();
    await s.prompt("second request");
    expect(s.requests).toHaveLength(4);
    expect(inARow(s.requests[3])).toBe(false);
    expect(whole(s.requests[3])).not.toContain("no, thank you");
    expect(whole(s.requests[3])).toContain("answer 0");
    expect(last(s.requests[3])).toContain("second request");
  });

  it("after a /context new whose request was answered with refused calls and words", async () => {
    const s = await pi({
      ui: true,
      next: (request, n) => {
        if (!isAsked(request)) return `answer ${n}`;
        return n === 1 ? [call("history_list_items")] : "I could not.";
      },
    });
    await s.prompt("first request");
    await s.session.prompt("/context new");
    await s.settled();
    await s.prompt("second request");
    const request = s.requests.at(-1);
    expect(s.requests).toHaveLength(4);
    expect(inARow(request)).toBe(false);
    expect(unpaired(request?.messages ?? [])).toEqual([]);
    expect(whole(request)).not.toContain("I could not");
    expect(whole(request)).toContain("answer 0");
    await s.prompt("third request");
    expect(inARow(s.requests.at(-1))).toBe(false);
    expect(whole(s.requests.at(-1))).toContain("answer 3");
  });
});
