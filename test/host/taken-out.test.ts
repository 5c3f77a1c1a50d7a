// Answers that 0.73.1 takes out of its messages come back once each, in their place.
import { describe, expect, it } from "vitest";
import type { LogMessage } from "../../src/host/entries.ts";
import { TakenOutAnswers } from "../../src/host/taken-out.ts";

const at = (role: string, timestamp: number): LogMessage => ({ role, content: [], timestamp });

describe("an answer that was taken out", () => {
  it("is put back once, however often it was kept, and only where it is missing", () => {
    const answer = at("assistant", 2);
    const answers = new TakenOutAnswers();
    answers.keep(answer);
    answers.keep({ ...answer });
    const messages = [at("user", 1), at("user", 3)];
    expect(answers.putBack(messages).map(({ timestamp }) => timestamp)).toEqual([1, 2, 3]);
    const whole = [at("user", 1), answer, at("user", 3)];
    expect(answers.putBack(whole)).toBe(whole);
    answers.forget();
    expect(answers.putBack(messages)).toBe(messages);
  });
});
