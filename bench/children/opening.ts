// Opens one session file in a real Pi, with this package or without, and says what it costs from the start of the session
// to its first request, what a further turn costs, and how long the event loop was held. A process of its own: what is
// compared is compared cold.
import fs from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { enterEnvironment } from "../../fixtures/pi/environment.ts";
import { call, type Script, text } from "../../fixtures/pi/scripted-model.ts";
import { openPi } from "../../fixtures/pi/session.ts";
import { getTokenBudgetTask } from "../../src/launcher.ts";
import type { TaskContext } from "../../src/task/context.ts";
import { Registry } from "../../src/task/registry.ts";

export interface OpeningTask {
  readonly file: string;
  /** The folder that holds all else of this Pi: what one opening leaves there, the next one finds. */
  readonly home: string;
  /** The folder of the package; null for a Pi without it. */
  readonly extension: string | null;
  /** Runs of one tool call each, behind the first request. */
  readonly turns: number;
  /** So many agents are in the registry, this one included, and it rests before the turns. */
  readonly agents?: number;
}

export interface OpeningFigures {
  /** From `session_start` to the first request, in milliseconds. */
  readonly first_request_ms: number;
  /** The longest that a timer had to wait meanwhile, in milliseconds. */
  readonly longest_gap_ms: number;
  /** Processor time of each turn, in milliseconds. */
  readonly turns_ms: readonly number[];
  /** Files flushed to the disk for each turn, on average. */
  readonly flushes_a_turn: number;
  /** The end of the session, in milliseconds. */
  readonly quit_ms: number;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const TICK_MS = 2;

/** The longest time between two ticks of a timer. */
class Gaps {
  #timer: NodeJS.Timeout | undefined;
  #lastMs = 0;
  longestMs = 0;

  start(): void {
    this.#lastMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  stop(): void {
    this.#tick();
    clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = performance.now();
    this.longestMs = Math.max(this.longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}

/** Longer than a registry counts as one that may change once more in the same tick of the disk's clock. */
const REST_MS = 2_500;

/** Fills the registry with agents that have ended. */
async function fillRegistry(context: TaskContext, agents: number): Promise<void> {
  const registry = new Registry({ context });
  await registry.update((roster) => [
    ...roster,
    ...Array.from({ length: agents - roster.length }, (_, at) => {
      const address = `/root/a${at}`;
      return {
        ...{ address, parent: "/root", sessionId: `a${at}`, sessionKey: `a${at}`, sessionFile: null },
        ...{ notesRoot: registry.notesOf(address), historyDir: registry.historyOf(address) },
        ...{
          category: null,
          categoryOwn: false,
          created: new Date(0).toISOString(),
          state: { type: "ended" as const },
        },
      };
    }),
  ]);
  await delay(REST_MS);
}

/** Counts the flushes of this process, however they are asked for. */
function countedFlushes(): () => number {
  let count = 0;
  for (const name of ["fsyncSync", "fdatasyncSync", "fsync", "fdatasync"] as const) {
    const own = fs[name] as (...args: unknown[]) => unknown;
    Object.assign(fs, {
      [name]: (...args: unknown[]) => {
        count++;
        return own(...args);
      },
    });
  }
  return () => count;
}

async function opened({ file, extension, turns, agents }: OpeningTask): Promise<OpeningFigures> {
  let startedMs = 0;
  let firstMs = 0;
  const marks: number[] = [];
  const flushes = countedFlushes();
  const flushed: number[] = [];
  const gaps = new Gaps();
  let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
  const next: Script = (_request, n) => (n > 0 && n <= turns ? [call("ls", { path: "." })] : [text("done")]);
  const s = await openPi({
    session: { path: file },
    // As people install it.
    bare: true,
    paths: extension === null ? [] : [extension],
    contextWindow: 1_000_000_000,
    requestLimit: turns + 5,
    next,
    factories: [
      (pi) => {
        events = pi.events;
      },
    ],
    onLoaded: () => {
      startedMs = performance.now();
      gaps.start();
    },
    onRequest: () => {
      if (firstMs === 0) {
        firstMs = performance.now();
        gaps.stop();
      }
      marks.push(processorMs());
      flushed.push(flushes());
    },
  });
  await s.prompt("go on");
  const task = agents !== undefined && events ? getTokenBudgetTask({ events }) : undefined;
  if (task && agents !== undefined) await fillRegistry(task.context, agents);
  if (turns > 0) await s.prompt("and on");
  const quitMs = performance.now();
  await s.dispose();
  const quit_ms = performance.now() - quitMs;
  const turnsMs = marks.slice(2).map((mark, at) => mark - (marks[at + 1] as number));
  const flushes_a_turn = turns === 0 ? 0 : ((flushed.at(-1) ?? 0) - (flushed[1] ?? 0)) / turns;
  const first_request_ms = firstMs - startedMs;
  return { first_request_ms, longest_gap_ms: gaps.longestMs, turns_ms: turnsMs, flushes_a_turn, quit_ms };
}

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? "") as OpeningTask;
  enterEnvironment(task.home);
  const figures = await opened(task);
  process.stdout.write(`\n${JSON.stringify(figures)}\n`);
}

await main();
