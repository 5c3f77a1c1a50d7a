// A fence beside other extensions: one that takes the note tools away, one that blocks them, one that replaces what their
// results carry. Real second extensions in the session; nobody is caught and no window is promised in vain.
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { type Answer, call, type Request, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, controls, first, last, pi, unpaired, using, whole } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

const ENOUGH = 20;
const slow = () => call("slow", { ms: 1 });
const bash = () => call("bash", { command: "echo working" });
const note = (value = "the state of things") => call("notes_write_file", { path: "checkpoint.md", text: value });
const notices = (s: PiSession, words: string) => s.ui.notices.filter(({ message }) => message.includes(words));
const opensW2 = (request: Request | undefined) => first(request).includes("fresh context window, w2");
const bounded = (next: (request: Request, n: number) => Answer) => (request: Request, n: number) => {
  if (n > ENOUGH) throw new Error("there is no end");
  return next(request, n);
};

/** Blocks the tools named for as long as `isOn` says. */
const blocks =
  (names: readonly string[], isOn: () => boolean = () => true): ExtensionFactory =>
  (api) =>
    void api.on("tool_call", (event) =>
      names.includes(event.toolName) && isOn() ? { block: true, reason: "plan mode: nothing is written" } : undefined,
    );

/** Replaces the details of the tools named. */
const replaces =
  (...names: string[]): ExtensionFactory =>
  (api) =>
    void api.on("tool_result", (event) => (names.includes(event.toolName) ? { details: { seen: true } } : undefined));

describe("an extension that takes the note tools away under a fence", () => {
  it("lets the fence rest: work goes on, the person is told once, and the fence comes again with the tools", async () => {
    let restore: () => void = () => undefined;
    let hasTaken = false;
    const takes: ExtensionFactory = (api) =>
      void api.on("context", (event) => {
        const asked = JSON.stringify(event.messages).includes("Checkpoint required");
        const all = api.getActiveTools();
        if (!asked || hasTaken) return undefined;
        hasTaken = true;
        restore = () => api.setActiveTools(all);
        api.setActiveTools(["read", "bash", "slow"]);
        return undefined;
      });
    const s = await pi({
      ui: true,
      settings: { compaction: { enabled: false } },
      factories: [slowTool, takes],
      next: bounded((request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n < 4) return using(186_000, bash());
        if (n === 4) return using(187_000, text("done"));
        return opensW2(request) ? using(1_000, text("in w2")) : using(188_000, n === 5 ? slow() : note());
      }),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(5);
    expect(s.toolResults().every(({ isError }) => !isError)).toBe(true);
    expect(notices(s, "took the tools that write notes away")).toHaveLength(1);
    restore();
    await s.prompt("go on");
    expect(opensW2(s.requests.at(-1))).toBe(true);
    expect(first(s.requests.at(-1))).toContain("checkpoint.md");
  });
});

describe("an extension that blocks the write of the checkpoint", () => {
  it("is waited for twice, then the fence rests in this window and the person is told once", async () => {
    const s = await pi({
      ui: true,
      settings: { compaction: { enabled: false } },
      factories: [slowTool, blocks(["notes_write_file", "notes_append_to_file"])],
      next: bounded((_request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n <= 2) return using(186_000, note());
        return n < 6 ? using(187_000, bash()) : using(188_000, text("done"));
      }),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(7);
    const results = s.toolResults().map(({ name, isError }) => [name, isError]);
    expect(results.slice(1, 3)).toEqual([
      ["notes_write_file", true],
      ["notes_write_file", true],
    ]);
    expect(results.slice(3).every(([, isError]) => !isError)).toBe(true);
    expect(notices(s, "blocks the write of the checkpoint")).toHaveLength(1);
    expect(controls(s, "fallback")).toHaveLength(1);
    expect(whole(s.requests.at(-1))).not.toContain("Checkpoint required");
    await s.prompt("more");
    expect(controls(s, "fallback")).toHaveLength(1);
  });

  it("and lets it pass the second time is no reason to give up", async () => {
    let left = 1;
    const s = await pi({
      ui: true,
      factories: [slowTool, blocks(["notes_write_file"], () => left-- > 0)],
      next: bounded((request, n) => {
        if (n === 0) return using(185_000, slow());
        return opensW2(request) ? using(1_000, text("in w2")) : using(186_000, note());
      }),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(4);
    expect(opensW2(s.requests[3])).toBe(true);
    expect(notices(s, "blocks the write")).toHaveLength(0);
  });

  it("is not taken for one when the person stops the run", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool],
      next: bounded((request, n) => {
        if (n === 0) return using(185_000, slow());
        if (n <= 2) {
          void s.session.abort();
          return using(186_000, note());
        }
        return opensW2(request) ? using(1_000, text("in w2")) : using(186_000, note());
      }),
    });
    for (const prompt of ["go", "again", "once more"]) {
      await s.session.prompt(prompt).catch(() => undefined);
      await s.settled();
    }
    expect(notices(s, "blocks the write")).toHaveLength(0);
    expect(opensW2(s.requests.at(-1))).toBe(true);
  });
});

