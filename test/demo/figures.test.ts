// The figures of the demonstration come from requests and the log, not from the story.
import { describe, expect, it } from "vitest";
import { logFigures, RequestCounter } from "../../fixtures/demo/figures.ts";
import { type Request, type RequestMessage, text } from "../../fixtures/pi/scripted-model.ts";

const user = (words: string): RequestMessage => ({ role: "user", content: [text(words)] });
const request = (...messages: RequestMessage[]): Request => ({ model: "m", systemPrompt: "", messages, tools: [] });
const identity = user("[context] agent /root, window w1, root task t.");
const demand = user("[context w1] Checkpoint required: this window is nearly used up.");
const refused: RequestMessage = {
  role: "toolResult",
  toolCallId: "c1",
  isError: true,
  content: [text("bash was not run: window w1 needs its checkpoint first. …")],
};

describe("figures from requests", () => {
  it("count a demand and a refused call once, however often they are sent", () => {
    const counter = new RequestCounter();
    counter.add(request(identity, demand));
    counter.add(request(identity, demand, refused));
    counter.add(request(identity, demand, refused));
    expect(counter.figures).toMatchObject({ requests: 3, fences: 1, blockedCalls: 1, summaryCalls: 0, changes: [] });
  });

  it("see a change of window in the first message of the next request", () => {
    const counter = new RequestCounter();
    counter.add(request(identity, user("x".repeat(400))));
    const { change } = counter.add(request(user("[context] This is a fresh context window, w2; it is not a summary.")));
    expect(change).toMatchObject({ from: "w1", to: "w2" });
    expect(change?.after).toBeLessThan(change?.before ?? 0);
  });

  it("count a summarizer's request", () => {
    const counter = new RequestCounter();
    counter.add({ ...request(user("summarize")), systemPrompt: "You are a context summarization assistant. …" });
    expect(counter.figures.summaryCalls).toBe(1);
  });
});

describe("figures from the log", () => {
  it("count reminders, and windows that a checkpoint opened", () => {
    const log = [
      { type: "custom_message", customType: "pi-token-budget:reminder", details: { kind: "reminder" } },
      { type: "message", message: { role: "toolResult", details: { cause: "checkpoint" } } },
      { type: "message", message: { role: "toolResult", details: { cause: "new_context" } } },
      { type: "compaction", details: { cause: "manual_compact" } },
      { type: "compaction", details: { consolidates: "w3" } },
    ];
    expect(logFigures(log)).toEqual({ reminders: 1, checkpoints: 2 });
  });
});
