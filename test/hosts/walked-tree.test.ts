// A person walks the session tree while something is under way: what was begun on one branch never lands on another.
import { describe, expect, it } from "vitest";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { closeAfterEach, compactions, first, isAsked, note, pi, SHORT_COMPACTION, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const LONG = "x".repeat(2_000);

/** The entry of the assistant's words. */
function answer(s: PiSession, words: string): string {
  const found = s.branch().find((entry) => entry.type === "message" && JSON.stringify(entry.message).includes(words));
  if (!found) throw new Error(`nothing says ${words}`);
  return found.id;
}

describe("/tree", () => {
  // Newer hosts refuse it while a run goes on.
  it.runIf(currentHostName() === "0.73.1")(
    "during a run: the window opens on no branch that does not hold its call",
    async () => {
      const s = await pi({
        factories: [slowTool],
        next: (_request, n) => {
          if (n === 0) return "the first answer";
          return n === 1 ? [call("slow", { ms: 600 }), call("new_context")] : `answer ${n}`;
        },
      });
      await s.prompt("first");
      void s.session.prompt("second");
      await until("the slow tool runs", () =>
        s.events.some(({ type, toolName }) => type === "tool_execution_start" && toolName === "slow"),
      );
      await s.session.navigateTree(answer(s, "the first answer"));
      await s.settled();
      await s.prompt("third");
      expect(first(s.requests.at(-1))).toContain("window w1");
      expect(whole(s.requests.at(-1))).not.toContain("fresh context window");
      const remaining = await s.callTool("get_context_remaining");
      expect(JSON.stringify(remaining.content)).toContain('\\"window_id\\":\\"w1\\"');
    },
  );

  it("while a /compact is carried out is declined with a sentence, and the compaction lands where it began", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      next: (request, n) => (isAsked(request) ? { content: [note()], delayMs: 300 } : `answer ${n} ${LONG}`),
    });
    await s.prompt("first");
    await s.prompt("second");
    const target = answer(s, "answer 0");
    const compacting = s.session.compact();
    await until("the checkpoint is asked for", () => s.requests.some(isAsked));
    const walked = await s.session.navigateTree(target).then(
      ({ cancelled }) => cancelled,
      (error: Error) => error.message,
    );
    await compacting;
    await s.settled();
    expect(compactions(s)).toHaveLength(1);
    if (currentHostName() === "0.73.1") {
      expect(walked).toBe(true);
      expect(s.ui.notices.map(({ message }) => message).join("\n")).toContain("The tree can be walked when");
    } else expect(walked).toMatch(/^Wait for/);
    await s.prompt("third");
    expect(first(s.requests.at(-1))).toContain("window, w2");
    expect(whole(s.requests.at(-1))).not.toContain("answer 1");
  });

  it("while /context new waits for its checkpoint is declined likewise", async () => {
    const s = await pi({
      ui: true,
      next: (request, n) => (isAsked(request) ? { content: [note()], delayMs: 300 } : `answer ${n}`),
    });
    await s.prompt("first");
    await s.prompt("second");
    const target = answer(s, "answer 0");
    const opening = s.session.prompt("/context new");
    await until("the checkpoint is asked for", () => s.requests.some(isAsked));
    const walked = await s.session.navigateTree(target).then(
      ({ cancelled }) => cancelled,
      (error: Error) => error.message,
    );
    await opening;
    await s.settled();
    if (currentHostName() === "0.73.1") expect(walked).toBe(true);
    else expect(walked).toMatch(/^Wait for/);
    await s.prompt("third");
    expect(first(s.requests.at(-1))).toContain("window, w2");
  });

  it("during a consolidation is declined, and each branch keeps its own window", async () => {
    let walking: Promise<unknown> | undefined;
    let target = "";
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      factories: [
        slowTool,
        (api) => {
          api.on("session_before_compact", () => {
            walking ??= s.session.navigateTree(target).then(
              ({ cancelled }) => cancelled,
              (error: Error) => error.message,
            );
          });
        },
      ],
      next: (_request, n) => {
        if (n === 0) return `the first answer ${LONG}`;
        if (n === 1 || n === 3) return using(1_000, text(LONG), call("slow", { ms: 1 }));
        return n === 2 || n === 4 ? using(1_000, call("new_context")) : using(1_000, text(`answer ${n} ${LONG}`));
      },
    });
    await s.prompt("first");
    target = answer(s, "the first answer");
    await s.prompt("go");
    await s.settled({ quietChecks: 30 });
    expect(compactions(s).map(({ details }) => details)).toMatchObject([{ consolidates: "w3" }]);
    const walked = await walking;
    expect(currentHostName() === "1.6.0" ? walked : [walked]).toEqual(
      currentHostName() === "1.6.0" ? expect.stringMatching(/^Wait for/) : [true],
    );
  });
});
