// Around a compaction: messages queued meanwhile, a fence that is there already, a process that died in between, and hooks
// that fail.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionManager } from "@mariozechner/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { currentHostName, loadHost } from "../../fixtures/pi/hosts.ts";
import { call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import {
  asked,
  closeAfterEach,
  compactions,
  controls,
  first,
  lastMessage,
  note,
  pi,
  SHORT_COMPACTION,
  texts,
  toolRuns,
  using,
  whole,
} from "./support.ts";
import { slowTool, UNTIL_ABORTED_MS } from "./tools.ts";

closeAfterEach();

const LONG = "x".repeat(4_000);
const isAsked = (request: Request) => whole(request).includes("the user asked for a fresh window");
const isSaved = (request: Request) => whole(request).includes('\\"bytes\\":9');
const requestsWith = (s: PiSession, words: string) => s.requests.filter((request) => whole(request).includes(words));
const onBranch = (s: PiSession, words: string) =>
  s.branch().filter((entry) => entry.type === "message" && JSON.stringify(entry.message).includes(words));
/** It writes down nothing of a control turn; what that turn took out of the queue is said once more afterwards. */
const REPEATS = currentHostName() === "0.73.1";

/** Answers the checkpoint request after a while, so that something can happen meanwhile. */
const slowCheckpoint = (request: Request, n: number) =>
  isAsked(request) && !isSaved(request) ? { content: [note()], delayMs: 250 } : `answer ${n} ${LONG}`;

describe("messages around a manual compact", () => {
  for (const how of ["steer", "followUp"] as const) {
    it(`a ${how} sent while a manual compact waits for its checkpoint gets through exactly once`, async () => {
      const s = await pi({ settings: SHORT_COMPACTION, next: slowCheckpoint });
      await s.prompt("first request");
      const compacting = s.session.compact();
      await asked(s, 2);
      await s.session[how]("QUEUED WORDS");
      await compacting;
      await s.settled({ quietChecks: 30 });
      // On newer hosts it is answered behind the saved note; on 0.73.1 in the new window, by a request of its own.
      expect(s.requests).toHaveLength(REPEATS ? 4 : 3);
      expect(requestsWith(s, "QUEUED WORDS")).toHaveLength(1);
      expect(texts(s.requests.at(-1)).at(-1)).toContain("QUEUED WORDS");
      expect(first(s.requests.at(-1))).toContain(REPEATS ? "window, w2" : "window w1");
      expect(onBranch(s, "QUEUED WORDS")).toHaveLength(1);
      expect(compactions(s)).toHaveLength(1);
      expect(s.session.pendingMessageCount).toBe(0);
      const before = s.requests.length;
      await s.prompt("later");
      expect(s.requests).toHaveLength(before + 1);
      expect(first(s.requests.at(-1))).toContain("window, w2");
    });

    it(`a ${how} queued before a manual compact stopped the work gets through exactly once`, async () => {
      const s = await pi({
        settings: SHORT_COMPACTION,
        factories: [slowTool],
        next: (request, n) =>
          n === 0 ? [text(LONG), call("slow", { ms: UNTIL_ABORTED_MS })] : slowCheckpoint(request, n),
      });
      void s.session.prompt("first request").catch(() => undefined);
      await toolRuns(s);
      await s.session[how]("QUEUED WORDS");
      await s.session.compact();
      await until("a request in w2", () => s.requests.some((request) => first(request).includes("window, w2")));
      await s.settled({ quietChecks: 30 });
      expect(compactions(s)).toHaveLength(1);
      const opener = s.requests.findIndex((request) => first(request).includes("window, w2"));
      expect(onBranch(s, "QUEUED WORDS")).toHaveLength(1);
      expect(s.session.pendingMessageCount).toBe(0);
      // The work goes on by itself in the new window, by one request: with the words, or with a bootstrap that names them.
      expect(s.requests).toHaveLength(opener + 1);
      expect(whole(s.requests[opener])).toContain("QUEUED WORDS");
      expect(whole(s.requests[opener])).toContain("first request");
      expect(texts(s.requests[opener]).at(-1)).toContain(REPEATS ? "QUEUED WORDS" : "interrupted your work");
    });
  }

  it("a steer sent while a manual compact waits that comes to nothing gets through exactly once, in the old window", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      next: (request, n) =>
        n === 1 && isAsked(request) ? { content: [text("no")], delayMs: 250 } : `answer ${n} ${LONG}`,
    });
    await s.prompt("first request");
    const compacting = s.session.compact().catch((error: Error) => error.message);
    await asked(s, 2);
    await s.session.steer("QUEUED WORDS");
    expect(await compacting).toMatch(/cancel/i);
    await s.settled({ quietChecks: 30 });
    expect(s.requests).toHaveLength(REPEATS ? 4 : 3);
    expect(compactions(s)).toHaveLength(0);
    expect(onBranch(s, "QUEUED WORDS")).toHaveLength(1);
    expect(s.session.pendingMessageCount).toBe(0);
    await s.prompt("later");
    const now = s.requests.at(-1);
    expect(first(now)).toContain("window w1");
    expect(texts(now).filter((one) => one.includes("QUEUED WORDS"))).toHaveLength(1);
    expect(whole(now)).not.toContain("Checkpoint required");
  });

  it("a prompt sent while a manual compact waits is refused by the host, and nothing of it is lost in silence", async () => {
    const s = await pi({ settings: SHORT_COMPACTION, next: slowCheckpoint });
    await s.prompt("first request");
    const compacting = s.session.compact();
    await asked(s, 2);
    await expect(s.session.prompt("QUEUED WORDS")).rejects.toThrow(/compaction is in progress|already processing/i);
    await compacting;
    await s.settled({ quietChecks: 30 });
    expect(s.requests).toHaveLength(2);
    await s.prompt("QUEUED WORDS");
    expect(s.requests).toHaveLength(3);
    expect(onBranch(s, "QUEUED WORDS")).toHaveLength(1);
  });
});

