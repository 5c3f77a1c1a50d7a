// The extension's end of the plan socket: forwards the root agent's todo list from its channel. It must never delay or fail
// the session: a list that cannot be sent is dropped.
import { connect, type Socket } from "node:net";
import type { HostApi } from "../host/api.ts";
import { isRecord } from "../shapes.ts";
import { ROOT_ADDRESS } from "../task/addresses.ts";
import { isId } from "../task/context.ts";
import { isTodoItem, TODO_CHANNEL, type TodoItem } from "../todo/list.ts";
import { todosToPlan } from "../todo/plan.ts";
import { ACP_SOCKET_VARIABLE, pushLine } from "./wire.ts";

/** The socket usually closes because the bridge above this process has ended, so few retries are worth it. */
const RECONNECTS_MAX = 5;
const RECONNECT_MS = 100;

/** More sessions than one program opens at once. */
const SESSIONS_MAX = 64;

export interface Publisher {
  /** Stops listening to the channel; lists that it has received are still sent. */
  stop(): void;
}

interface RootList {
  readonly sessionId: string;
  readonly todos: readonly TodoItem[];
}

/** A root agent's list; undefined for anything else, since every extension can write to the channel. */
function rootList(data: unknown): RootList | undefined {
  if (!isRecord(data) || data.agent !== ROOT_ADDRESS) return undefined;
  const { sessionId, todos } = data;
  return isId(sessionId) && Array.isArray(todos) && todos.every(isTodoItem) ? { sessionId, todos } : undefined;
}

/** Undefined when this process has no proxy above it. */
export function startPublisher(
  events: HostApi["events"],
  env: Readonly<Record<string, string | undefined>>,
): Publisher | undefined {
  const path = env[ACP_SOCKET_VARIABLE];
  if (!path) return undefined;
  const sender = new Sender(path);
  const unsubscribe = events.on(TODO_CHANNEL, (data) => {
    const list = rootList(data);
    if (!list) return;
    const { sessionId, todos } = list;
    sender.send(sessionId, pushLine({ sessionId, entries: todosToPlan(todos) }));
  });
  return {
    stop: () => {
      unsubscribe();
      sender.end();
    },
  };
}

interface Line {
  readonly text: string;
  readonly isSent: boolean;
}

/** Sends each session's newest line, and drops older ones that are unsent. Connects with the first. */
class Sender {
  readonly #path: string;
  readonly #lines = new Map<string, Line>();
  #socket: Socket | undefined;
  #isOpen = false;
  #ended = false;
  #reconnects = 0;

  constructor(path: string) {
    this.#path = path;
  }

  send(sessionId: string, text: string): void {
    const [oldest = ""] = this.#lines.keys();
    if (!this.#lines.delete(sessionId) && this.#lines.size >= SESSIONS_MAX) this.#lines.delete(oldest);
    this.#lines.set(sessionId, { text, isSent: false });
    this.#flush();
  }

  end(): void {
    this.#ended = true;
    this.#flush();
  }

  #flush(): void {
    try {
      const unsent = [...this.#lines].filter(([, { isSent }]) => !isSent);
      if (unsent.length > 0 && !this.#socket) this.#socket = this.#connect();
      const socket = this.#socket;
      if (!socket || !this.#isOpen || socket.writableNeedDrain) return;
      for (const [sessionId, { text }] of unsent) {
        this.#lines.set(sessionId, { text, isSent: true });
        socket.write(text);
      }
      if (this.#ended) socket.end();
    } catch {
      this.#socket?.destroy();
    }
  }

  #connect(): Socket {
    const socket = connect(this.#path);
    // The connection must not keep the process alive.
    socket.unref();
    socket.on("connect", () => {
      this.#isOpen = true;
      this.#flush();
    });
    socket.on("drain", () => this.#flush());
    // The proxy sends nothing; reading notices its end.
    socket.resume();
    socket.on("error", () => undefined);
    socket.on("close", () => this.#lost());
    return socket;
  }

  /** After the last retry the dead socket stays set, so that nothing reconnects. */
  #lost(): void {
    this.#isOpen = false;
    if (this.#ended || this.#reconnects >= RECONNECTS_MAX) return;
    this.#socket = undefined;
    // What was written may not have arrived, and a repeated list does no harm.
    for (const [sessionId, { text }] of this.#lines) this.#lines.set(sessionId, { text, isSent: false });
    setTimeout(() => this.#flush(), RECONNECT_MS * 2 ** this.#reconnects).unref();
    this.#reconnects++;
  }
}
