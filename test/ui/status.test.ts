// The line in the footer.
import { describe, expect, it } from "vitest";
import { progressText, type StatusFacts, statusText } from "../../src/ui/status.ts";

const facts: StatusFacts = {
  windowId: "w3",
  phase: "ready",
  contextWindow: 200_000,
  usedTokens: 118_000,
  isIdle: false,
  isWithoutNote: false,
  aside: undefined,
  isOpenElsewhere: false,
  goesAtEnd: false,
  children: 0,
  tasks: 0,
  category: undefined,
};

describe("the status line", () => {
  it.each<[Partial<StatusFacts>, string | undefined]>([
    [{}, "w3 · 41 % left"],
    [{ phase: "reminded" }, "w3 · 41 % left"],
    [{ phase: "checkpoint_required" }, "w3 · checkpoint…"],
    [{ phase: "checkpoint_required", isIdle: true }, "w3 · checkpoint due"],
    [{ phase: "rolling_over" }, "w3 · new window…"],
    [{ usedTokens: null }, "w3"],
    [{ contextWindow: undefined }, "w3"],
    [{ usedTokens: 250_000 }, "w3 · 0 % left"],
    [{ tasks: 2, children: 1 }, "w3 · 41 % left · 1 agent · 2 tasks running"],
    [{ children: 1 }, "w3 · 41 % left · 1 agent"],
    [{ children: 3, phase: "checkpoint_required" }, "w3 · checkpoint… · 3 agents"],
    [{ category: "client-x", children: 1 }, "w3 · 41 % left · 1 agent · client-x"],
    [{ phase: "disabled", children: 2 }, undefined],
    [{ phase: "disabled", category: "client-x" }, "client-x"],
    [{ phase: "disabled", aside: "model too small" }, "windows off: model too small"],
    [{ isWithoutNote: true, usedTokens: null }, "w3 · opened without a note"],
    [{ isWithoutNote: true, children: 1 }, "w3 · 41 % left · opened without a note · 1 agent"],
    [{ isOpenElsewhere: true }, "w3 · 41 % left · open in another Pi too"],
    [{ goesAtEnd: true, category: "client-x" }, "w3 · 41 % left · client-x · removed at its end"],
    [{ phase: "disabled", goesAtEnd: true }, "removed at its end"],
    [{ phase: "disabled", isOpenElsewhere: true }, "open in another Pi too"],
  ])("%j", (change, text) => expect(statusText({ ...facts, ...change })).toBe(text));

  it("says how far long work is", () => {
    expect(progressText("copying notes", 1, 3)).toBe("copying notes: 33 % (Esc stops it)");
    expect(progressText("copying notes", 0, 0)).toContain("100 %");
  });
});
