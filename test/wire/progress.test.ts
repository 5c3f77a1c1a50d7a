// Long work in the footer: shown when it takes long, gone when it ends, stopped by Escape while nothing else runs.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { uiRecorder } from "../../fixtures/pi/ui.ts";
import type { HostContext } from "../../src/host/api.ts";
import { NOTES_WORK, shownWork } from "../../src/wire/progress.ts";

const KEY = "pi-token-budget:work";
const LONG_MS = 550;

function surroundings() {
  const recorder = uiRecorder();
  const handlers = new Set<(data: string) => unknown>();
  const onTerminalInput = (handler: (data: string) => unknown) => {
    handlers.add(handler);
    return () => void handlers.delete(handler);
  };
  let isIdle = true;
  const ctx = { hasUI: true, isIdle: () => isIdle, ui: { ...recorder.context, onTerminalInput } };
  return {
    ...recorder,
    handlers,
    context: () => ctx as unknown as HostContext,
    run: (going: boolean) => {
      isIdle = !going;
    },
    type: (data: string) => Array.from(handlers, (handler) => handler(data)),
  };
}

describe("long work", () => {
  it("is not shown when it is over in a moment", () => {
    const s = surroundings();
    const work = shownWork(NOTES_WORK, s.context);
    work.report(0, 2);
    work.report(2, 2);
    expect(s.statuses.size).toBe(0);
    expect(s.handlers.size).toBe(0);
  });

  it("is shown when it takes long, and leaves nothing behind", async () => {
    const s = surroundings();
    const work = shownWork(NOTES_WORK, s.context);
    work.report(0, 4);
    await sleep(LONG_MS);
    work.report(1, 4);
    expect(s.statuses.get(KEY)).toBe("copying notes: 25 % (Esc stops it)");
    work.report(4, 4);
    expect(s.statuses.get(KEY)).toBeUndefined();
    expect(s.handlers.size).toBe(0);
  });

  it("is stopped by Escape in every form, but not by other keys, nor while a run goes on that Escape is for", async () => {
    for (const key of ["\u001b", "\u001b[27u", "\u001b[27;1:1u"]) {
      const s = surroundings();
      const work = shownWork(NOTES_WORK, s.context);
      work.report(0, 4);
      await sleep(LONG_MS);
      work.report(1, 4);
      expect(s.type("\u001b[A")).toEqual([undefined]);
      s.run(true);
      expect(s.type(key)).toEqual([undefined]);
      s.run(false);
      expect(work.signal.aborted).toBe(false);
      expect(s.type(key)).toEqual([{ consume: true }]);
      expect(work.signal.aborted).toBe(true);
      expect(s.statuses.get(KEY)).toBeUndefined();
      expect(s.notices).toEqual([{ message: expect.stringContaining("the notes copied so far stay"), type: "info" }]);
      expect(s.handlers.size).toBe(0);
    }
  });
});
