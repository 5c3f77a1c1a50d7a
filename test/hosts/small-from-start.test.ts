// A model whose window has no room for windows: footer, /token-budget and /context say so before anything was said to it.
import { describe, expect, it } from "vitest";
import { text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi, using } from "./support.ts";

closeAfterEach();

const footer = (s: PiSession) => s.ui.statuses.get("pi-token-budget");
const aside = (s: PiSession) => s.ui.notices.filter(({ message }) => message.includes("Windows are off"));

async function said(s: PiSession, command: string): Promise<string> {
  await s.session.prompt(command);
  return s.ui.notices.at(-1)?.message ?? "";
}

const models = [
  { id: "small", contextWindow: 8_192 },
  { id: "large", contextWindow: 200_000 },
];

describe("a window of 8,192 tokens", () => {
  it("has no windows from the start, and everything says so", async () => {
    const s = await pi({ ui: true, models, next: () => using(2_000, text("done")) });
    expect(footer(s)).toBe("windows off: model too small");
    expect(aside(s)).toHaveLength(1);
    const context = await said(s, "/context");
    expect(context).toContain("Windows are off in this session");
    expect(context).not.toMatch(/^(Reminder|Checkpoint) /m);
    expect(await said(s, "/token-budget")).toMatch(/^Windows are off in this session and Pi compacts by itself: /);
    const on = await said(s, "/token-budget on");
    expect(on).toMatch(/^Windows are off in this session and Pi compacts by itself: .* at least 1\d,\d{3} tokens/);
    expect(footer(s)).toBe("windows off: model too small");
    await s.prompt("hello");
    expect(footer(s)).toBe("windows off: model too small");
    await s.selectModel("large");
    await s.prompt("more");
    // Pi has compacted by itself meanwhile.
    expect(footer(s)).toMatch(/^w\d · \d+ % left$/);
    expect(await said(s, "/context")).toMatch(/^Reminder with 50,000 tokens left:$/m);
  });

  it("stays off for a person who switched windows off, whatever the model", async () => {
    const s = await pi({ ui: true, models, next: () => using(2_000, text("done")) });
    expect(await said(s, "/token-budget off")).toContain("Off in this session");
    expect(footer(s)).toBeUndefined();
    await s.selectModel("large");
    expect(footer(s)).toBeUndefined();
    expect(await said(s, "/context")).not.toMatch(/^(Reminder|Checkpoint) /m);
    expect(await said(s, "/token-budget on")).toBe("Windows are kept in this session again.");
  });

  it("that the settings leave without windows is not told of its size", async () => {
    const s = await pi({ ui: true, models, settings: { tokenBudget: { enabled: false } }, next: () => "hello" });
    expect(aside(s)).toEqual([]);
    expect(footer(s)).toBeUndefined();
    expect(await said(s, "/token-budget on")).toMatch(/^Windows are off in this session and Pi compacts by itself: /);
  });
});
