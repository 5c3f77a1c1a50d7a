// Notices that come unasked leave the answer that a person reads.
import { expect, it } from "vitest";
import type { HostContext } from "../../src/host/api.ts";
import { StandingAnswer } from "../../src/host/standing-answer.ts";

const ctx = {} as HostContext;

function screen(isDrawn = true) {
  const said: string[] = [];
  const answers = new StandingAnswer(
    (_ctx, message) => void said.push(message),
    () => isDrawn,
  );
  return { answers, said, last: () => said.at(-1) };
}

it("a notice stands below the answer before it and below other notices, and in the place of its own beginning", () => {
  const { answers, last } = screen();
  answers.show(ctx, "a has started");
  answers.tell(ctx, "a has ended", "a has started");
  expect(last()).toBe("a has ended");
  answers.tell(ctx, "b has ended", "b has started");
  expect(last()).toBe("a has ended\n\nb has ended");
  answers.show(ctx, "a long list");
  answers.tell(ctx, "c has ended");
  expect(last()).toBe("a long list\n\nc has ended");
  answers.passed();
  answers.tell(ctx, "d has ended");
  expect(last()).toBe("d has ended");
});

it("some notices stand at once, and where nothing is drawn each is said alone", () => {
  const { answers, last } = screen();
  for (let n = 0; n < 20; n++) answers.tell(ctx, `${n}`);
  expect(last()?.split("\n\n")).toEqual(["14", "15", "16", "17", "18", "19"]);
  const { answers: elsewhere, said } = screen(false);
  elsewhere.show(ctx, "list");
  elsewhere.tell(ctx, "end");
  expect(said).toEqual(["list", "end"]);
});
