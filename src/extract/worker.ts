// Parses a document with optional libraries, in a worker with bounds on time and memory: a hostile file can neither block
// the session nor exhaust its memory.
import { Worker } from "node:worker_threads";
import type { WorkerAnswer, WorkerRequest } from "./answers.ts";

const HEAP_MB = 512;
/** What it unpacks lies outside of its heap: the process may grow by so much while it works. */
const GROWTH_BYTES_MAX = 1_000_000_000;
const LOOK_MS = 50;

/** The program's file; undefined in a bundle, which has no place on disk. */
export function parsingProgram(from: string | undefined = import.meta.url): URL | undefined {
  return from === undefined ? undefined : new URL("./parsing/program.mjs", from);
}

/** The bytes are handed over, not copied. Rejects when the time or memory is used up, the signal aborts, or the worker dies. */
export function parsedInWorker(
  program: URL,
  request: WorkerRequest,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<WorkerAnswer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(program, {
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: request,
      transferList: [request.bytes.buffer as ArrayBuffer],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const end = (finish: () => void) => {
      clearTimeout(timer);
      clearInterval(look);
      signal?.removeEventListener("abort", onAbort);
      void worker.terminate();
      finish();
    };
    const fail = (reason: string) => end(() => reject(new Error(reason)));
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(() => fail(`reading it took longer than ${limitMs / 1_000} s`), limitMs);
    const before = process.memoryUsage.rss();
    const look = setInterval(() => {
      if (process.memoryUsage.rss() - before > GROWTH_BYTES_MAX) fail("reading it takes too much memory");
    }, LOOK_MS);
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.once("message", (answer: WorkerAnswer) => end(() => resolve(answer)));
    worker.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "ERR_WORKER_OUT_OF_MEMORY" ? fail("reading it takes too much memory") : end(() => reject(error)),
    );
    worker.once("exit", () => fail("its reader ended without an answer"));
  });
}
