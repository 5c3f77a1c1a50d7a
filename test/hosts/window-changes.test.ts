// What holds across window changes: the open request is named, a child's result makes one continuation, calls and results are
// paired, ids are a session's own, the budget is unknown until the next answer.
import { describe, expect, it } from "vitest";
import { call, type RequestMessage, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { GUIDANCE } from "../../src/prompts.ts";
import {
  closeAfterEach,
  compactions,
  controls,
  first,
  last,
  pi,
  SHORT_COMPACTION,
  texts,
  toolRuns,
  unpaired,
  using,
  whole,
} from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const note = (path = "checkpoint.md") => call("notes_write_file", { path, text: "the state" });
type Details = { readonly opens?: string };

/** The ids that a request's messages carry. */
function idsIn(messages: readonly RequestMessage[] = []): string[] {
  return messages.flatMap(
    (message) => /^\[id: (\w+)\]/.exec(texts({ messages: [message] } as never)[0] ?? "")?.[1] ?? [],
  );
}

/** The windows that entries of the branch opened, in order. */
function openedIn(s: PiSession): unknown[] {
  return s.branch().flatMap((entry) => {
    const { details, message } = entry as { details?: Details; message?: { details?: Details } };
    return details?.opens ?? message?.details?.opens ?? [];
  });
}

/** An extension that plays the launcher of a child: its result comes in from outside as a custom message. */
function child() {
  let deliver = (_deliverAs?: "steer" | "followUp") => undefined as unknown;
  const factory: typeof slowTool = (api) => {
    deliver = (deliverAs) =>
      api.sendMessage(
        { customType: "child:result", content: "CHILD RESULT", display: true },
        { triggerTurn: true, ...(deliverAs ? { deliverAs } : {}) },
      );
  };
  return { factory, deliver: (deliverAs?: "steer" | "followUp") => deliver(deliverAs) };
}

it("the first request of a new window names the open user request, even when base instructions discourage tools", async () => {
  const strict: typeof slowTool = (api) =>
    api.on("before_agent_start", (event) => ({
      systemPrompt: `${event.systemPrompt}\nNEVER use tools unless the user names one.`,
    }));
  const s = await pi({ factories: [strict], next: (_request, n) => (n === 0 ? [call("new_context")] : "done") });
  await s.prompt("translate the invoice into German");
  expect(s.requests).toHaveLength(2);
  const user = s.branch().find((entry) => entry.type === "message" && entry.message.role === "user");
  expect(first(s.requests[1])).toContain(
    `The latest request is still open:\n<request id="${user?.id}" window="w1">\ntranslate the invoice into German\n</request>`,
  );
  expect(first(s.requests[1])).toContain("Resume only unfinished work");
  expect(s.requests[1]?.systemPrompt).toContain("NEVER use tools");
  expect(s.requests[1]?.systemPrompt).toContain(GUIDANCE);
});

describe("results of children", () => {
  for (const deliverAs of ["steer", "followUp", undefined] as const) {
    it(`a child's result that arrives during a change (${deliverAs ?? "triggerTurn alone"}) makes one continuation, not two`, async () => {
      const other = child();
      const s = await pi({
        factories: [slowTool, other.factory],
        next: (_request, n) => (n === 0 ? [call("slow", { ms: 150 }), call("new_context")] : `answer ${n}`),
      });
      const run = s.prompt("go");
      await toolRuns(s);
      other.deliver(deliverAs);
      await run;
      // The loop's own next request takes a steer along; a follow-up is heard when the run would end.
      expect(s.requests).toHaveLength(deliverAs === "followUp" ? 3 : 2);
      expect(first(s.requests[1])).toContain("window, w2");
      const heard = s.requests.map((request) => texts(request).filter((one) => one.includes("CHILD RESULT")).length);
      expect(heard).toEqual(deliverAs === "followUp" ? [0, 0, 1] : [0, 1]);
      const sent = s.branch().filter((entry) => entry.type === "custom_message" && entry.customType === "child:result");
      expect(sent).toHaveLength(1);
    });
  }

  it("a child's result that arrives while the checkpoint is written makes one continuation", async () => {
    const other = child();
    const s = await pi({
      factories: [slowTool, other.factory],
      next: async (_request, n) => {
        if (n === 0) return using(185_000, call("slow", { ms: 1 }));
        if (n === 1) {
          other.deliver("steer");
          return using(186_000, note());
        }
        return using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(3);
    expect(first(s.requests[2])).toContain("window, w2");
    expect(texts(s.requests[2]).filter((one) => one.includes("CHILD RESULT"))).toHaveLength(1);
  });
});

describe("changes without work between them", () => {
  it("two windows never open in a row without work between them, by whichever way", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      next: (request, n) =>
        last(request).includes("Checkpoint required") ? [note()] : `answer ${n} ${"x".repeat(2_000)}`,
    });
    await s.prompt("hello");
    await s.session.prompt("/context new");
    await s.settled();
    await s.session.prompt("/context new");
    await s.settled();
    await s.session.compact().catch(() => undefined);
    await s.settled();
    expect(s.requests).toHaveLength(2);
    expect(openedIn(s)).toEqual(["w2"]);
    await s.prompt("more");
    expect(first(s.requests[2])).toContain("window, w2");
  });

  it("a branch that has not changed is never compacted twice", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (_request, n) =>
        n < 4
          ? using(
              1_000,
              ...(n % 2 ? [] : [text("x".repeat(2_000))]),
              n % 2 ? call("new_context") : call("slow", { ms: 1 }),
            )
          : "done",
    });
    await s.prompt("go");
    await s.settled();
    expect(compactions(s)).toHaveLength(1);
    await s.session.compact().catch(() => undefined);
    await s.session.compact().catch(() => undefined);
    await s.settled();
    expect(compactions(s).filter(({ details }) => (details as { consolidates?: string }).consolidates)).toHaveLength(1);
  });
});

