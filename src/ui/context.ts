// What /context says: the window, its budget, when reminder and checkpoint come and from which settings. Pure.
import type { LoadedSettings, SettingName, Settings } from "../settings.ts";
import { TriggerSettings } from "../settings.ts";
import { type AsideReason, asideText } from "../window/aside.ts";
import { type BudgetFigures, thresholds } from "../window/budget.ts";
import type { Phase } from "../window/phase.ts";
import { grouped } from "./text.ts";

export interface ContextFacts {
  readonly windowId: string;
  readonly agent: string;
  readonly phase: Phase;
  /** Why windows have stepped aside. */
  readonly aside: AsideReason | undefined;
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

function shown(tokens: number | null): string {
  return tokens === null ? "unknown" : `${grouped(tokens)} tokens`;
}

function budgetLines({ figures, contextWindow, model }: ContextFacts): string[] {
  const { used_tokens, remaining_tokens, remaining_to_hard_trigger: toHard } = figures;
  const share =
    remaining_tokens === null || !contextWindow ? "" : ` (${Math.floor((remaining_tokens / contextWindow) * 100)} %)`;
  const size = contextWindow === undefined ? "" : ` of ${grouped(contextWindow)}${share}`;
  return [
    `Used ${shown(used_tokens)}, left ${shown(remaining_tokens)}${size}`,
    `Model: ${model ?? "none selected, so the size of a window is unknown"}`,
    ...(toHard === null ? [] : [`Checkpoint at the hard trigger in ${grouped(toHard)} tokens`]),
  ];
}

function valueLine({ settings, loaded, model }: ContextFacts, name: SettingName): string {
  const value = settings[name];
  const off = name === "hardRolloverUsedTokens" && value === 0 ? " (off)" : "";
  return `  ${name} ${grouped(value as number)}${off}: ${loaded.originOf(name, model)}`;
}

function thresholdLines(facts: ContextFacts): string[] {
  const { contextWindow, settings, loaded, model } = facts;
  if (contextWindow === undefined) return [];
  const { reminder, fallback } = thresholds(contextWindow, loaded.reserveTokens, settings);
  const enabled = settings.enabled ? [] : [`  enabled false: ${loaded.originOf("enabled", model)}`];
  return [
    `Reminder with ${grouped(reminder)} tokens left, checkpoint with ${grouped(fallback)} left; made from`,
    ...TRIGGERS.map((name) => valueLine(facts, name)),
    `  compaction.reserveTokens ${grouped(loaded.reserveTokens)}: ${loaded.reserveOrigin}`,
    ...enabled,
  ];
}

function firstLine({ windowId, agent, phase, aside }: ContextFacts): string {
  const line = `Window ${windowId} of ${agent}, ${phase}`;
  if (aside) return `${line}. ${asideText(aside)}`;
  return phase === "disabled" ? `${line}; Pi compacts by itself. /token-budget on keeps windows` : line;
}

export function contextText(facts: ContextFacts): string {
  const { oddities, agents, agentLines, notesRoot, storageRoot } = facts;
  return [
    firstLine(facts),
    ...budgetLines(facts),
    ...thresholdLines(facts),
    ...oddities,
    `Agents: ${agents.join(", ")}`,
    ...agentLines.map((line) => `  ${line}`),
    `Notes in ${notesRoot}`,
    `Storage in ${storageRoot}`,
  ].join("\n");
}
