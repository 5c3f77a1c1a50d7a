// The todo list in a live session: writes it to the log, draws it, informs other extensions, and offers /todos. The log alone
// holds the list; what is kept here is only what was drawn last and whether a run is under way.
import type { HostCommand, HostContext } from "../host/api.ts";
import type { Host } from "../host/host.ts";
import { setWidget } from "../host/widget.ts";
import type { BranchIndex } from "../log/branch.ts";
import { copyOf, TODO_CHANNEL, type TodoItem } from "../todo/list.ts";
import { clearedEntry, TODO_ENTRY, type TodoEntry, type TodoState, todoEntry, todoState } from "../todo/replay.ts";
import { type TodoTools, todoTools } from "../tools/todo.ts";
import { answersOn } from "./answer.ts";
import { defineCommand } from "./commands.ts";
import { type Activity, wholeList, widgetLines } from "./todo-lines.ts";

/** The key of the widget. */
export const TODO_WIDGET = "pi-token-budget:todo";

/** The part of a session that its list needs. */
export interface TodoOwner {
  readonly sessionId: string;
  readonly agent: string;
  readonly branch: BranchIndex;
  context(): HostContext;
  settings(): { readonly maxToolOutputChars: number };
}

export interface TodoSessions {
  of(ctx: HostContext): TodoOwner;
  readonly running: TodoOwner;
}

export class SessionTodos {
  readonly tools: TodoTools;
  readonly #host: Host;
  readonly #sessions: TodoSessions;
  #inRun = false;
  /** What the widget was made from; undefined when there is none. */
  #drawn: string | undefined;

  constructor(host: Host, sessions: TodoSessions) {
    this.#host = host;
    this.#sessions = sessions;
    this.tools = todoTools({
      state: () => this.#state(sessions.running),
      write: (todos) => {
        const owner = sessions.running;
        this.#write(owner, todoEntry(todos, owner.agent));
      },
      limits: () => sessions.running.settings(),
    });
  }

  /** Steps of the host's events, for after those that open the session; also registers the command. */
  steps() {
    const rebuilt = (_event: object, ctx: HostContext): void => {
      const owner = this.#sessions.of(ctx);
      this.#publish(owner);
      this.#draw(owner);
    };
    const inRun = (isInRun: boolean) => {
      return (_event: object, ctx: HostContext): void => {
        this.#inRun = isInRun;
        this.#draw(this.#sessions.of(ctx));
      };
    };
    this.#host.registerCommand("todos", this.#command());
    return {
      sessionStarted: (event: object, ctx: HostContext) => {
        // The host has removed all widgets.
        this.#drawn = undefined;
        this.#inRun = false;
        rebuilt(event, ctx);
      },
      rebuilt,
      /** A run has begun, or makes a request: the user's message that folds a finished list is on the branch then. */
      running: inRun(true),
      idle: inRun(false),
    };
  }

  #state({ branch, agent }: TodoOwner): TodoState {
    return todoState(branch, agent);
  }

  #write(owner: TodoOwner, entry: TodoEntry): void {
    this.#host.mark(TODO_ENTRY, entry);
    this.#publish(owner);
    this.#draw(owner);
  }

  #publish(owner: TodoOwner): void {
    const { sessionId, agent } = owner;
    this.#host.events.emit(TODO_CHANNEL, { sessionId, agent, todos: copyOf(this.#state(owner).todos) });
  }

  /** Without a run the active item is paused, whatever the last write said. */
  #activity(ctx: HostContext): Activity {
    try {
      return this.#inRun && !ctx.isIdle() ? "running" : "idle";
    } catch {
      // The session is gone.
      return "idle";
    }
  }

  #draw(owner: TodoOwner): void {
    const { todos, isFolded } = this.#state(owner);
    const shown = isFolded ? [] : todos;
    const ctx = owner.context();
    const next = shown.length === 0 ? undefined : JSON.stringify([this.#inRun, shown]);
    if (next === this.#drawn) return;
    this.#drawn = next;
    setWidget(ctx, TODO_WIDGET, next === undefined ? undefined : (_tui, theme) => this.#widget(shown, ctx, theme));
  }

  #widget(todos: readonly TodoItem[], ctx: HostContext, theme: Parameters<typeof widgetLines>[2]) {
    return {
      render: (width: number) => widgetLines(todos, this.#activity(ctx), theme, width),
      invalidate: () => undefined,
    };
  }

  #command(): HostCommand {
    return defineCommand("todos", {
      answer: (argument, ctx) => this.#answer(argument, ctx),
      show: answersOn(this.#host.answers).show,
    });
  }

  #answer(argument: string, ctx: HostContext): string | undefined {
    const owner = this.#sessions.of(ctx);
    const { todos } = this.#state(owner);
    if (argument === "") return wholeList(todos, this.#activity(ctx));
    if (argument !== "clear") return undefined;
    if (todos.length === 0) return wholeList(todos, "idle");
    this.#write(owner, clearedEntry(owner.agent));
    return "The todo list is cleared; the model is told so once.";
  }
}
