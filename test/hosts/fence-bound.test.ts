// A fence has an end: a model that never saves its checkpoint costs a fixed number of requests, then the next window opens
// without a note, or, where notes cannot be stored, windows step aside.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { type Block, call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, compactions, controls, first, last, pi, unpaired, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

/** The default of `fenceMaxRequests`. */
const BOUND = 5;
/** A script that is asked so often has met no bound. */
const ENOUGH = 20;
const slow = () => call("slow", { ms: 1 });
const bash = () => call("bash", { command: "echo working" });
const note = (path = "checkpoint.md") => call("notes_write_file", { path, text: "the state of things" });
const notices = (s: PiSession, words: string) => s.ui.notices.filter(({ message }) => message.includes(words));
const said = (s: PiSession) => s.ui.notices.map(({ message }) => message).join("\n");
const opensW2 = (request: Request | undefined) => first(request).includes("fresh context window, w2");

/** Answers the first request with a window that is nearly full, then as `stubborn` says until w2 opens. */
function never(stubborn: (n: number) => readonly Block[]) {
  return (request: Request, n: number) => {
    if (n === 0) return using(185_000, slow());
    if (n > ENOUGH) throw new Error("there is no bound");
    return opensW2(request) ? using(1_000, text("going on")) : using(186_000, ...stubborn(n));
  };
}

const STUBBORN: readonly (readonly [string, (n: number) => readonly Block[]])[] = [
  ["calls other tools", (n) => (n % 2 ? [bash()] : [call("read", { path: "nosuch.txt" })])],
  ["repeats one refused call", () => [call("new_context")]],
  ["makes several refused calls at once", () => [slow(), bash(), call("history_list_items"), slow()]],
  ["writes to paths that are none of its notes", (n) => [note(["./checkpoint.md", "/checkpoint.md", "con.md"][n % 3])]],
  ["sends arguments that are no arguments", () => [call("notes_write_file", { path: "checkpoint.md" })]],
  ["saves nothing but blanks", () => [call("notes_write_file", { path: "checkpoint.md", text: " \n\t" })]],
  ["calls a tool that there is not", () => [call("save_checkpoint")]],
];

