// The tasks of a session while they run, and their ends: a person sees the first, and the model is told of the second with its
// next prompt. What it may not read it is not told of.
import type { TaskDispatcher } from "../dispatch/dispatcher.ts";
import { areOfRunBefore } from "../dispatch/products.ts";
import type { LiveTask, TaskHandle, TaskView } from "../dispatch/task-view.ts";
import type { HostContext, HostMessage } from "../host/api.ts";
import { hasTerminal, setWidget } from "../host/widget.ts";
import { ENDED_TASKS_MESSAGE } from "../log/marks.ts";
import { endedTasksText } from "../prompts.ts";
import { liveTaskLines } from "../ui/running-tasks.ts";

/** The key of the lines above the editor. */
export const TASKS_WIDGET = "pi-token-budget:tasks";

/** Time and tokens change without an event. */
const DRAWN_EVERY_MS = 500;
/** Ends that one message tells. */
const TOLD_MAX = 20;
const FILES_TOLD_MAX = 10;

export class TaskWatch {
  readonly #active: () => readonly LiveTask[];
  readonly #context: () => HostContext;
  readonly #untold = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isDrawn = false;

  constructor(active: () => readonly LiveTask[], context: () => HostContext) {
    this.#active = active;
    this.#context = context;
  }

  /** A task that nobody waits for has begun. */
  follow({ task, result }: TaskHandle): void {
    void result.then(() => this.tell(task));
    this.draw();
  }

  /** The end of a task is yet to be told. */
  tell({ id }: Pick<TaskView, "id">): void {
    this.#untold.add(id);
  }

  /** Draws what runs, and goes on as long as something does. */
  draw(): void {
    const ctx = this.#context();
    const tasks = this.#active();
    if (tasks.length === 0) return this.clear(ctx);
    if (!hasTerminal(ctx)) return;
    this.#isDrawn = true;
    setWidget(ctx, TASKS_WIDGET, (_tui, theme) => ({
      render: (width) => liveTaskLines(tasks, Date.now(), theme, width),
      invalidate: () => undefined,
    }));
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#tryDraw(), DRAWN_EVERY_MS);
    this.#timer.unref();
  }

  clear(ctx: HostContext): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#isDrawn) setWidget(ctx, TASKS_WIDGET, undefined);
    this.#isDrawn = false;
  }

  /** What the model is told with its next prompt; each end once. */
  async message(dispatcher: TaskDispatcher, hasTool: boolean): Promise<HostMessage | undefined> {
    const ids = [...this.#untold].slice(0, TOLD_MAX);
    for (const id of ids) this.#untold.delete(id);
    const found = await Promise.all(ids.map((id) => dispatcher.get(id).catch(() => undefined)));
    const tasks = found.filter((task) => task !== undefined && task.status !== "processing") as TaskView[];
    if (tasks.length === 0) return undefined;
    return {
      customType: ENDED_TASKS_MESSAGE,
      content: endedTasksText(tasks.map(toldRow), hasTool),
      display: false,
      details: { tasks: tasks.map(({ id, status }) => ({ id, status })) },
    };
  }

  get hasUntold(): boolean {
    return this.#untold.size > 0;
  }

  #tryDraw(): void {
    try {
      this.draw();
    } catch {
      // The session is gone, and its widgets with it.
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

function toldRow(task: TaskView): string {
  const { id, status, title, error, outputs } = task;
  const files = (areOfRunBefore(task) ? [] : outputs).slice(0, FILES_TOLD_MAX).map(({ path }) => path);
  const row = { id, status, goal: title, ...(error === null ? {} : { error }), files };
  return JSON.stringify(row).toWellFormed();
}
