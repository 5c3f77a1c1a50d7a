// Two ways to do one thing, timed in turns in one process: the machine is shared and noisy, so only their ratio counts.
// Work of the processor is measured in time of the processor, which other processes do not stretch.

/** Work to time; what it returns is kept alive and thrown away. */
export type Work = () => unknown;

export interface Race {
  readonly name: string;
  /** What it is compared with. */
  readonly against: string;
  /** The most that the ratio of the medians may be. */
  readonly goal: number;
  readonly ours: Work;
  readonly reference: Work;
  /** So much more than that in milliseconds is allowed. Default 0. */
  readonly allowanceMs?: number;
  /** Both sides answer their figure themselves, in milliseconds: they are not timed. */
  readonly isFigure?: boolean;
  /** Samples of each side, at least; default 11. */
  readonly samplesMin?: number;
  /** Done before each sample and not timed. */
  readonly prepare?: () => unknown;
  /** `disk` for work that waits for one: it is timed by the clock on the wall. Default `processor`. */
  readonly waitsFor?: "processor" | "disk";
  /** Runs of one timed sample, for work of microseconds; the reference may need fewer. Default 1. */
  readonly times?: { readonly ours: number; readonly reference: number };
}

/** Work that says the figures of several rows: the n-th sample of each row is of the n-th time that it was done. */
export function shared<T>(work: () => T | Promise<T>): (figure: (of: T) => number) => () => Promise<number> {
  const done: (T | Promise<T>)[] = [];
  return (figure) => {
    let next = 0;
    return async () => {
      const at = next++;
      done[at] ??= work();
      return figure(await (done[at] as T | Promise<T>));
    };
  };
}

export interface Result {
  readonly name: string;
  readonly against: string;
  readonly goal: number;
  /** In milliseconds, on top of the goal. */
  readonly allowance_ms?: number;
  readonly ratio: number;
  /** Medians of one run, in milliseconds. */
  readonly ours_ms: number;
  readonly reference_ms: number;
  readonly samples: number;
  /** The goal was missed in two runs in a row. */
  readonly missed: boolean;
}

const SAMPLES_MIN = 11;
const SAMPLES_MAX = 300;
const ENOUGH_MS = 4_000;

let sink: unknown;

type Clock = () => number;

const CLOCKS: Readonly<Record<"processor" | "disk", Clock>> = {
  disk: () => performance.now(),
  processor: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};

async function timed(work: Work, times: number, now: Clock | undefined): Promise<number> {
  if (now === undefined) return Number(await work());
  const start = now();
  for (let i = 0; i < times; i++) {
    const result = work();
    sink = result instanceof Promise ? await result : result;
  }
  return (now() - start) / times;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[middle - 1] ?? 0, sorted[middle] ?? 0];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}

async function once(race: Race, enoughMs: number): Promise<Omit<Result, "missed">> {
  const { name, against, goal, ours, reference, times = { ours: 1, reference: 1 } } = race;
  const now = race.isFigure ? undefined : CLOCKS[race.waitsFor ?? "processor"];
  const samplesMin = race.samplesMin ?? SAMPLES_MIN;
  if (now) {
    await timed(ours, 1, now);
    await timed(reference, 1, now);
  }
  const our: number[] = [];
  const their: number[] = [];
  const start = performance.now();
  while (our.length < samplesMin || (our.length < SAMPLES_MAX && performance.now() - start < enoughMs)) {
    await race.prepare?.();
    our.push(await timed(ours, times.ours, now));
    their.push(await timed(reference, times.reference, now));
  }
  const [ours_ms, reference_ms] = [median(our), median(their)];
  const allowance = race.allowanceMs === undefined ? {} : { allowance_ms: race.allowanceMs };
  const figures = { ratio: ours_ms / reference_ms, ours_ms, reference_ms, samples: our.length };
  return { name, against, goal, ...allowance, ...figures };
}

function isWon({ goal, allowance_ms = 0, ours_ms, reference_ms }: Omit<Result, "missed">): boolean {
  return ours_ms <= goal * reference_ms + allowance_ms;
}

/** Runs a race; one that misses its goal gets a second run, whose figures count. */
export async function run(race: Race, enoughMs: number = ENOUGH_MS): Promise<Result> {
  const first = await once(race, enoughMs);
  if (isWon(first)) return { ...first, missed: false };
  const second = await once(race, enoughMs);
  return { ...second, missed: !isWon(second) };
}

/** The last thing that was timed, so that nothing is optimized away. */
export function lastResult(): unknown {
  return sink;
}
