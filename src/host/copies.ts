// The handshake of the copies of this package that one session may load: installed and as a child entry, sources and
// bundle, a launcher's factory. The first to load owns the session, the others stand down. Spoken over the session's
// event bus, synchronously, before anything is registered. It must never keep state outside the claim it returns.

import { messageOf } from "../errors.ts";
import { isRecord } from "../shapes.ts";
import type { HostApi } from "./api.ts";

/** Probes and their answers; no later protocol may leave it. */
export const COPIES_CHANNEL = "pi-token-budget:copies";
/** A copy of any other protocol is understood as far as "the session has an owner". */
export const COPIES_PROTOCOL = 1;

/** A task membership as copies pass it on: a JSON object that only its reader understands. */
export type Membership = Readonly<Record<string, unknown>>;

export type Handover = { readonly type: "accepted" } | { readonly type: "refused"; readonly reason: string };

export interface ClaimOptions {
  /** Of this copy of the package. */
  readonly version: string;
  /** What this copy was started with: an owner keeps its own, a copy that stands down hands it over. */
  readonly membership?: Membership | undefined;
  /** Asked, as the owner, when a later copy brings a membership. */
  readonly onMembership: (membership: Membership) => Handover;
}

export interface SessionOwner {
  readonly type: "owner";
  /** Call it at session_start: copies that load later, on a bus shared by several sessions, belong to another one. */
  started(): void;
  /** Versions of the copies that stood down. */
  others(): readonly string[];
  /** Call it at session_shutdown: some hosts keep listeners across a reload, and a dead copy must not answer. */
  release(): void;
}

export interface StandingDown {
  readonly type: "standing_down";
  /** What the owner says of itself; fields it did not give are undefined. */
  readonly owner: { readonly protocol: number | undefined; readonly version: string | undefined };
  /** What became of the membership; undefined when there was none to hand over. */
  readonly handover: Handover | undefined;
}

export type SessionClaim = SessionOwner | StandingDown;

/** The part of Pi's extension interface that a claim needs. */
export type CopiesApi = Pick<HostApi, "events" | "getActiveTools">;

interface Answer {
  readonly protocol: number;
  readonly version: string;
  readonly handover?: Handover;
}

/** What the owner reads of a probe of its own protocol. */
interface Probe {
  /** Whether the session of the copy that asks is still loading its extensions. */
  readonly loading: boolean;
  /** JSON text: copies share no objects. */
  readonly membership: string | undefined;
}

const ALREADY_STARTED = "the session has started; a membership can only be handed over before that";

/** Claims the session whose extensions are being loaded. */
export function claimSession(api: CopiesApi, options: ClaimOptions): SessionClaim {
  const answer = probe(api, options);
  return answer.given ? standDown(answer.value, options.membership) : own(api, options);
}

/** While extensions are loaded every host refuses to act, and this asks for nothing else. */
function isLoading(api: CopiesApi): boolean {
  try {
    api.getActiveTools();
    return false;
  } catch {
    return true;
  }
}

/** The first answer counts, if it comes synchronously. */
function probe(api: CopiesApi, { version, membership }: ClaimOptions): { given: boolean; value: unknown } {
  const first: { given: boolean; value: unknown } = { given: false, value: undefined };
  api.events.emit(COPIES_CHANNEL, {
    protocol: COPIES_PROTOCOL,
    version,
    loading: isLoading(api),
    ...(membership === undefined ? {} : { membership: JSON.stringify(membership) }),
    answer: (value: unknown) => {
      if (!first.given) Object.assign(first, { given: true, value });
    },
  });
  return first;
}

function standDown(answer: unknown, membership: Membership | undefined): StandingDown {
  const { protocol, version, handover } = isRecord(answer) ? answer : {};
  const owner = {
    protocol: typeof protocol === "number" ? protocol : undefined,
    version: typeof version === "string" ? version : undefined,
  };
  if (membership === undefined) return { type: "standing_down", owner, handover: undefined };
  return { type: "standing_down", owner, handover: readHandover(protocol, handover) };
}

function readHandover(protocol: unknown, handover: unknown): Handover {
  if (protocol === COPIES_PROTOCOL && isRecord(handover)) {
    if (handover.type === "accepted") return { type: "accepted" };
    if (typeof handover.reason === "string") return { type: "refused", reason: handover.reason };
  }
  return { type: "refused", reason: "the copy that owns the session does not understand how it was handed over" };
}

function own(api: CopiesApi, options: ClaimOptions): SessionOwner {
  let started = false;
  const others: string[] = [];
  const unsubscribe = api.events.on(COPIES_CHANNEL, (data) => {
    if (!isRecord(data) || typeof data.answer !== "function") return;
    const asked = readProbe(data);
    if (started && asked.loading) return;
    others.push(typeof data.version === "string" ? data.version : "unknown");
    const handover = asked.membership === undefined ? undefined : decide(options, asked.membership, started);
    const answer: Answer = {
      protocol: COPIES_PROTOCOL,
      version: options.version,
      ...(handover ? { handover } : {}),
    };
    data.answer(answer);
  });
  return {
    type: "owner",
    others: () => others,
    started: () => {
      started = true;
    },
    release: () => unsubscribe(),
  };
}

/** Of another protocol nothing but the question itself is understood. */
function readProbe({ protocol, loading, membership }: Record<string, unknown>): Probe {
  if (protocol !== COPIES_PROTOCOL) return { loading: false, membership: undefined };
  return { loading: loading === true, membership: typeof membership === "string" ? membership : undefined };
}

function decide({ onMembership }: ClaimOptions, text: string, started: boolean): Handover {
  if (started) return { type: "refused", reason: ALREADY_STARTED };
  try {
    const membership: unknown = JSON.parse(text);
    if (!isRecord(membership)) return { type: "refused", reason: "a membership is a JSON object" };
    return onMembership(membership);
  } catch (error) {
    return { type: "refused", reason: messageOf(error) };
  }
}
