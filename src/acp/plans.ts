// Decides which plan to show the client, and when, from the messages between client and bridge and from the extension's
// pushes. A plan waits until the client knows its session. Pure.
import { isRecord } from "../shapes.ts";
import { isId } from "../task/context.ts";
import { type PlanPush, planLine } from "./wire.ts";

/** More sessions than a client has open at once. */
const SESSIONS_MAX = 64;
/** How many pending requests are remembered. */
const AWAITED_MAX = 64;

/** The only protocol version that has plans of this shape. */
const PROTOCOL_VERSION = 1;

/** The result names the session. */
const OPENING = ["session/new", "session/fork"];
/** The request names the session, of which the client has nothing yet. */
const REOPENING = ["session/load", "session/resume"];
const TURN = "session/prompt";
const ENDING = ["session/close", "session/delete"];

interface SessionPlan {
  /** Whether the client knows the session. */
  readonly isKnown: boolean;
  /** The line that the client got last; undefined when its plan is unknown. */
  readonly shown: string | undefined;
  /** The line of the newest push. */
  readonly newest: string | undefined;
}

type Awaited =
  | { readonly type: "version" | "opening" | "turn" }
  | { readonly type: "reopening"; readonly sessionId: string };

type Message = Readonly<Record<string, unknown>>;

/** JSON-RPC ids 1 and "1" are two. */
function requestKey(id: unknown): string | undefined {
  return typeof id === "string" || typeof id === "number" ? JSON.stringify(id) : undefined;
}

const UNKNOWN: SessionPlan = { isKnown: false, shown: undefined, newest: undefined };

export class Plans {
  readonly #sessions = new Map<string, SessionPlan>();
  readonly #awaited = new Map<string, Awaited>();
  #isOtherVersion = false;
  #hasPushed = false;
  #hasEndedTurn = false;

  /** Whether a line of the bridge can be relevant now. */
  get awaitsResponse(): boolean {
    return this.#awaited.size > 0;
  }

  /** Client and bridge agreed on another protocol version, in which no plans can be sent. */
  get isOtherVersion(): boolean {
    return this.#isOtherVersion;
  }

  /** A turn has ended and no extension has pushed anything so far. */
  get isSilent(): boolean {
    return this.#hasEndedTurn && !this.#hasPushed;
  }

  clientSent(message: Message | undefined): void {
    const { method, id, params } = message ?? {};
    if (typeof method !== "string") return;
    const sessionId = isRecord(params) && isId(params.sessionId) ? params.sessionId : undefined;
    if (method === "initialize") this.#await(id, { type: "version" });
    else if (OPENING.includes(method)) this.#await(id, { type: "opening" });
    else if (method === TURN) this.#awaitFirstTurn(id);
    if (sessionId === undefined || method === "initialize" || OPENING.includes(method)) return;
    if (ENDING.includes(method)) this.#sessions.delete(sessionId);
    else if (REOPENING.includes(method)) {
      this.#await(id, { type: "reopening", sessionId });
      this.#set(sessionId, UNKNOWN);
    } else if (!this.#isReopening(sessionId)) this.#set(sessionId, { isKnown: true });
  }

  bridgeSent(message: Message | undefined): void {
    const key = message && !("method" in message) ? requestKey(message.id) : undefined;
    const awaited = key === undefined ? undefined : this.#awaited.get(key);
    if (!message || key === undefined || !awaited) return;
    this.#awaited.delete(key);
    if (!isRecord(message.result)) return;
    if (awaited.type === "turn") this.#hasEndedTurn = true;
    else this.#succeeded(awaited, message.result);
  }

  pushed({ sessionId, entries }: PlanPush): void {
    this.#hasPushed = true;
    // The ends of turns are irrelevant from now on, so stop reading lines for them.
    for (const [key, { type }] of this.#awaited) if (type === "turn") this.#awaited.delete(key);
    this.#set(sessionId, { newest: planLine({ sessionId, entries }) });
  }

  /** Returns the lines that are due, each once. */
  take(): readonly string[] {
    if (this.#isOtherVersion) return [];
    return [...this.#sessions].flatMap(([sessionId, { isKnown, shown, newest }]) => {
      if (!isKnown || newest === undefined || newest === shown) return [];
      this.#sessions.set(sessionId, { isKnown, shown: newest, newest });
      return [newest];
    });
  }

  #succeeded(awaited: Awaited, result: Readonly<Record<string, unknown>>): void {
    const { protocolVersion, sessionId } = result;
    if (awaited.type === "version") this.#isOtherVersion = protocolVersion !== PROTOCOL_VERSION;
    else if (awaited.type === "reopening") this.#set(awaited.sessionId, { isKnown: true });
    // A client begins a new session with an empty plan.
    else if (isId(sessionId)) this.#set(sessionId, { isKnown: true, shown: planLine({ sessionId, entries: [] }) });
  }

  #awaitFirstTurn(id: unknown): void {
    if (!this.#hasPushed && !this.#hasEndedTurn) this.#await(id, { type: "turn" });
  }

  #isReopening(sessionId: string): boolean {
    return [...this.#awaited.values()].some(
      (awaited) => awaited.type === "reopening" && awaited.sessionId === sessionId,
    );
  }

  #await(id: unknown, awaited: Awaited): void {
    const key = requestKey(id);
    if (key === undefined) return;
    const [oldest = ""] = this.#awaited.keys();
    if (this.#awaited.size >= AWAITED_MAX) this.#awaited.delete(oldest);
    this.#awaited.set(key, awaited);
  }

  #set(sessionId: string, change: Partial<SessionPlan>): void {
    const changed = { ...(this.#sessions.get(sessionId) ?? UNKNOWN), ...change };
    this.#sessions.delete(sessionId);
    if (this.#sessions.size >= SESSIONS_MAX) this.#sessions.delete(this.#leastNeeded());
    this.#sessions.set(sessionId, changed);
  }

  /** The least recently mentioned session, of those that the client does not know if there are any. */
  #leastNeeded(): string {
    const [oldest = ""] = this.#sessions.keys();
    const [unknown] = [...this.#sessions].find(([, { isKnown }]) => !isKnown) ?? [oldest];
    return unknown;
  }
}
