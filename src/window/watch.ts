// Watches the budget of a live window and sends what it calls for. How full is too full is in budget.ts, what is sent
// when is the machine's.
import { randomUUID } from "node:crypto";
import type { HostMessage } from "../host/api.ts";
import { blocksOf, isImageBlock, isTextBlock } from "../host/entries.ts";
import * as prompts from "../prompts.ts";
import { type BudgetSettings, budgetLevel, type HostFigures, thresholds } from "./budget.ts";
import { controlMessage, reminderFacts } from "./controls.ts";
import type { LiveWindow } from "./live.ts";
import type { Delivery, Effect } from "./machine.ts";
import { usedTokens } from "./phase.ts";

const CODE_UNITS_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1_200;

function estimatedTokens(content: unknown): number {
  let tokens = 0;
  for (const block of blocksOf(content)) {
    if (isTextBlock(block)) tokens += block.text.length / CODE_UNITS_PER_TOKEN;
    else if (isImageBlock(block)) tokens += TOKENS_PER_IMAGE;
  }
  return Math.ceil(tokens);
}

export interface BudgetWatchParts {
  readonly settings: () => BudgetSettings;
  /** What the host keeps free, in tokens. */
  readonly reserveTokens: number;
  readonly figures: () => HostFigures | undefined;
  /** Whether this session has a tool that could save a checkpoint; without one it is never asked for one. */
  readonly canCheckpoint: () => boolean;
  readonly send: (message: HostMessage, delivery: Delivery) => void;
}

export class BudgetWatch {
  readonly #live: LiveWindow;
  readonly #parts: BudgetWatchParts;
  /** Results of the batch that runs now, by call: the host does not count them before they are written. */
  readonly #unseen = new Map<string, number>();

  constructor(live: LiveWindow, parts: BudgetWatchParts) {
    this.#live = live;
    this.#parts = parts;
  }

  /** Tokens used in this window; null when nobody knows. */
  used(): number | null {
    return usedTokens(this.#parts.figures(), this.#live.state, () => this.#estimate());
  }

  /** The batch is over: its results are in the request. */
  requestSent(): void {
    this.#unseen.clear();
  }

  resultArrived(toolCallId: string, content: unknown): void {
    this.#unseen.set(toolCallId, estimatedTokens(content));
  }

  check(via: Delivery): void {
    const host = this.#parts.figures();
    if (!host || !this.#parts.canCheckpoint()) return;
    const settings = this.#parts.settings();
    const known = this.used();
    const used = known === null ? null : known + this.#unseenTokens();
    const { hardRolloverUsedTokens: hard } = settings;
    const limits = thresholds(host.contextWindow, this.#parts.reserveTokens, settings);
    const effect = this.#live.tell({
      type: "budget_checked",
      level: budgetLevel(used, host.contextWindow, limits),
      hardTriggerTokens: hard > 0 && used !== null && used >= hard ? hard : undefined,
      via,
    });
    if (effect?.type !== "send_control") return;
    this.#send(effect, used === null ? undefined : Math.max(0, host.contextWindow - used));
  }

  #send(effect: Effect & { type: "send_control" }, remainingTokens: number | undefined): void {
    const { kind, via, hardTriggerTokens } = effect;
    const { branch } = this.#live;
    const facts = reminderFacts(branch, remainingTokens);
    const details = {
      kind,
      requestId: randomUUID(),
      windowId: branch.current.id,
      ...(hardTriggerTokens === undefined ? {} : { hardTriggerTokens }),
    };
    const content = kind === "reminder" ? prompts.reminderText(facts) : prompts.fallbackText(facts);
    this.#parts.send(controlMessage(details, content), via);
  }

  /** What the host has not counted yet: results of this batch that are not on the branch. */
  #unseenTokens(): number {
    const { rows } = this.#live.branch;
    for (let i = rows.length - 1; i >= 0 && rows[i]?.head.role === "tool"; i--)
      this.#unseen.delete(rows[i]?.head.toolCallId ?? "");
    let tokens = 0;
    for (const one of this.#unseen.values()) tokens += one;
    return tokens;
  }

  /** For providers that report no usage: the bootstrap and everything since. */
  #estimate(): number {
    const { branch } = this.#live;
    const { rows, current } = branch;
    const { opener } = current;
    let units = opener && "details" in opener ? opener.details.bootstrap.length : 0;
    for (let i = current.firstRow; i < rows.length; i++) {
      const entry = rows[i]?.entry;
      if (entry) units += branch.text(entry).points.text.length;
    }
    return Math.ceil(units / CODE_UNITS_PER_TOKEN);
  }
}