describe("messages during a change", () => {
  it("messages queued while a checkpoint is written are delivered after the change, in order, none stuck", async () => {
    const s = await pi({
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0) return using(185_000, call("slow", { ms: 1 }));
        return n === 1 ? { ...using(186_000, note()), delayMs: 200 } : using(1_000, text(`answer ${n}`));
      },
    });
    const run = s.prompt("go");
    await asked(s, 2);
    await s.session.steer("STEER ONE");
    await s.session.steer("STEER TWO");
    await s.session.followUp("FOLLOW");
    await run;
    // One steer with each next request, as the host delivers them, then the follow-up.
    expect(s.requests).toHaveLength(5);
    expect(first(s.requests[2])).toContain("window, w2");
    const queued = texts(s.requests[4]).flatMap((one) => /STEER ONE|STEER TWO|FOLLOW/.exec(one)?.[0] ?? []);
    expect(queued).toEqual(["STEER ONE", "STEER TWO", "FOLLOW"]);
    expect(s.session.pendingMessageCount).toBe(0);
  });

  it("a prompt that comes while old windows are dropped is answered once, in the window that is open", async () => {
    const s = await pi({
      ui: true,
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (_request, n) => {
        if (n === 0 || n === 2) return using(1_000, text(LONG), call("slow", { ms: 1 }));
        return n === 1 || n === 3 ? using(1_000, text(LONG), call("new_context")) : using(1_000, text(`answer ${n}`));
      },
    });
    let began = false;
    const started = new Promise<void>((resolve) => {
      s.session.subscribe((event) => {
        if (event.type !== "compaction_start" || began) return;
        began = true;
        resolve();
      });
    });
    const run = s.session.prompt("go");
    await started;
    const second = s.session.prompt("SECOND", { streamingBehavior: "followUp" } as never);
    if (s.host.name === "0.84.4") {
      // It says so instead of waiting; people at a terminal are spared this, their input waits there (docs/hosts.md).
      await expect(second).rejects.toThrow("Wait for compaction to finish and retry");
      await run;
      await s.settled();
      await s.session.prompt("SECOND");
    }
    await Promise.all([run, second.catch(() => undefined)]);
    await s.settled({ quietChecks: 30 });
    expect(onBranch(s, "SECOND")).toHaveLength(1);
    expect(s.requests).toHaveLength(6);
    expect(first(s.requests[5])).toContain("window, w3");
    expect(compactions(s).map(({ details }) => details)).toMatchObject([{ consolidates: "w3" }]);
  });
});

