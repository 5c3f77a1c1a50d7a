// The extension's end of the plan socket: passes the root's todo list on, as its channel tells of it. Nothing here may
// hold the session up or fail in it: a list that cannot be sent is not sent.
import { connect, type Socket } from "node:net";
import type { HostApi } from "../host/api.ts";
import { ROOT_ADDRESS } from "../task/addresses.ts";
import { isId } from "../task/context.ts";
import { TODO_STATUSES, type TodoItem, type TodoStatus } from "../todo/list.ts";
import { todosToPlan } from "../todo/plan.ts";
import { TODO_CHANNEL } from "../ui/todo.ts";
import { ACP_SOCKET_VARIABLE, isRecord, pushLine } from "./wire.ts";

/** The socket goes away with the bridge that this process belongs to: hardly a lost connection is worth a new one. */
const RECONNECTS_MAX = 5;
const RECONNECT_MS = 100;

/** Sessions on one bus, more than a program opens at once. */
const SESSIONS_MAX = 64;

export interface Publisher {
  /** Takes no more from the channel; what was taken is still sent. */
  stop(): void;
}

interface Told {
  readonly sessionId: string;
  readonly todos: readonly TodoItem[];
}

function isTodo(value: unknown): value is TodoItem {
  return isRecord(value) && typeof value.content === "string" && TODO_STATUSES.includes(value.status as TodoStatus);
}

/** The list of a root agent; the channel is open to every extension. */
function rootList(data: unknown): Told | undefined {
  if (!isRecord(data) || data.agent !== ROOT_ADDRESS) return undefined;
  const { sessionId, todos } = data;
  return isId(sessionId) && Array.isArray(todos) && todos.every(isTodo) ? { sessionId, todos } : undefined;
}

/** Undefined when no proxy asks for plans. */
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

/** Sends each session's newest line over a connection that is made for the first; older unsent lines have no worth. */
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
    // The process ends when its session does.
    socket.unref();
    socket.on("connect", () => {
      this.#isOpen = true;
      this.#flush();
    });
    socket.on("drain", () => this.#flush());
    // Nothing is said from the other end.
    socket.resume();
    socket.on("error", () => undefined);
    socket.on("close", () => this.#lost());
    return socket;
  }

  /** In the end the lost socket stays in its place, and nobody connects again. */
  #lost(): void {
    this.#isOpen = false;
    if (this.#ended || this.#reconnects >= RECONNECTS_MAX) return;
    this.#socket = undefined;
    // What was written may not have arrived; a list that comes twice does no harm.
    for (const [sessionId, { text }] of this.#lines) this.#lines.set(sessionId, { text, isSent: false });
    setTimeout(() => this.#flush(), RECONNECT_MS * 2 ** this.#reconnects).unref();
    this.#reconnects++;
  }
}
