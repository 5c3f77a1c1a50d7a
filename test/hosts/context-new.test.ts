// `/context new` as a person types it: with instructions, and while the model works.
import { describe, expect, it } from "vitest";
import { call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import { asked, closeAfterEach, first, lastMessage, pi, texts, toolRuns } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const note = () => call("notes_write_file", { path: "checkpoint.md", text: "the state" });
const ASKED = "the user asked for a fresh window";
const isAsked = (request: Request) => texts(request).at(-1)?.includes(ASKED) ?? false;

describe("/context new", () => {
  it("passes instructions on to the checkpoint's request", async () => {
    const s = await pi({ ui: true, next: (request) => (isAsked(request) ? [note()] : "answer") });
    await s.prompt("hello");
    await s.session.prompt("/context new  keep the failing tests in mind");
    await s.settled();
    expect(texts(s.requests[1]).at(-1)).toContain("The user adds: keep the failing tests in mind");
    expect(s.ui.notices.at(-1)?.message).toContain("Window w2 is open; the next message starts in it");
    expect(s.requests).toHaveLength(2);
  });

  it("during a run lets the work go on in the new window", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: (request, n) => {
        if (n === 0) return [text("on it"), call("slow", { ms: 500 })];
        return isAsked(request) ? [note()] : "the work is done";
      },
    });
    const run = s.session.prompt("build it").catch(() => undefined);
    await toolRuns(s);
    const opening = s.session.prompt("/context new mind the ledger");
    await run;
    await opening;
    await asked(s, 3);
    await s.settled();
    expect(texts(s.requests[1]).at(-1)).toContain("The user adds: mind the ledger");
    expect(first(s.requests[2])).toContain("window, w2");
    expect(first(s.requests[2])).toContain("build it");
    expect(texts(s.requests[2]).at(-1)).toContain("Go on with what was unfinished");
    expect(s.ui.notices.map(({ message }) => message).join()).toContain("the work goes on in it");
    expect(s.requests).toHaveLength(3);
    expect(JSON.stringify(lastMessage(s))).toContain("the work is done");
  });

  it("is not taken for another word that begins alike", async () => {
    const s = await pi({ ui: true, next: () => "answer" });
    await s.prompt("hello");
    await s.session.prompt("/context newer");
    expect(s.ui.notices.at(-1)?.message).toContain("/context new");
    expect(s.requests).toHaveLength(1);
  });
});