describe("a manual compact under a fence that is there already", () => {
  it("uses the one checkpoint that the fence waits for: one window, one request more, and idle afterwards", async () => {
    const s = await pi({
      settings: SHORT_COMPACTION,
      factories: [slowTool],
      next: (request, n) => {
        if (n === 0) return using(185_000, text(LONG), call("slow", { ms: 1 }));
        if (isAsked(request) && !isSaved(request)) return using(186_000, note());
        return using(n === 1 ? 186_000 : 1_000, text(`answer ${n}`));
      },
    });
    await s.prompt("go");
    expect(controls(s, "fallback")).toHaveLength(1);
    expect(s.requests).toHaveLength(2);
    await s.session.compact();
    await s.settled({ quietChecks: 30 });
    expect(s.requests).toHaveLength(3);
    expect(compactions(s)).toHaveLength(1);
    await s.prompt("more");
    expect(s.requests).toHaveLength(4);
    expect(first(s.requests[3])).toContain("window, w2");
    expect(first(s.requests[3])).toContain("/root/notes/checkpoint.md");
    expect(s.toolResults().every(({ isError }) => !isError)).toBe(true);
  });
});

describe("a process that died while a manual compact waited", () => {
  it("leaves a fence, and the prompt that is answered under it goes on after its checkpoint", async () => {
    const s = await pi({ next: () => `answer ${LONG}` });
    await s.prompt("first request");
    const file = s.session.sessionFile ?? "";
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const details = { kind: "manual_checkpoint", requestId: "r1", windowId: "w1" };
    const parentId = (JSON.parse(lines.at(-1) ?? "{}") as { id: string }).id;
    const asked = { type: "custom_message", customType: "pi-token-budget:manual_checkpoint", display: false };
    const entry = { ...asked, content: "Checkpoint required", details, id: "abcd0001", parentId };
    const left = join(s.directory, "left.jsonl");
    writeFileSync(
      left,
      `${[...lines, JSON.stringify({ ...entry, timestamp: new Date().toISOString() })].join("\n")}\n`,
    );

    const again = await pi({
      session: { path: left },
      factories: [slowTool],
      next: (_request, n) => (n === 0 || n === 2 ? [call("slow", { ms: 1 })] : n === 1 ? [note()] : "all done"),
    });
    await again.prompt("more");
    expect(again.requests).toHaveLength(4);
    expect(again.toolResults().map(({ isError }) => isError)).toEqual([true, false, false]);
    expect(again.toolResults()[0]?.text).toContain("needs its checkpoint first");
    expect(JSON.stringify(lastMessage(again))).toContain("all done");
  });
});

/** A session manager that can be made to fail when it is asked for the leaf of its tree. */
async function breakable(directory: string): Promise<{ manager: SessionManager; breakIt(): void; mend(): void }> {
  const { codingAgent } = await loadHost();
  const manager = codingAgent.SessionManager.create(directory, directory);
  const works = manager.getLeafId.bind(manager);
  return {
    manager,
    breakIt: () => {
      manager.getLeafId = () => {
        throw new Error("the tree is on fire");
      };
    },
    mend: () => {
      manager.getLeafId = works;
    },
  };
}

describe("a compaction hook that fails", () => {
  it("an exception in our compaction hook cancels the compaction, is shown once, and no summary is asked for", async () => {
    const folder = (await pi({ next: () => "" })).directory;
    const { manager, breakIt, mend } = await breakable(folder);
    const s = await pi({
      ui: true,
      session: manager,
      settings: SHORT_COMPACTION,
      next: (_request, n) => `answer ${n} ${LONG}`,
    });
    await s.prompt("first request");
    await s.prompt("second request");
    breakIt();
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    mend();
    await s.settled();
    expect(s.requests).toHaveLength(2);
    expect(compactions(s)).toHaveLength(0);
    const shown = s.ui.notices.filter(({ message }) => message.includes("session_before_compact"));
    expect(shown).toEqual([{ type: "error", message: expect.stringContaining("the tree is on fire") }]);
    // And the session is as usable as before.
    await s.prompt("third request");
    expect(s.requests).toHaveLength(3);
    expect(whole(s.requests[2])).toContain("answer 1");
  });

  it("an exception at the host's threshold is no summary either, and the run goes on", async () => {
    const folder = (await pi({ next: () => "" })).directory;
    const { manager, breakIt, mend } = await breakable(folder);
    const s = await pi({
      ui: true,
      session: manager,
      settings: { compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 100 } },
      next: (_request, n) => using(n === 0 ? 190_000 : 1_000, text(`answer ${n} ${LONG}`)),
    });
    await s.session.prompt("first request");
    await s.settled();
    const before = s.requests.length;
    breakIt();
    await s.session.prompt("second request").catch(() => undefined);
    await s.settled();
    mend();
    expect(s.requests.length - before).toBeLessThanOrEqual(1);
    for (const request of s.requests) expect(whole(request)).not.toContain("<conversation>");
    expect(compactions(s)).toHaveLength(0);
  });
});