describe("a model that never saves its checkpoint", () => {
  for (const [name, stubborn] of STUBBORN) {
    it(`and ${name} makes ${BOUND} requests, then is in a window without a note`, async () => {
      const s = await pi({ ui: true, factories: [slowTool], next: never(stubborn) });
      await s.prompt("build the ledger");
      expect(s.requests).toHaveLength(1 + BOUND + 1);
      const opened = s.requests.at(-1);
      expect(first(opened)).toContain("The checkpoint of w1 was not saved");
      expect(first(opened)).toContain("build the ledger");
      expect(opened?.messages).toHaveLength(1);
      expect(notices(s, "w2 opened without a note")).toHaveLength(1);
      expect(compactions(s)).toHaveLength(0);
      for (const { messages } of s.requests) expect(unpaired(messages)).toEqual([]);
      await s.prompt("and now?");
      expect(last(s.requests.at(-1))).toContain("and now?");
      expect(first(s.requests.at(-1))).toBe(first(opened));
      expect(notices(s, "without a note")).toHaveLength(1);
    });
  }

  it("is told so more firmly each time, and never at greater length", async () => {
    const s = await pi({ ui: true, factories: [slowTool], next: never(() => [slow()]) });
    await s.prompt("go");
    const refusals = s.toolResults().filter(({ isError }) => isError);
    expect(refusals).toHaveLength(BOUND);
    expect(refusals[0]?.text).toContain("needs its checkpoint first");
    expect(refusals[3]?.text).toContain("LAST CHANCE");
    for (let i = 1; i < refusals.length; i++)
      expect(refusals[i]?.text.length).toBeLessThanOrEqual(refusals[i - 1]?.text.length ?? 0);
  });

  it("has as many requests as the setting says", async () => {
    const s = await pi({
      settings: { tokenBudget: { fenceMaxRequests: 2 } },
      factories: [slowTool],
      next: never(() => [slow()]),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(4);
    expect(opensW2(s.requests[3])).toBe(true);
  });

  it("but obeys with its last request opens the window with its note", async () => {
    const s = await pi({ ui: true, factories: [slowTool], next: never((n) => [n < BOUND ? slow() : note()]) });
    await s.prompt("go");
    expect(s.requests).toHaveLength(1 + BOUND + 1);
    expect(first(s.requests.at(-1))).not.toContain("was not saved");
    expect(first(s.requests.at(-1))).toContain("checkpoint.md");
    expect(notices(s, "without a note")).toHaveLength(0);
  });

  it("and only talks is answered under the fence by each prompt, which counts anew", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (_request, n) => (n === 0 ? using(185_000, slow()) : using(186_000, text("I would rather talk"))),
    });
    await s.prompt("go");
    for (let i = 0; i < BOUND + 1; i++) await s.prompt(`prompt ${i}`);
    expect(s.requests).toHaveLength(2 + BOUND + 1);
    expect(controls(s, "fallback")).toHaveLength(1);
    expect(first(s.requests.at(-1))).toContain("window w1");
  });

  it("and answers with nothing at all ends its run, not the session", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (_request, n) => (n === 0 ? using(185_000, slow()) : { content: [], usage: { totalTokens: 186_000 } }),
    });
    await s.prompt("go");
    expect(s.requests.length).toBeLessThanOrEqual(1 + BOUND);
    await s.prompt("again");
    expect(s.requests.length).toBeLessThanOrEqual(1 + 2 * BOUND);
  });

  it("gets what was queued meanwhile in the new window, once", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: async (request, n) => {
        if (n === BOUND) await s.session.followUp("and then the tests");
        return never(() => [slow()])(request, n);
      },
    });
    await s.prompt("go");
    const after = s.requests.slice(1 + BOUND);
    expect(after).toHaveLength(2);
    expect(after.every(opensW2)).toBe(true);
    expect(whole(after[1]).match(/and then the tests/g)).toHaveLength(1);
  });
});

describe("the count of a fence", () => {
  it("starts anew with a prompt after Esc, and what was left of it opens nothing", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: async (request, n) => {
        if (n === BOUND) void s.session.abort();
        return never(() => [slow()])(request, n);
      },
    });
    await s.session.prompt("go").catch(() => undefined);
    await s.settled();
    const before = s.requests.length;
    expect(before).toBeLessThanOrEqual(1 + BOUND);
    await s.prompt("go on");
    expect(s.requests).toHaveLength(before + BOUND + 1);
    expect(opensW2(s.requests.at(-2))).toBe(false);
    expect(opensW2(s.requests.at(-1))).toBe(true);
    expect(first(s.requests.at(-1))).toContain("go on");
  });

  it("is that of the log: a restart keeps the fence, and a fork the window that opened without a note", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (_request, n) => (n === 0 ? using(185_000, slow()) : using(186_000, text("no"))),
    });
    await s.prompt("go");
    const file = s.session.sessionFile ?? "";
    await s.dispose();
    const again = await pi({
      ui: true,
      session: { path: file },
      factories: [slowTool],
      next: (request, n) => {
        if (n > ENOUGH) throw new Error("there is no bound");
        return opensW2(request) ? using(1_000, text("going on")) : using(186_000, slow());
      },
    });
    await again.prompt("more");
    expect(again.requests).toHaveLength(BOUND + 1);
    const opened = first(again.requests.at(-1));
    await again.dispose();
    const { SessionManager } = (await import("../../fixtures/pi/hosts.ts").then(({ loadHost }) => loadHost()))
      .codingAgent;
    const fork = await pi({
      session: SessionManager.forkFrom(file, again.project, dirname(file)),
      next: () => using(1_000, text("in the fork")),
    });
    await fork.prompt("where are we?");
    expect(fork.requests).toHaveLength(1);
    expect(first(fork.requests[0])).toContain(opened);
  });
});

