// Watches the budget of a live window and sends what it calls for. How full is too full is in budget.ts, what is sent
// when is the machine's.
import { randomUUID } from "node:crypto";
import type { HostMessage } from "../host/api.ts";
import * as prompts from "../prompts.ts";
import type { AsideReason } from "./aside.ts";
import { type BudgetLevel, type BudgetSettings, budgetLevel, thresholds } from "./budget.ts";
import { controlMessage, reminderFacts } from "./controls.ts";
import type { LiveWindow } from "./live.ts";
import type { Delivery, Effect } from "./machine.ts";
import { FIXED_MIN_TOKENS, hasRoom, measuredFixedTokens, noRoomReason } from "./room.ts";
import { estimatedTokens, UsageMeter } from "./usage.ts";

export interface BudgetWatchParts {
  readonly settings: () => BudgetSettings;
  /** What the host keeps free, in tokens. */
  readonly reserveTokens: number;
  /** The model's context window, in tokens; undefined without a model. */
  readonly contextWindow: () => number | undefined;
  /** Whether this session has a tool that could save a checkpoint; without one it is never asked for one. */
  readonly canCheckpoint: () => boolean;
  readonly send: (message: HostMessage, delivery: Delivery) => void;
  /** Windows would do harm in this session. */
  readonly stepAside: (reason: AsideReason) => void;
}

interface Measured {
  readonly used: number | null;
  readonly contextWindow: number;
  readonly level: BudgetLevel;
  /** The hard trigger's value when it is reached. */
  readonly hardTriggerTokens: number | undefined;
}

export class BudgetWatch {
  readonly #live: LiveWindow;
  readonly #parts: BudgetWatchParts;
  readonly #meter = new UsageMeter();
  /** Results of the batch that runs now, by call: they are counted before they are written. */
  readonly #unseen = new Map<string, number>();
  /** Calls whose results arrived since the last request. */
  readonly #reported = new Set<string>();
  /** An estimate of what every request holds beside its messages, in tokens. */
  #fixedTokens = FIXED_MIN_TOKENS;
  /** Fallbacks that ride along with the next prompt: what called for them may be gone by then. */
  readonly #riding = new Set<string>();

  constructor(live: LiveWindow, parts: BudgetWatchParts) {
    this.#live = live;
    this.#parts = parts;
  }

  /** Tokens used in this window; null when that is not known. */
  used(): number | null {
    const { log } = this.#live.state;
    return this.#meter.used(this.#live.branch, log, this.#fixedTokens);
  }

  /** Whether the window is behind one of its limits, by what was reported and an estimate of the rest. */
  isFull(): boolean {
    const { branch, state } = this.#live;
    const measured = this.#measure(this.#meter.estimated(branch, state.log, this.#fixedTokens));
    return measured !== undefined && (measured.level === "fallback" || measured.hardTriggerTokens !== undefined);
  }

  /** The batch is over: its results are in the request. */
  requestSent(): void {
    // A call that never reached a tool has a result without an event: the budget is checked here then.
    if (this.#holdsUntoldResult()) this.check("steer");
    this.#reported.clear();
    this.#unseen.clear();
  }

  resultArrived(toolCallId: string, content: unknown): void {
    this.#reported.add(toolCallId);
    this.#unseen.set(toolCallId, estimatedTokens(content));
  }

  /** What the next requests hold beside their messages. */
  promptIs(tokens: number): void {
    this.#fixedTokens = Math.max(FIXED_MIN_TOKENS, tokens);
    this.#checkRoom();
  }

  check(via: Delivery): void {
    this.#checkRoom();
    const measured = this.#measure();
    if (!measured) return;
    const { used, contextWindow, ...figures } = measured;
    const effect = this.#live.step({ type: "budget_checked", ...figures, via });
    if (effect?.type !== "send_control") return;
    this.#send(effect, used === null ? undefined : Math.max(0, contextWindow - used));
  }

  /** Fallbacks that have arrived with a prompt on another branch, or for a larger model, where nothing calls for them. */
  lapsed(): readonly string[] {
    const { fence } = this.#live.state.log;
    if (fence === undefined || !this.#riding.delete(fence.requestId)) return [];
    const measured = this.#measure();
    if (!measured) return [fence.requestId];
    const { level, hardTriggerTokens, contextWindow, used } = measured;
    // The host would compact: what that asked for is still due.
    const isAtHostThreshold = used !== null && contextWindow - used <= this.#parts.reserveTokens;
    const isCalledFor = level === "fallback" || hardTriggerTokens !== undefined || isAtHostThreshold;
    return isCalledFor ? [] : [fence.requestId];
  }

  /** Why windows of this model are of no use: the first request would fill each of them. Undefined when they are, or when that is not known. */
  lacksRoom(): AsideReason | undefined {
    const contextWindow = this.#parts.contextWindow();
    if (contextWindow === undefined) return undefined;
    const limits = { reserveTokens: this.#parts.reserveTokens, settings: this.#parts.settings() };
    const fixedTokens = Math.max(this.#fixedTokens, measuredFixedTokens(this.#live.branch) ?? 0);
    return hasRoom(contextWindow, fixedTokens, limits) ? undefined : noRoomReason(contextWindow, fixedTokens, limits);
  }

  #checkRoom(): void {
    const reason = this.#parts.canCheckpoint() ? this.lacksRoom() : undefined;
    if (reason) this.#parts.stepAside(reason);
  }

  #measure(known = this.used()): Measured | undefined {
    const contextWindow = this.#parts.contextWindow();
    if (contextWindow === undefined || !this.#parts.canCheckpoint()) return undefined;
    const settings = this.#parts.settings();
    const used = known === null ? null : known + this.#unseenTokens();
    const { hardRolloverUsedTokens: hard } = settings;
    const limits = thresholds(contextWindow, this.#parts.reserveTokens, settings);
    const isHard = hard > 0 && used !== null && used >= hard;
    const level = budgetLevel(used, contextWindow, limits);
    return { used, contextWindow, level, hardTriggerTokens: isHard ? hard : undefined };
  }

  #holdsUntoldResult(): boolean {
    const { rows, current } = this.#live.branch;
    const newest = rows.length > current.firstRow ? rows.at(-1)?.head : undefined;
    return newest?.role === "tool" && !this.#reported.has(newest.toolCallId ?? "");
  }

  #send(effect: Effect & { type: "send_control" }, remainingTokens: number | undefined): void {
    const { kind, via, hardTriggerTokens } = effect;
    const { branch } = this.#live;
    const facts = reminderFacts(branch, remainingTokens);
    const requestId = randomUUID();
    if (via === "nextTurn" && kind === "fallback") this.#riding.add(requestId);
    const details = {
      kind,
      requestId,
      windowId: branch.current.id,
      ...(hardTriggerTokens === undefined ? {} : { hardTriggerTokens }),
    };
    const content = kind === "reminder" ? prompts.reminderText(facts) : prompts.fallbackText(facts);
    this.#parts.send(controlMessage(details, content), via);
  }

  /** Results of this batch that are not on the branch yet. */
  #unseenTokens(): number {
    const { rows } = this.#live.branch;
    for (let i = rows.length - 1; i >= 0 && rows[i]?.head.role === "tool"; i--)
      this.#unseen.delete(rows[i]?.head.toolCallId ?? "");
    let tokens = 0;
    for (const one of this.#unseen.values()) tokens += one;
    return tokens;
  }
}
