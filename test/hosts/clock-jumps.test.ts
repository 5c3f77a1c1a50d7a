// The clock jumps by a year in the middle of a session: runs settle, notes are saved, other agents read on, windows change.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createTokenBudgetExtension, getTokenBudgetTask } from "../../api.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions } from "../../fixtures/pi/session.ts";
import { closeAfterEach, first, pi, using, whole } from "./support.ts";

const YEAR_MS = 365 * 86_400_000;

closeAfterEach();
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], shouldAdvanceTime: true, now: new Date() });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ["ahead", YEAR_MS],
  ["back", -YEAR_MS],
])("a clock that jumps a year %s", (_name, ms) => {
  const jump = () => vi.setSystemTime(Date.now() + ms);

  it("behind a run leaves the settled boundary where it is: the reminder rides along with the next prompt", async () => {
    const s = await pi({ next: [using(160_000, text("hello")), "ok"] });
    // 0.73.1 settles some time after this, by its own silence.
    await s.session.prompt("hello");
    jump();
    await s.settled();
    await s.prompt("go on");
    expect(whole(s.requests[1])).toContain("Reminder:");
  });

  it("between two notes, and between a note and the next window, loses neither", async () => {
    const note = (words: string) => [call("notes_append_to_file", { path: "log.md", text: `${words}\n` })];
    let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
    const factories = [
      (api: { readonly events: typeof events }) => {
        events = api.events;
      },
    ] as unknown as NonNullable<OpenOptions["factories"]>;
    const s = await pi({
      factories,
      next: (_request, n) => {
        if (n === 1 || n === 2) jump();
        return [note("before"), note("behind"), [call("new_context")], "done"][n] ?? "more";
      },
    });
    await s.prompt("go");
    expect(s.toolResults().filter(({ isError }) => isError)).toEqual([]);
    expect(first(s.requests[3])).toContain("window, w2");
    const context = events && getTokenBudgetTask({ events })?.context;
    if (!context) throw new Error("no task in this session");
    const child = await pi({
      bare: true,
      factories: [createTokenBudgetExtension({ task: { ...context, agentName: "reader" } })],
      next: () => "ok",
    });
    await child.prompt("read");
    const read = await child.callTool("notes_read_file", { path: "/root/notes/log.md" });
    expect(JSON.stringify(read.content)).toContain("before\\nbehind\\n");
    const items = await child.callTool("history_list_items", { agent_name: "/root" });
    expect(JSON.stringify(items.content)).toContain("done");
  });
});
