// Manual compactions, `/context new`, overflows and consolidation, on every host.
import { describe, expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import { until } from "../../fixtures/pi/wait.ts";
import {
  asked,
  closeAfterEach,
  compactions,
  controls,
  first,
  isAsked,
  note,
  pi,
  roles,
  SHORT_COMPACTION,
  texts,
  toolRuns,
  using,
  whole,
} from "./support.ts";
import { slowTool, UNTIL_ABORTED_MS } from "./tools.ts";

closeAfterEach();

/** About 500 tokens: more than the host keeps of a session in these settings. */
const LONG = "x".repeat(2_000);

describe("/compact", () => {
  it("while idle costs one request, saves the checkpoint, opens the window and leaves the session idle", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      next: (request, n) => (isAsked(request) ? [note()] : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    await s.prompt("second request");
    const result = await s.session.compact("mind the ledger");
    await s.settled();
    expect(result.summary).toContain("fresh context window, w2");
    expect(s.requests).toHaveLength(3);
    expect(texts(s.requests[2]).at(-1)).toContain("The user adds: mind the ledger");
    await s.prompt("third request");
    expect(s.requests).toHaveLength(4);
    expect(roles(s.requests[3])).toEqual(["user", "user"]);
    expect(first(s.requests[3])).toContain("/root/notes/checkpoint.md");
    expect(first(s.requests[3])).toContain("second request");
    expect(whole(s.requests[3])).not.toContain("answer 1");
    expect(compactions(s)).toHaveLength(1);
    expect(compactions(s)[0]?.details).toMatchObject({ opens: "w2", cause: "manual_compact" });
  });

  it("refuses every other tool while it waits, and the same call then goes on", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return `answer ${LONG}`;
        if (n === 1) return [call("slow", { ms: 1 }), call("history_list_items")];
        return n === 2 ? [note()] : "done";
      },
    });
    await s.prompt("go");
    await s.session.compact();
    await s.settled();
    expect(s.requests).toHaveLength(3);
    expect(whole(s.requests[2]).match(/was not run: window w1 needs its checkpoint/g)).toHaveLength(2);
    await s.prompt("more");
    expect(first(s.requests[3])).toContain("window, w2");
  });

  it("without a checkpoint is cancelled, keeps the window, and its messages are gone from later requests", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      next: (request, n) => (isAsked(request) ? "no, thank you" : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    await s.settled();
    await s.prompt("second request");
    expect(compactions(s)).toHaveLength(0);
    expect(first(s.requests.at(-1))).toContain("window w1");
    expect(whole(s.requests.at(-1))).not.toContain("Checkpoint required");
    expect(whole(s.requests.at(-1))).toContain("answer 0");
    // Tools are open again.
    expect(s.requests).toHaveLength(3);
  });

  it("is cancelled by Esc, waits for its turn to end, and keeps the window", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      next: (request, n) => (isAsked(request) ? { content: [note()], delayMs: 300 } : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    const compacting = s.session.compact().then(
      () => "done",
      (error: Error) => error.message,
    );
    await asked(s, 2);
    s.session.abortCompaction();
    expect(await compacting).toMatch(/cancel|abort/i);
    await s.settled();
    await s.prompt("second request");
    expect(compactions(s)).toHaveLength(0);
    expect(first(s.requests.at(-1))).toContain("window w1");
    expect(whole(s.requests.at(-1))).not.toContain("Checkpoint required");
  });

  it("is not done by a provider error in its turn", async () => {
    const s = await pi({
      settings: { ...SHORT_COMPACTION, retry: { enabled: false } },
      next: (request, n) => {
        if (isAsked(request)) return { content: [], stopReason: "error", errorMessage: "invalid key" };
        return `answer ${n} ${LONG}`;
      },
    });
    await s.prompt("first request");
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    await s.settled();
    expect(compactions(s)).toHaveLength(0);
  });

  it("while working stops the turn, and the work goes on afterwards with one request", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (request, n) => {
        if (isAsked(request)) return [note()];
        return n === 0 ? [text(LONG), call("slow", { ms: UNTIL_ABORTED_MS })] : "finished";
      },
    });
    void s.session.prompt("build it").catch(() => undefined);
    await toolRuns(s);
    await s.session.compact();
    await until("continuation", () => s.requests.length >= s.requests.findIndex(isAsked) + 2);
    await s.settled();
    // The host itself asks once more on the aborted signal before the run ends; that request is answered "aborted".
    const at = s.requests.findIndex(isAsked);
    expect(s.requests.slice(at)).toHaveLength(2);
    expect(first(s.requests[at + 1])).toContain("window, w2");
    expect(first(s.requests[at + 1])).toContain("build it");
    expect(texts(s.requests[at + 1]).at(-1)).toContain("interrupted your work");
  });

  it("reuses a checkpoint whose compaction failed, until the user speaks again", async () => {
    let fail = true;
    const failing = (api: { on(name: "session_before_compact", handler: () => unknown): void }) =>
      api.on("session_before_compact", () => (fail ? { cancel: true } : undefined));
    const s = await pi({
      settings: SHORT_COMPACTION,
      factories: [failing as never],
      next: (request, n) => (isAsked(request) ? [note(`n${n}.md`)] : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    await s.session.compact().catch(() => undefined);
    await s.settled();
    const asked = s.requests.filter(isAsked).length;
    fail = false;
    await s.session.compact();
    await s.settled();
    expect(s.requests.filter(isAsked).length).toBeLessThanOrEqual(1);
    expect(asked).toBeLessThanOrEqual(1);
    expect(compactions(s)).toHaveLength(1);
    await s.prompt("go on");
    expect(first(s.requests.at(-1))).toContain("window, w2");
  });

  it("of a window that holds nothing changes nothing", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      next: (request, n) => (isAsked(request) ? [note()] : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    await s.session.compact();
    await s.settled();
    await s.session.compact().catch(() => undefined);
    await s.settled();
    expect(s.requests).toHaveLength(2);
    expect(compactions(s)).toHaveLength(1);
  });
});

describe("/context new", () => {
  it("runs the same checkpoint at any size on every host", async () => {
    const s = await pi({ ui: true, next: (request) => (isAsked(request) ? [note()] : "answer") });
    await s.prompt("hello");
    await s.session.prompt("/context new");
    await s.settled();
    expect(s.requests).toHaveLength(2);
    expect(s.ui.notices.map(({ message }) => message).join()).toContain("Window w2 is open");
    await s.prompt("more");
    expect(s.requests).toHaveLength(3);
    expect(roles(s.requests[2])).toEqual(["user", "user"]);
    expect(first(s.requests[2])).toContain("window, w2");
    expect(first(s.requests[2])).toContain("/root/notes/checkpoint.md");
  });

  it("says so when no checkpoint was saved, and when there is nothing to leave", async () => {
    const s = await pi({ ui: true, next: () => "no" });
    await s.session.prompt("/context new");
    await s.settled();
    expect(s.ui.notices.at(-1)?.message).toContain("holds nothing yet");
    await s.prompt("hello");
    await s.session.prompt("/context new");
    await s.settled();
    expect(s.ui.notices.at(-1)?.message).toContain("No checkpoint was saved");
    await s.prompt("more");
    expect(whole(s.requests.at(-1))).not.toContain("Checkpoint required");
  });

  it("shows the window and its budget without an argument, and its usage for an unknown one", async () => {
    const s = await pi({ ui: true, next: () => using(1_000, text("answer")) });
    await s.prompt("hello");
    await s.session.prompt("/context");
    expect(s.ui.notices.at(-1)?.message).toContain("Window w1 (main agent): in use");
    await s.session.prompt("/context sideways");
    expect(s.ui.notices.at(-1)?.message).toContain("Usage:\n  /context");
  });
});

const overflow = {
  content: [],
  stopReason: "error" as const,
  errorMessage: "prompt is too long: 213462 tokens > 200000 maximum",
};

describe("an overflow", () => {
  for (const size of ["short", "long"] as const) {
    it(`in a ${size} session opens the next window, with the user's request, and costs one retry`, async () => {
      const s = await pi({
        ...(size === "long" ? { settings: SHORT_COMPACTION } : {}),
        next: (_request, n) => {
          if (n === 0) return `OLD-WINDOW ${"x".repeat(size === "long" ? 4_000 : 10)}`;
          return n === 1 ? overflow : "done";
        },
      });
      await s.prompt("first");
      await s.prompt("the one that is too long", { quietChecks: 30 });
      expect(s.requests).toHaveLength(3);
      expect(first(s.requests[2])).toContain("window, w2");
      expect(first(s.requests[2])).toContain("without a checkpoint");
      expect(first(s.requests[2])).toContain("the one that is too long");
      expect(whole(s.requests[2])).not.toContain("OLD-WINDOW");
      await s.prompt("more");
      expect(s.requests).toHaveLength(4);
      expect(first(s.requests[3])).toBe(first(s.requests[2]));
    });
  }

  it("twice in a row is a plain error, never a loop", async () => {
    const s = await pi({ next: (_request, n) => (n === 0 ? "answer" : overflow) });
    await s.prompt("first");
    await s.prompt("second", { quietChecks: 100 });
    expect(s.requests).toHaveLength(3);
  });

  it("of a paste of 300,000 characters shows its head and tail and the call that reads the rest", async () => {
    const paste = `BEGIN ${"字".repeat(300_000)} END`;
    const s = await pi({
      contextWindow: 64_000,
      next: (_request, n) => (n === 0 ? "answer" : n === 1 ? overflow : "done"),
    });
    await s.prompt("first");
    await s.prompt(paste, { quietChecks: 40 });
    const lead = first(s.requests[2]);
    expect(lead).toContain("BEGIN 字");
    expect(lead).toContain("字 END");
    const args = JSON.parse(/history_read_item (\{.*?\})\]/.exec(lead)?.[1] ?? "{}");
    const page = await s.callTool("history_read_item", { ...args, limit_chars: 100 });
    expect(JSON.stringify(page.content)).toContain("字".repeat(100));
  });
});

