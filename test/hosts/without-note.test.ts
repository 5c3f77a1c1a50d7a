// A window that the provider refuses in words nobody knows, or because of one item: the person gets out of it, and nothing
// is said to be saved that is not.
import { describe, expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import {
  asked,
  closeAfterEach,
  compactions,
  first,
  isAsked,
  last,
  pi,
  SHORT_COMPACTION,
  texts,
  toolRuns,
  whole,
} from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const NO_RETRY = { retry: { enabled: false } };
const REFUSED = "request refused: n_tokens=9000 while n_ctx=8192";
const refuse = { content: [], stopReason: "error", errorMessage: REFUSED } as const;
/** More than the host keeps of a session in these settings. */
const LONG = "x".repeat(2_000);

describe("/context new", () => {
  it("opens the window without a note when the request for it fails, and says so to person and model", async () => {
    const s = await pi({
      ui: true,
      settings: NO_RETRY,
      // One broken item makes every request of this window fail.
      next: (request) => (whole(request).includes("a broken picture") ? refuse : "answer"),
    });
    await s.prompt("look at a broken picture");
    await s.session.prompt("/context new");
    await s.settled();
    expect(s.requests).toHaveLength(2);
    const said = s.ui.notices.at(-1)?.message ?? "";
    expect(said).toContain("Window w2 is open; the next message starts in it.");
    expect(said).toContain(`The request for the checkpoint failed (${REFUSED}), so it opened without a note`);
    await s.prompt("never mind it");
    expect(s.requests).toHaveLength(3);
    expect(first(s.requests[2])).toContain("The checkpoint of w1 was not saved, so this window opened without it");
    expect(texts(s.requests[2])).toHaveLength(2);
    expect(last(s.requests[2])).toContain("never mind it");
    await s.session.prompt("/windows");
    const [before, after] = (s.ui.notices.at(-1)?.message ?? "").split("\n");
    expect(before).not.toContain("without a note");
    expect(after).toMatch(/^w2 \*.*1 request, opened without a note {2}never mind it$/);
  });

  it("in a run that goes on in the new window", async () => {
    const s = await pi({
      ui: true,
      settings: NO_RETRY,
      factories: [slowTool],
      next: (request, n) => {
        if (n === 0) return [text("on it"), call("slow", { ms: 500 })];
        return isAsked(request) ? refuse : "the work is done";
      },
    });
    const run = s.session.prompt("build it").catch(() => undefined);
    await toolRuns(s);
    const opening = s.session.prompt("/context new");
    await run;
    await opening;
    await asked(s, 3);
    await s.settled();
    expect(first(s.requests[2])).toContain("The checkpoint of w1 was not saved");
    expect(last(s.requests[2])).toContain("Go on with what was unfinished");
    expect(s.requests).toHaveLength(3);
  });

  it("keeps the window when its request is stopped, and names the way out", async () => {
    const s = await pi({
      ui: true,
      next: (request) => (isAsked(request) ? { content: [text("hm")], delayMs: 2_000 } : "answer"),
    });
    await s.prompt("hello");
    const opening = s.session.prompt("/context new");
    await asked(s, 2);
    await s.session.abort();
    await opening;
    await s.settled();
    expect(s.ui.notices.at(-1)?.message).toContain("/context new --without-note");
    await s.prompt("more");
    expect(first(s.requests.at(-1))).toContain("window w1");
  });
});

describe("/context new --without-note", () => {
  it("asks the person first, and no model", async () => {
    const s = await pi({ ui: true, next: () => "answer" });
    await s.prompt("hello");
    await s.session.prompt("/context new --without-note");
    expect(s.ui.questions).toHaveLength(1);
    expect(s.ui.notices.at(-1)?.message).toBe("The window stays as it is.");
    s.ui.confirms = true;
    await s.session.prompt("/context new --without-note");
    expect(s.ui.notices.at(-1)?.message).toBe(
      "Window w2 is open; nothing was noted for it. The next message starts in it.",
    );
    expect(s.requests).toHaveLength(1);
    await s.prompt("go on");
    expect(first(s.requests[1])).toContain("window, w2");
    expect(first(s.requests[1])).toContain("The checkpoint of w1 was not saved");
    expect(texts(s.requests[1])).toHaveLength(2);
  });

  it("does it where nobody can be asked", async () => {
    const s = await pi({ next: () => "answer" });
    await s.prompt("hello");
    await s.session.prompt("/context new --without-note");
    await s.prompt("go on");
    expect(s.requests).toHaveLength(2);
    expect(first(s.requests[1])).toContain("The checkpoint of w1 was not saved");
  });

  it("has nothing to leave in a window that holds nothing, and takes no other option", async () => {
    const s = await pi({ ui: true, next: () => "answer" });
    s.ui.confirms = true;
    await s.prompt("hello");
    await s.session.prompt("/context new --without-note");
    await s.session.prompt("/context new --without-note");
    expect(s.ui.notices.at(-1)?.message).toContain("holds nothing yet");
    await s.session.prompt("/context new --without-notes");
    expect(s.ui.notices.at(-1)?.message).toContain("/context new --without-note");
    expect(s.requests).toHaveLength(1);
  });
});

describe("/compact", () => {
  it("that is cancelled because its request failed says why, and names the way out", async () => {
    const s = await pi({
      ui: true,
      settings: { ...SHORT_COMPACTION, ...NO_RETRY },
      next: (request, n) => (isAsked(request) ? refuse : `answer ${n} ${LONG}`),
    });
    await s.prompt("first request");
    await expect(s.session.compact()).rejects.toThrow(/cancel/i);
    await s.settled();
    expect(compactions(s)).toHaveLength(0);
    const said = s.ui.notices.map(({ message }) => message).join("\n");
    // 0.73.1 writes nothing down of a turn inside a compaction, so its reason is not known.
    const why = s.host.name === "0.73.1" ? "No checkpoint was saved" : `failed (${REFUSED})`;
    expect(said).toContain(why);
    expect(said).toMatch(/\/context new asks once more .* \/context new --without-note opens it without asking/);
  });
});
