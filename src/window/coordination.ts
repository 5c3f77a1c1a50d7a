// Continuation ownership: another extension of the session may say that it, not this package, continues after a window
// change. Spoken over Pi's event bus; strict shapes, one owner at a time. Budgets, fences and notes never depend on it.
import type { Phase } from "./phase.ts";

const PREFIX = "pi-token-budget:coordination:";
export const COORDINATION_CHANNELS = {
  state: `${PREFIX}state`,
  claim: `${PREFIX}claim`,
  claimResult: `${PREFIX}claim-result`,
  release: `${PREFIX}release`,
} as const;

/** Published on `state` whenever it changes; there is no answer to it. */
export interface CoordinationState {
  readonly version: 1;
  readonly sessionId: string;
  /** Grows by one with each snapshot of this session. */
  readonly sequence: number;
  readonly phase: Phase;
  readonly windowId: string;
  readonly owner: string | null;
}

/** What a claim is answered with, through its `respond` and on `claim-result`. */
export interface ClaimResult {
  readonly version: 1;
  readonly sessionId: string;
  readonly owner: string;
  readonly accepted: boolean;
  /** Why not. */
  readonly reason?: string;
}

export interface EventBus {
  emit(channel: string, data: unknown): void;
  on(channel: string, handler: (data: unknown) => void): () => void;
}

interface Claim {
  readonly sessionId: string;
  readonly owner: string;
  readonly respond?: (result: ClaimResult) => void;
}

const OWNER_MAX_CODE_UNITS = 200;

/** A claim or release of exactly the known fields; undefined for anything else. */
function parseClaim(data: unknown, fields: readonly string[]): Claim | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const claim = data as Record<string, unknown>;
  const isKnown = Object.keys(claim).every((key) => fields.includes(key));
  const { version, sessionId, owner, respond } = claim;
  if (!isKnown || version !== 1 || typeof sessionId !== "string" || typeof owner !== "string") return undefined;
  if (owner === "" || owner.length > OWNER_MAX_CODE_UNITS) return undefined;
  if (respond !== undefined && typeof respond !== "function") return undefined;
  return { sessionId, owner, ...(respond ? { respond: respond as (result: ClaimResult) => void } : {}) };
}

function isForAnother(data: unknown, sessionId: string): boolean {
  const { sessionId: named } = (data ?? {}) as { sessionId?: unknown };
  return typeof named === "string" && named !== sessionId;
}

export class Coordination {
  readonly #bus: EventBus;
  readonly #sessionId: string;
  readonly #unsubscribe: (() => void)[];
  #owner: string | undefined;
  #sequence = 0;
  #published = "";

  constructor(bus: EventBus, sessionId: string, onChange: () => void) {
    this.#bus = bus;
    this.#sessionId = sessionId;
    this.#unsubscribe = [
      bus.on(COORDINATION_CHANNELS.claim, (data) => {
        if (this.#claim(data)) onChange();
      }),
      bus.on(COORDINATION_CHANNELS.release, (data) => {
        if (this.#release(data)) onChange();
      }),
    ];
  }

  /** Who continues after a window change; undefined is this package. */
  get owner(): string | undefined {
    return this.#owner;
  }

  /** Publishes a snapshot when it differs from the last one. */
  publish(phase: Phase, windowId: string): void {
    const facts = { phase, windowId, owner: this.#owner ?? null };
    const shown = JSON.stringify(facts);
    if (shown === this.#published) return;
    this.#published = shown;
    const state: CoordinationState = { version: 1, sessionId: this.#sessionId, sequence: ++this.#sequence, ...facts };
    this.#bus.emit(COORDINATION_CHANNELS.state, state);
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  /** True when the owner changed. */
  #claim(data: unknown): boolean {
    // On a bus that several sessions share only the session that is named answers.
    if (isForAnother(data, this.#sessionId)) return false;
    const claim = parseClaim(data, ["version", "sessionId", "owner", "respond"]);
    if (!claim) return this.#refuse(data, "a claim is { version: 1, sessionId, owner, respond? } and nothing else");
    const isFree = this.#owner === undefined || this.#owner === claim.owner;
    const changed = isFree && this.#owner !== claim.owner;
    if (isFree) this.#owner = claim.owner;
    const result: ClaimResult = {
      version: 1,
      sessionId: this.#sessionId,
      owner: claim.owner,
      accepted: isFree,
      ...(isFree ? {} : { reason: `the continuation is held by ${this.#owner}` }),
    };
    this.#answer(claim.respond, result);
    return changed;
  }

  /** Answers a claim that cannot count, where it can be answered at all. */
  #refuse(data: unknown, reason: string): false {
    const { owner, respond } = (data ?? {}) as { owner?: unknown; respond?: unknown };
    const name = typeof owner === "string" ? owner.slice(0, OWNER_MAX_CODE_UNITS) : "";
    const result: ClaimResult = { version: 1, sessionId: this.#sessionId, owner: name, accepted: false, reason };
    this.#answer(typeof respond === "function" ? (respond as Claim["respond"]) : undefined, result);
    return false;
  }

  #answer(respond: Claim["respond"], result: ClaimResult): void {
    try {
      respond?.(result);
    } catch {
      // The claimant's own fault; the result is on the bus as well.
    }
    this.#bus.emit(COORDINATION_CHANNELS.claimResult, result);
  }

  #release(data: unknown): boolean {
    const release = parseClaim(data, ["version", "sessionId", "owner"]);
    if (release?.sessionId !== this.#sessionId || release.owner !== this.#owner) return false;
    this.#owner = undefined;
    return true;
  }
}
