// What /context says: every figure follows from the lines above it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadSettings } from "../../src/settings.ts";
import { type ContextFacts, contextText } from "../../src/ui/context.ts";
import { budgetFigures, thresholds } from "../../src/window/budget.ts";

interface Case {
  readonly contextWindow?: number | undefined;
  readonly used?: number | null;
  readonly tokenBudget?: object;
  readonly reserveTokens?: number;
}

function facts({ contextWindow, used = 0, tokenBudget = {}, reserveTokens = 16_384 }: Case): ContextFacts {
  const text = JSON.stringify({ tokenBudget, compaction: { reserveTokens } });
  const loaded = loadSettings([{ source: "agent", name: "settings.json", text }], {});
  const settings = loaded.forModel("p/m");
  return {
    windowId: "w1",
    agent: "/root",
    phase: "ready",
    aside: undefined,
    goesAtEnd: false,
    figures: budgetFigures(used, contextWindow, settings.hardRolloverUsedTokens),
    model: contextWindow === undefined ? undefined : "p/m",
    contextWindow,
    settings,
    loaded,
    oddities: [],
    agentLines: [],
    agents: ["/root", "/root/reviewer", "/root/tester (restricted)"],
    notesRoot: "the notes",
    storageRoot: "the storage",
  };
}

/** The number that stands behind the words. */
function numberIn(text: string, words: RegExp): number {
  const found = new RegExp(`${words.source}([\\d,.]+)`).exec(text)?.[1];
  expect(found, `${words} in\n${text}`).toBeDefined();
  return Number(found?.replaceAll(",", ""));
}

describe("/context", () => {
  it("names the window, the agents by their names, and what each figure is made from", () => {
    expect(contextText(facts({ contextWindow: 200_000, used: 100_001 }))).toBe(
      `Window w1 (main agent): in use
Model: p/m, with a window of 200,000 tokens
Used 100,001 tokens, left 99,999 (49 %)
Settings:
  reminderRemainingPercent 0.25: default
  reminderRemainingFloorTokens 21,384: default
  reminderRemainingCeilingTokens 60,000: default
  hardRolloverUsedTokens 0 (off): default
  compaction.reserveTokens 16,384: agent settings
Reminder with 50,000 tokens left:
  25 % of the window is 50,000;
  at most the ceiling, 60,000;
  at least the floor, 21,384;
  and at most half of the window, 100,000
Checkpoint with 20,480 tokens left:
  reserveTokens and a margin of 4,096 are 20,480
  (the margin is 4,096 or 2 % of the window, whichever is more);
  at most a quarter of the window, 50,000
  and less than the reminder's 50,000
Agents: main agent, reviewer, tester (restricted)
Notes in the notes
Storage in the storage`,
    );
  });

  it("shows no figures of a window without a model, and says that use is unknown where it is", () => {
    const none = contextText(facts({}));
    expect(none).toContain("Model: none is selected");
    expect(none).not.toMatch(/^(Used|Reminder|Checkpoint)/m);
    expect(contextText(facts({ contextWindow: 200_000, used: null }))).toContain("Used: not known");
  });

  it("shows figures from which its thresholds can be made again", () => {
    const count = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 2_000_000 }),
        fc.integer({ min: 1, max: 100 }),
        count(100_000),
        count(200_000),
        count(50_000),
        (contextWindow, percent, floor, ceiling, reserveTokens) => {
          const tokenBudget = {
            reminderRemainingPercent: percent / 100,
            reminderRemainingFloorTokens: floor,
            reminderRemainingCeilingTokens: ceiling,
          };
          const shown = facts({ contextWindow, tokenBudget, reserveTokens });
          const text = contextText(shown);
          const limits = thresholds(contextWindow, reserveTokens, shown.settings);
          fc.pre(limits.reminder > 0);
          const share = numberIn(text, / % of the window is /);
          const wanted = Math.max(Math.min(share, numberIn(text, /the ceiling, /)), numberIn(text, /the floor, /));
          const reminder = Math.min(wanted, numberIn(text, /half of the window, /));
          expect(reminder).toBe(limits.reminder);
          expect(numberIn(text, /Reminder with /)).toBe(reminder);
          const reserved = numberIn(text, /a margin of [\d,]+ are /);
          const checkpoint = Math.min(reserved, numberIn(text, /quarter of the window, /));
          expect(numberIn(text, /Checkpoint with /)).toBe(Math.min(checkpoint, reminder - 1));
          expect(limits.fallback).toBe(Math.min(checkpoint, reminder - 1));
        },
      ),
    );
  });
});
