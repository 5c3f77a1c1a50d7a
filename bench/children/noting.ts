// Appends lines to one note as fast as it can for a while, beside others that do the same, once it is told to start; says how
// many there were and how long one had to wait at most.
import { once } from "node:events";
import { NotesStore } from "../../src/notes/store.ts";

export interface NotingTask {
  readonly root: string;
  readonly path: string;
  /** Names its lines. */
  readonly name: string;
  readonly runMs: number;
}

export interface NotingFigures {
  readonly lines: number;
  readonly longest_ms: number;
}

const task = JSON.parse(process.argv[2] ?? "") as NotingTask;
const store = new NotesStore({ root: task.root, agent: "/root" });
// The libraries are loaded before the start.
await store.append(`${task.name}.md`, "ready\n");
const started = once(process, "message");
process.send?.("ready");
await started;
const untilMs = performance.now() + task.runMs;
let lines = 0;
let longest_ms = 0;
while (performance.now() < untilMs) {
  const before = performance.now();
  await store.append(task.path, `${task.name} ${lines++}\n`);
  longest_ms = Math.max(longest_ms, performance.now() - before);
}
process.send?.({ lines, longest_ms } satisfies NotingFigures);
process.disconnect?.();