describe("an extension that replaces what results carry", () => {
  it("does not keep new_context from opening its window with the next request", async () => {
    const s = await pi({
      factories: [slowTool, replaces("new_context")],
      next: bounded((_request, n) =>
        n === 0 ? using(20_000, slow(), call("new_context"), slow()) : using(1_000, text("on we go")),
      ),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    expect(opensW2(s.requests[1])).toBe(true);
    expect(s.requests[1]?.messages).toHaveLength(1);
    const [, opened, after] = s.toolResults();
    expect(opened).toMatchObject({ isError: false, details: { seen: true } });
    expect(after).toMatchObject({ isError: true, text: expect.stringContaining("Call it again in the new window") });
    await s.prompt("and now?");
    expect(first(s.requests.at(-1))).toBe(first(s.requests[1]));
    expect(last(s.requests.at(-1))).toContain("and now?");
    for (const { messages } of s.requests) expect(unpaired(messages)).toEqual([]);
  });

  it("does not keep a saved checkpoint from opening the window of its fence", async () => {
    const s = await pi({
      ui: true,
      factories: [slowTool, replaces("notes_write_file", "notes_append_to_file")],
      next: bounded((request, n) => {
        if (n === 0) return using(185_000, slow());
        return opensW2(request) ? using(1_000, text("in w2")) : using(186_000, note(), slow());
      }),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(3);
    expect(first(s.requests[2])).toContain("checkpoint.md");
    expect(first(s.requests[2])).not.toContain("was not saved");
    expect(s.toolResults().at(-1)?.text).toContain("the checkpoint is saved");
    expect(s.ui.notices).toEqual([]);
  });

  it("does not keep /context new from opening a window", async () => {
    const s = await pi({
      ui: true,
      factories: [replaces("notes_write_file")],
      next: bounded((request) =>
        last(request).includes("the user asked for a fresh window")
          ? using(60_000, note())
          : using(60_000, text("fine")),
      ),
    });
    await s.prompt("hello");
    await s.session.prompt("/context new");
    await s.settled();
    expect(s.ui.notices.at(-1)?.message).toContain("w2 is open");
    await s.prompt("go on");
    expect(opensW2(s.requests.at(-1))).toBe(true);
  });

  it("and shows the same windows after a restart", async () => {
    const s = await pi({
      factories: [replaces("new_context")],
      next: bounded((_request, n) => (n === 0 ? using(20_000, call("new_context")) : using(1_000, text("on we go")))),
    });
    await s.prompt("go");
    const opened = first(s.requests[1]);
    const file = s.session.sessionFile ?? "";
    await s.dispose();
    const again = await pi({ session: { path: file }, next: () => using(1_000, text("still here")) });
    await again.prompt("where are we?");
    expect(first(again.requests[0])).toBe(opened);
  });
});