describe("notes that cannot be stored", () => {
  /** A file where the folder of the session's storage should be. */
  const broken = async (next: (request: Request, n: number) => ReturnType<typeof using>) => {
    const s = await pi({ ui: true, factories: [slowTool], next });
    const storage = `${dirname(s.session.sessionFile ?? "")}/pi-token-budget`;
    rmSync(storage, { recursive: true, force: true });
    mkdirSync(dirname(storage), { recursive: true });
    writeFileSync(storage, "in the way");
    return { s, mend: () => rmSync(storage) };
  };

  it("make windows step aside after the same number of requests: work goes on, and one message says why", async () => {
    const { s, mend } = await broken((_request, n) => {
      if (n === 0) return using(170_000, slow());
      if (n === 1) return using(185_000, slow());
      if (n > ENOUGH) throw new Error("there is no bound");
      return n <= 1 + BOUND
        ? using(186_000, note())
        : n === 2 + BOUND
          ? using(187_000, bash())
          : using(1_000, text("done"));
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2 + BOUND + 2);
    expect(notices(s, "Windows are off in this session")).toHaveLength(1);
    expect(said(s)).toContain("/token-budget on");
    expect(s.toolResults().at(-1)).toMatchObject({ name: "bash", isError: false });
    expect(whole(s.requests.at(-1))).not.toContain("Checkpoint required");
    await s.session.prompt("/context");
    expect(s.ui.notices.at(-1)?.message).toContain("Windows are off in this session");
    await s.session.prompt("/token-budget doctor");
    expect(s.ui.notices.at(-1)?.message).toContain("✗ windows: off in this session");
    mend();
    await s.session.prompt("/token-budget on");
    expect(s.ui.notices.at(-1)?.message).toContain("kept in this session again");
  });

  it("make windows step aside when the model gives up before that", async () => {
    const { s } = await broken((_request, n) => {
      if (n === 0) return using(185_000, slow());
      return n === 1
        ? using(186_000, note())
        : n === 3
          ? using(20_000, bash())
          : using(20_000, text("it cannot be saved"));
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(3);
    expect(notices(s, "Windows are off in this session")).toHaveLength(1);
    await s.prompt("then go on without");
    expect(s.toolResults().at(-1)).toMatchObject({ name: "bash", isError: false });
    expect(notices(s, "Windows are off in this session")).toHaveLength(1);
  });
});

describe("a checkpoint asked for by hand", () => {
  const stubborn = (request: Request, n: number) => {
    if (n > ENOUGH) throw new Error("there is no bound");
    return whole(request).includes("the user asked for a fresh window")
      ? using(60_000, slow())
      : using(60_000, text("fine"));
  };

  it("by /context new ends after as many requests; the window stays, and the person is told", async () => {
    const s = await pi({ ui: true, factories: [slowTool], next: stubborn });
    await s.prompt("hello");
    await s.session.prompt("/context new");
    await s.settled();
    // 0.73.1 begins one more request, which is aborted before it is sent.
    expect(s.requests.length).toBeLessThanOrEqual(1 + BOUND + (s.host.name === "0.73.1" ? 1 : 0));
    expect(s.requests.length).toBeGreaterThanOrEqual(1 + BOUND);
    expect(said(s)).toContain("No checkpoint was saved");
    await s.prompt("go on");
    expect(first(s.requests.at(-1))).toContain("window w1");
    expect(whole(s.requests.at(-1))).not.toContain("the user asked for a fresh window");
  });

  it("by /compact ends after as many requests; the window stays, and the person is told once", async () => {
    const s = await pi({
      ui: true,
      settings: { compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 10 } },
      factories: [slowTool],
      next: stubborn,
    });
    await s.prompt("hello ".repeat(100));
    await s.prompt("and more ".repeat(100));
    const before = s.requests.length;
    await s.session.compact().catch(() => undefined);
    await s.settled();
    expect(s.requests.length - before).toBeLessThanOrEqual(BOUND + (s.host.name === "0.73.1" ? 1 : 0));
    expect(s.requests.length - before).toBeGreaterThanOrEqual(BOUND);
    expect(notices(s, "no checkpoint was saved")).toHaveLength(1);
    expect(compactions(s)).toHaveLength(0);
    await s.prompt("go on");
    expect(first(s.requests.at(-1))).toContain("window w1");
  });
});