it("calls and results are paired in every request, also after an abort and a move to the middle of a batch", async () => {
  const s = await pi({
    factories: [slowTool],
    next: (_request, n) => {
      if (n === 0) return [call("slow", { ms: 1 }), call("slow", { ms: 1 }), call("nosuch")];
      if (n === 2) return [call("slow", { ms: 5_000 }), call("slow", { ms: 5_000 })];
      return `answer ${n}`;
    },
  });
  await s.prompt("one");
  const run = s.prompt("two");
  await toolRuns(s, 5);
  await s.session.abort();
  await run.catch(() => undefined);
  await s.settled();
  await s.prompt("three");
  const result = s.toolResults()[0];
  await s.session.navigateTree(result?.id ?? "");
  await s.prompt("four");
  for (const request of s.requests) expect(unpaired(request.messages)).toEqual([]);
  // Two of the three results stand behind the point that was gone back to.
  const answered = s.requests.at(-1)?.messages.filter((message) => message.role === "toolResult") ?? [];
  expect(answered).toHaveLength(3);
  expect(answered.filter((message) => whole({ messages: [message] } as never).includes("interrupted:"))).toHaveLength(
    2,
  );
});

it("back before a window change the old window is shown, with its ids and the notes index as told then", async () => {
  const s = await pi({
    next: (_request, n) => {
      if (n === 0) return [note("first.md")];
      if (n === 1) return [call("new_context")];
      if (n === 3) return [note("second.md")];
      return n === 4 ? [call("new_context")] : `answer ${n}`;
    },
  });
  await s.prompt("part one");
  await s.prompt("part two");
  expect(s.requests).toHaveLength(6);
  expect(first(s.requests[5])).toContain("window, w3");
  expect(first(s.requests[5])).toContain("second.md");
  const inW2 = s.branch().find((entry) => JSON.stringify(entry).includes("part two"));
  await s.session.navigateTree(inW2?.id ?? "");
  await s.prompt("part two, differently");
  const back = s.requests.at(-1);
  expect(first(back)).toBe(first(s.requests[2]));
  expect(first(back)).toContain("first.md");
  expect(first(back)).not.toContain("second.md");
  const { id } = s.branch().find((entry) => JSON.stringify(entry).includes("part one")) ?? { id: "" };
  await s.session.navigateTree(id);
  await s.prompt("part one, differently");
  expect(first(s.requests.at(-1))).toContain("window w1");
  expect(whole(s.requests.at(-1))).not.toContain("fresh context window");
});

it("the ids of a session are its own: every message carries the id of exactly one entry", async () => {
  const s = await pi({
    factories: [slowTool],
    next: (_request, n) => (n % 2 === 0 ? [call("slow", { ms: 1 }), call("slow", { ms: 1 })] : `answer ${n}`),
  });
  for (let i = 0; i < 5; i++) await s.prompt("the same words");
  const ids = idsIn(s.requests.at(-1)?.messages);
  expect(ids).toHaveLength(15);
  expect(new Set(ids).size).toBe(15);
  for (const id of ids) expect(s.branch().filter((entry) => entry.id === id)).toHaveLength(1);
});

it("right after a change the remaining budget is unknown, then the new figure", async () => {
  const s = await pi({
    ui: true,
    next: (_request, n) => (n === 1 ? using(151_000, note()) : using(n === 0 ? 150_000 : 2_000, text("answer"))),
  });
  await s.prompt("hello");
  await s.session.prompt("/context");
  expect(s.ui.notices.at(-1)?.message).toMatch(/Used 15\d,\d{3} tokens/);
  await s.session.prompt("/context new");
  await s.settled();
  await s.session.prompt("/context");
  expect(s.ui.notices.at(-1)?.message).toContain("Window w2 (main agent): open, and nothing was sent in it yet");
  expect(s.ui.notices.at(-1)?.message).toContain("Used: not known before the next answer");
  await s.prompt("more");
  await s.session.prompt("/context");
  expect(s.ui.notices.at(-1)?.message).toContain("Used 2,000 tokens, left 198,000 (99 %)");
});

describe("control messages", () => {
  it("of a closed window are in no request of the next one", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(150_000, call("slow", { ms: 1 }));
        if (n === 1) return using(185_000, call("slow", { ms: 1 }));
        return n === 2 ? using(186_000, note()) : using(1_000, text("done"));
      },
    });
    await s.prompt("go");
    expect([controls(s, "reminder").length, controls(s, "fallback").length]).toEqual([1, 1]);
    await s.prompt("more");
    for (const request of s.requests.slice(3)) expect(whole(request)).not.toMatch(/Reminder:|Checkpoint required/);
  });
});
