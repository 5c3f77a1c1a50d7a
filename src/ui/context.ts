// What /context says: the window, its budget, when reminder and checkpoint come, and from which settings. Every figure
// follows from the lines above it. Pure.

import { counted, grouped } from "../figures.ts";
import type { LoadedSettings, SettingName, Settings } from "../settings.ts";
import { TriggerSettings } from "../settings.ts";
import { agentName } from "../task/addresses.ts";
import { type AsideReason, asideText } from "../window/aside.ts";
import { type BudgetFigures, type Thresholds, thresholds } from "../window/budget.ts";
import type { Phase } from "../window/phase.ts";

export interface ContextFacts {
  readonly windowId: string;
  readonly agent: string;
  readonly phase: Phase;
  /** Why windows have stepped aside. */
  readonly aside: AsideReason | undefined;
  /** What the session leaves is removed when it ends, because a person asked for it. */
  readonly goesAtEnd: boolean;
  readonly figures: BudgetFigures;
  /** `provider/id`; undefined without a model. */
  readonly model: string | undefined;
  /** Tokens. */
  readonly contextWindow: number | undefined;
  readonly settings: Settings;
  readonly loaded: LoadedSettings;
  /** What is odd about the branch, one line each. */
  readonly oddities: readonly string[];
  readonly agents: readonly string[];
  /** What is known of the other agents, one line each. */
  readonly agentLines: readonly string[];
  readonly notesRoot: string;
  readonly storageRoot: string;
}

const TRIGGERS = Object.keys(TriggerSettings.properties) as (keyof TriggerSettings)[];

const PHASE_WORDS: { readonly [P in Phase]: string } = {
  ready: "in use",
  reminded: "in use, and the model has been reminded to save its checkpoint",
  checkpoint_required: "nearly used up: the model must save its checkpoint",
  rollover_pending: "open, and nothing was sent in it yet",
  rolling_over: "being opened",
  disabled: "windows are off, so Pi compacts by itself; /token-budget on keeps windows",
};

const REMOVED =
  "Notes, journal and tasks of this session are removed when it ends (quit, /new, /resume, /fork); /token-budget keep takes that back";

function tokens(count: number): string {
  return counted(Math.floor(count), "token");
}

function modelLine({ model, contextWindow }: ContextFacts): string {
  if (model === undefined) return "Model: none is selected, so the size of a window is not known; /model selects one";
  return contextWindow === undefined
    ? `Model: ${model}, which does not say the size of its window`
    : `Model: ${model}, with a window of ${tokens(contextWindow)}`;
}

function useLines({ figures, contextWindow }: ContextFacts): string[] {
  const { used_tokens: used, remaining_tokens: left } = figures;
  if (contextWindow === undefined) return [];
  if (used === null || left === null) return ["Used: not known before the next answer"];
  return [`Used ${tokens(used)}, left ${grouped(left)} (${Math.floor((left / contextWindow) * 100)} %)`];
}

function settingLine({ settings, loaded, model }: ContextFacts, name: SettingName): string {
  const value = settings[name];
  const off = name === "hardRolloverUsedTokens" && value === 0 ? " (off)" : "";
  return `  ${name} ${grouped(value as number)}${off}: ${loaded.originOf(name, model)}`;
}

function settingLines(facts: ContextFacts): string[] {
  const { settings, loaded, model } = facts;
  return [
    "Settings:",
    ...(settings.enabled ? [] : [`  enabled false: ${loaded.originOf("enabled", model)}`]),
    ...TRIGGERS.map((name) => settingLine(facts, name)),
    `  compaction.reserveTokens ${grouped(loaded.reserveTokens)}: ${loaded.reserveOrigin}`,
  ];
}

function reminderLines({ reminder, parts }: Thresholds, { settings }: ContextFacts): string[] {
  if (reminder === 0) return ["Reminder: never, since its share and its floor are 0"];
  const { reminderRemainingPercent: share, reminderRemainingCeilingTokens, reminderRemainingFloorTokens } = settings;
  return [
    `Reminder with ${tokens(reminder)} left:`,
    `  ${grouped(share * 100)} % of the window is ${grouped(Math.floor(parts.share))};`,
    `  at most the ceiling, ${grouped(reminderRemainingCeilingTokens)};`,
    `  at least the floor, ${grouped(reminderRemainingFloorTokens)};`,
    `  and at most half of the window, ${grouped(Math.floor(parts.reminderMax))}`,
  ];
}

function checkpointLines({ reminder, fallback, parts }: Thresholds, { settings, figures, loaded }: ContextFacts) {
  const { hardRolloverUsedTokens: hard } = settings;
  const { remaining_to_hard_trigger: toHard } = figures;
  const hence = toHard === null ? "" : toHard > 0 ? `, ${tokens(toHard)} from now` : ", which is reached";
  const reserved = loaded.reserveTokens + parts.margin;
  return [
    `Checkpoint with ${tokens(fallback)} left:`,
    `  reserveTokens and a margin of ${grouped(Math.floor(parts.margin))} are ${grouped(Math.floor(reserved))}`,
    "  (the margin is 4,096 or 2 % of the window, whichever is more);",
    `  at most a quarter of the window, ${grouped(Math.floor(parts.fallbackMax))}`,
    ...(reminder === 0 ? [] : [`  and less than the reminder's ${grouped(reminder)}`]),
    ...(hard === 0 ? [] : [`Checkpoint also at ${tokens(hard)} used, by hardRolloverUsedTokens${hence}`]),
  ];
}

function thresholdLines(facts: ContextFacts): string[] {
  const { contextWindow, settings, loaded, phase } = facts;
  // Where windows are off, neither comes.
  if (contextWindow === undefined || phase === "disabled") return [];
  const limits = thresholds(contextWindow, loaded.reserveTokens, settings);
  return [...reminderLines(limits, facts), ...checkpointLines(limits, facts)];
}

function firstLine({ windowId, agent, phase, aside }: ContextFacts): string {
  return `Window ${windowId} (${agentName(agent)}): ${aside ? asideText(aside) : PHASE_WORDS[phase]}`;
}

export function contextText(facts: ContextFacts): string {
  const { oddities, agents, agentLines, notesRoot, storageRoot } = facts;
  return [
    firstLine(facts),
    modelLine(facts),
    ...useLines(facts),
    ...settingLines(facts),
    ...thresholdLines(facts),
    ...oddities,
    `Agents: ${agents.map(agentName).join(", ")}`,
    ...agentLines.map((line) => `  ${line}`),
    ...(facts.goesAtEnd ? [REMOVED] : []),
    `Notes in ${notesRoot}`,
    `Storage in ${storageRoot}`,
  ].join("\n");
}
