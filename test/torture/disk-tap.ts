// Taps the calls that any code of this process makes on files below one folder, libraries included: through the default export
// of `node:fs`, which is what the injectable disk is by default. A tap sees each call, and may do it, fail it, or do a part.
import fs from "node:fs";
import { sep } from "node:path";

/** A call on something below the folder. */
export interface TappedCall {
  /** Such as `openSync`. */
  readonly name: string;
  /** The file or folder; of a descriptor, what was opened. */
  readonly path: string;
  readonly args: readonly unknown[];
  /** Does it. */
  readonly run: () => unknown;
}

export type Judge = (call: TappedCall) => unknown;

type AnyCall = (...args: unknown[]) => unknown;

const SYNC_CALLS = Object.keys(fs).filter((name) => name.endsWith("Sync"));
/** The only calls of ours that answer later. */
const ASYNC_CALLS = ["fdatasync"];

function calls(): Record<string, AnyCall> {
  return fs as unknown as Record<string, AnyCall>;
}

/** What is being done to what; undefined when it is not below the folder. */
class Reach {
  readonly #folder: string;
  /** Of descriptors that were opened below the folder. */
  readonly #opened = new Map<number, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  pathOf([first, second]: readonly unknown[]): string | undefined {
    if (typeof first === "number") return this.#opened.get(first);
    return this.#isBelow(first) ? String(first) : this.#isBelow(second) ? String(second) : undefined;
  }

  note(name: string, args: readonly unknown[], result: unknown): void {
    if (name === "openSync") this.#opened.set(Number(result), String(args[0]));
    if (name === "closeSync") this.#opened.delete(Number(args[0]));
  }

  #isBelow(path: unknown): boolean {
    return typeof path === "string" && (path === this.#folder || path.startsWith(this.#folder + sep));
  }
}

/** Runs `work` with every call below the folder shown to the judge, who answers for it. */
export async function tapped<T>(folder: string, judge: Judge, work: () => Promise<T>): Promise<T> {
  const reach = new Reach(folder);
  const real = new Map<string, AnyCall>();
  let isInside = false;
  const shown = (name: string, call: AnyCall, args: readonly unknown[]) => {
    const path = isInside ? undefined : reach.pathOf(args);
    if (path === undefined) return call(...args);
    // Node makes some of its calls from others.
    isInside = true;
    try {
      const run = () => {
        const result = call(...args);
        reach.note(name, args, result);
        return result;
      };
      return judge({ name, path, args, run });
    } finally {
      isInside = false;
    }
  };
  const later = (name: string, _call: AnyCall, args: readonly unknown[]) => {
    const done = args.at(-1) as (error: unknown) => void;
    try {
      // Asked for now, and done at once: what matters is where it stands among the others.
      shown(name, () => calls()[`${name}Sync`]?.(...args.slice(0, -1)), args.slice(0, -1));
      setImmediate(() => done(null));
    } catch (error) {
      setImmediate(() => done(error));
    }
  };
  for (const name of [...SYNC_CALLS, ...ASYNC_CALLS]) {
    const call = calls()[name] as AnyCall;
    real.set(name, call);
    const through = ASYNC_CALLS.includes(name) ? later : shown;
    calls()[name] = (...args: unknown[]) => through(name, call, args);
  }
  try {
    return await work();
  } finally {
    for (const [name, call] of real) calls()[name] = call;
  }
}
