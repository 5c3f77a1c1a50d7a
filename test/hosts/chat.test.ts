// A chat without tools fills its window too: its reminder reaches the model before its fence, also where the host's own
// threshold comes first, and a person who is shown that a compaction was cancelled is told why.
import { describe, expect, it } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, controls, first, pi, using, whole } from "./support.ts";

closeAfterEach();

const cancelled = (s: PiSession) => s.ui.notices.filter(({ message }) => message.includes("was cancelled"));

/** Prompts until the next window is there; answers which requests of w1 held the reminder and the fallback. */
async function chat(settings: Readonly<Record<string, unknown>>) {
  const s = await pi({
    ui: true,
    contextWindow: 32_768,
    settings,
    next: (request, n) => {
      if (whole(request).includes("Checkpoint required"))
        return using(27_000, call("notes_write_file", { path: "checkpoint.md", text: "what was said" }));
      return using(6_000 + n * 2_500, text(`answer ${n} ${"y".repeat(400)}`));
    },
  });
  for (let i = 0; i < 11 && !first(s.requests.at(-1)).includes("window, w2"); i++) await s.prompt(`prompt ${i}`);
  const ofFirst = s.requests.filter((request) => !first(request).includes("window, w2"));
  const holding = (words: string) => ofFirst.findIndex((request) => whole(request).includes(words));
  return { s, reminded: holding("Reminder"), fenced: holding("Checkpoint required") };
}

describe("a chat in a window of 32,768 tokens", () => {
  const short = { compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 10 } };
  for (const [what, settings] of Object.entries({ "": {}, ", where the host would compact from half on": short })) {
    it(`is reminded before it is fenced, once each${what}`, async () => {
      const { s, reminded, fenced } = await chat(settings);
      expect(reminded).toBeGreaterThan(3);
      expect(fenced).toBeGreaterThan(reminded);
      expect([controls(s, "reminder").length, controls(s, "fallback").length]).toEqual([1, 1]);
      expect(first(s.requests.at(-1))).toContain("window, w2");
      const wasCancelled = s.events.some((event) => event.type === "compaction_end" && event.aborted === true);
      expect(cancelled(s)).toHaveLength(wasCancelled ? 1 : 0);
    });
  }
});