describe("consolidation", () => {
  it("drops what the host holds of closed windows at the settled boundary, and the request stays the same", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0 || n === 2) return using(1_000, text(LONG), call("slow", { ms: 1 }));
        return n === 1 || n === 3 ? using(1_000, call("new_context")) : using(1_000, text(`answer ${n} ${LONG}`));
      },
    });
    await s.prompt("go");
    await s.settled({ quietChecks: 30 });
    expect(compactions(s).map(({ details }) => details)).toMatchObject([{ consolidates: "w3" }]);
    const before = s.requests.at(-1);
    await s.prompt("more");
    expect(s.requests).toHaveLength(6);
    const after = s.requests.at(-1);
    expect(after?.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
  });

  it("leaves a session that a Pi without this package can go on with", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (_request, n) => {
        if (n >= 12) return using(2_000, text("done"));
        return n % 2 === 0
          ? using(1_000, text(`part ${n} ${LONG}`), call("slow", { ms: 1 }))
          : using(1_000, call("new_context"));
      },
    });
    await s.prompt("go");
    await s.settled({ quietChecks: 30 });
    const bare = await pi({
      bare: true,
      settings: SHORT_COMPACTION,
      session: { path: s.session.sessionFile ?? "" },
      next: () => `a summary or an answer ${LONG}`,
    });
    await bare.prompt("hello without the package");
    expect(whole(bare.requests[0])).toContain("fresh context window, w7");
    expect(whole(bare.requests[0])).not.toContain("part 0");
    await bare.prompt("and once more");
    await bare.session.compact();
    await bare.prompt("and again");
    expect(bare.requests.length).toBeGreaterThanOrEqual(4);
  });
});

describe("a reminder that never reached the branch", () => {
  it("is offered again after the queue was cleared", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) =>
        n === 0 ? using(150_000, call("slow", { ms: UNTIL_ABORTED_MS })) : using(150_000, text("done")),
    });
    void s.session.prompt("go").catch(() => undefined);
    await toolRuns(s);
    await s.session.abort();
    await s.settled();
    await s.prompt("go on");
    await s.prompt("and on");
    expect(controls(s, "reminder")).toHaveLength(1);
  });
});
